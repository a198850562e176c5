"""Every number that the paper prints of NG-MVLVM, beside ours: which are reached, and which are not."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from mvlvm.experiments.data import PAPER_DATA
from mvlvm.experiments.experiment import Experiment
from mvlvm.experiments.found import Spread
from mvlvm.experiments.methods import OURS
from mvlvm.experiments.paper import Printed
from mvlvm.experiments.shown import at_point
from mvlvm.experiments.spec import Effort
from mvlvm.experiments.store import Store
from mvlvm.experiments.tables import Measure, Table, theirs_of

NAME, TITLE = "beside-paper", "NG-MVLVM beside the paper's own numbers"
_LEAST_DIGITS = 2


class Beside(NamedTuple):
    """A number of the paper, and ours."""

    experiment: str
    data: str
    measure: Measure
    theirs: Printed
    ours: Spread

    @property
    def is_reached(self) -> bool:
        """Whether ours is at least the paper's, less one of the paper's standard deviations."""
        sign = 1 if self.measure.higher_is_better else -1
        return sign * (self.measure.times * self.ours.mean - self.theirs.mean) >= -self.theirs.std

    @property
    def is_same_data(self) -> bool:
        """Whether nothing is known in which the data differ."""
        return not PAPER_DATA[self.data].differs


def every_number(experiments: Iterable[Experiment], effort: Effort, store: Store) -> Iterator[Beside]:
    """Give every number that the paper prints of our model, and that was measured."""
    for experiment in experiments:
        found = at_point(experiment.found(effort, store), experiment.printed_at)
        for data, measures in experiment.printed.items():
            for measure in measures:
                theirs = theirs_of(experiment.name, OURS, data, measure)
                ours = found.spread(measure.number, data, OURS)
                if theirs is not None and ours is not None:
                    yield Beside(experiment.name, data, measure, theirs, ours)


def table_of(rows: Iterable[Beside]) -> Table:
    """Give a row for every number."""
    head = ["experiment", "data", "measure", "paper", "ours", "reached"]
    return Table(NAME, "Every number", [head, *([*_named(row), *_judged(row)] for row in rows)])


def _named(row: Beside) -> list[str]:
    differs = "" if row.is_same_data else " (other data)"
    return [f"[{row.experiment}]({row.experiment}.md)", f"{row.data}{differs}", row.measure.column or "error"]


def _judged(row: Beside) -> list[str]:
    """Give both numbers, accuracies with the two digits that the paper prints: 99.96 does not reach 100.00."""
    reached = "yes" if row.is_reached else "**no**"
    measure = replace(row.measure, digits=max(row.measure.digits, _LEAST_DIGITS))
    return [measure.printed_text(row.theirs), measure.text(row.ours), reached]


def summary(rows: Sequence[Beside]) -> str:
    """Say how many are reached."""
    same = [row for row in rows if row.is_same_data]
    return f"""A number is reached if ours is at least the paper's less one of the paper's standard deviations, or, if
    it is an error, at most the paper's plus one. {sum(row.is_reached for row in rows)} of {len(rows)} are, and
    {sum(row.is_reached for row in same)} of the {len(same)} whose data are not known to differ. Two latent dimensions
    and the library's defaults, but for the start where latents are classified, which is chosen by the bound."""

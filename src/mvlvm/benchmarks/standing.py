"""How we stand beside each other method: who is ahead in what."""

from collections.abc import Sequence
from dataclasses import dataclass

from mvlvm.benchmarks.curve import first_to_reach
from mvlvm.benchmarks.methods import FACTORS, METHODS, PROCESS
from mvlvm.benchmarks.results import Results
from mvlvm.benchmarks.task import DONE, STOPPED, Outcome, Task

# Accuracies are means over five folds of some hundred rows; errors differ in their last digits by chance.
_BETTER_BY = 1e-3


@dataclass(frozen=True)
class Standing:
    """Another method on one data set, beside ours.

    Attributes:
        theirs: its outcome.
        ours: our default fit to the same data, if it was measured.
        seconds: how long our quickest fit of at least its 1-NN accuracy took until its latents stood, which is all that
            most other methods give; None if no fit of ours has it.
        whole_seconds: how long it took until it could predict as well.
    """

    theirs: Outcome
    ours: Outcome | None
    seconds: float | None
    whole_seconds: float | None

    @property
    def must_be_behind(self) -> bool:
        """Whether we promise to be ahead: against Gaussian processes and factor analysis."""
        return METHODS[self.theirs.task.method].family in (PROCESS, FACTORS)

    @property
    def we_are_ahead(self) -> bool:
        """Whether we reach its accuracy sooner than it does."""
        return self.seconds is not None and self.seconds <= self.theirs.numbers["seconds"]

    def ahead_in(self) -> list[str]:
        """Say in what the other method is ahead of our default fit."""
        theirs, found = self.theirs.numbers, []
        if not self.we_are_ahead:
            found.append("no fit of ours has its 1-NN accuracy" if self.seconds is None
                         else "sooner at its own 1-NN accuracy")  # fmt: skip
        ours = {} if self.ours is None else self.ours.numbers
        for name, what in (("accuracy", "1-NN accuracy"), ("rmse", "reconstruction"), ("predict_rmse", "prediction")):
            if name in theirs and name in ours and not (name == "accuracy" and self.seconds is None):
                gain = theirs[name] - ours[name] if name == "accuracy" else ours[name] - theirs[name]
                found += [what] if gain > _BETTER_BY else []
        return found


def standings(results: Results, device: str) -> list[Standing]:
    """Give every other method beside ours, where both were measured."""
    outcomes = [o for o in results.of("peers", device) if o.status in (DONE, STOPPED) and "accuracy" in o.numbers]
    own = {outcome.task.data: outcome for outcome in outcomes if outcome.task.method == "ours"}
    return [
        Standing(
            outcome, own.get(outcome.task.data), *_seconds_to(outcome, own.get(outcome.task.data), results, device)
        )
        for outcome in outcomes
        if METHODS[outcome.task.method].family not in ("ours", "plain")
    ]


def _seconds_to(
    theirs: Outcome, ours: Outcome | None, results: Results, device: str
) -> tuple[float | None, float | None]:
    """Give the seconds of our quickest fit that is as good, out of the curve and the default fit: latents, and all."""
    tasks = [Task(experiment="quality", method="ours", data=theirs.task.data, init=init) for init in ("pca", "auto")]
    curves: list[Sequence[dict[str, float | int]]] = [results.number(task, device, "curve") or [] for task in tasks]
    points = [point for curve in curves for point in curve]
    if ours is not None:
        points.append({"quality": ours.numbers["accuracy"], "seconds": ours.numbers["seconds"]})
    best = first_to_reach(points, theirs.numbers["accuracy"], by="latent_seconds")
    return (None, None) if best is None else (best.get("latent_seconds", best["seconds"]), best["seconds"])

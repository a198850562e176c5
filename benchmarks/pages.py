"""All generated pages: one for every study, overviews of the paper, and the index with claims and discussion.

The discussion is a template whose numbers are expressions, evaluated on the stored cells.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from benchmarks import catalogue
from benchmarks.paper.paper_comparison import render_overviews
from benchmarks.paper.paper_tables import printed
from benchmarks.results import Difference, MeanStd, Results, codes_of, method_difference
from benchmarks.store import Store
from benchmarks.study import (
    NO,
    NOT_MEASURED,
    TIE,
    YES,
    RenderedPage,
    Study,
    claim_rows,
    render_page,
    write_page,
    write_text,
)
from benchmarks.tables import NOTHING, filled, markdown

INDEX = Path("README.md")
# The discussion in the folder of the stored cells; its numbers are expressions that are evaluated on the cells.
DISCUSSION = "discussion.md"
_PERCENT = 100.0


def measured_studies(store: Store, *, quick: bool = False) -> list[Study]:
    """Return the studies that have records of the given size, in the order of the catalogue."""
    return [study for study in catalogue.STUDIES.values() if study.results(store, quick=quick).records]


def render_pages(store: Store, *, quick: bool = False) -> dict[Path, RenderedPage]:
    """Return all pages that follow from the stored cells, by path relative to the folder of the pages."""
    studies = measured_studies(store, quick=quick)
    pages = {study.page_path: render_page(study, study.results(store, quick=quick)) for study in studies}
    overviews = render_overviews([study for study in studies if study.group == "paper"], store, quick=quick)
    pages |= {Path("paper") / f"{name}.md": page for name, page in overviews.items()}
    return {**pages, INDEX: render_index(store, list(overviews), quick=quick)}


def write_pages(store: Store, folder: Path, studies: Sequence[Study] | None = None, *, quick: bool = False) -> Path:
    """Write the pages of studies, and the overviews and the index of all studies.

    Args:
        store: store of the cells.
        folder: folder of the pages.
        studies: studies whose pages are written; None for all with records.
        quick: whether the pages are those of quick cells.

    Returns:
        Path of the index.
    """
    for study in measured_studies(store, quick=quick) if studies is None else studies:
        write_page(study, study.results(store, quick=quick), folder)
    written = {study.page_path for study in catalogue.STUDIES.values()}
    for path, page in render_pages(store, quick=quick).items():
        if path not in written:
            write_text(folder / path, page.text)
            for name, text in page.tables.items():
                write_text((folder / path).parent / name, text)
    return folder / INDEX


def render_index(store: Store, overviews: Sequence[str], *, quick: bool = False) -> RenderedPage:
    """Return the index: a table of pages and of the verdicts on their claims, the discussion, and the open claims."""
    studies = measured_studies(store, quick=quick)
    results = {study.name: study.results(store, quick=quick) for study in studies}
    rows = [["page", "do its claims hold?", "seeds", "commits"]]
    rows += [_index_row(study, results[study.name]) for study in studies]
    parts = ["# Results", _INTRODUCTION, markdown(rows)]
    if overviews:
        links = " and ".join(f"[{name.replace('-', ' ')}](paper/{name}.md)" for name in overviews)
        parts.append(f"Overviews of all tables of the paper: {links}.")
    template = store.folder / DISCUSSION
    if template.exists() and not quick:
        parts.append(render_discussion(template.read_text(encoding="utf-8"), store))
    parts += _open_claims(studies, results)
    return RenderedPage("\n\n".join(parts) + "\n")


_INTRODUCTION = filled("""Every page is generated from stored cells, each labelled with the commit at which it was
measured. `mvlvm studies check` recomputes all numbers, including those of this page; `mvlvm studies stale` lists the
pages whose cells are older than the code.""")


def _index_row(study: Study, results: Results) -> list[str]:
    verdicts = Counter(row[-1].strip("*") for row in claim_rows(study, results))
    counts = {holds: verdicts[holds] for holds in (YES, TIE, NO, NOT_MEASURED) if verdicts[holds]}
    claims = ", ".join(f"{n} {'ties' if holds == TIE and n > 1 else holds}" for holds, n in counts.items())
    seeds = max((len(seeds) for seeds in _seeds_by_point(results).values()), default=0)
    commits = ", ".join(code.short.removesuffix(" with changes") for code in codes_of(results))
    page = f"[{study.title}]({study.page_path.as_posix()})"
    return [page, claims or NOTHING, str(seeds), _shortened(commits)]


def _shortened(commits: str) -> str:
    names = list(dict.fromkeys(commits.split(", ")))
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _seeds_by_point(results: Results) -> dict[Any, set[int]]:
    found: dict[Any, set[int]] = {}
    for record in results.done:
        cell = record.cell
        found.setdefault((cell.data, cell.method, str(sorted(cell.settings.items()))), set()).add(cell.seed)
    return found


def _open_claims(studies: Sequence[Study], results: Mapping[str, Results]) -> list[str]:
    rows = [
        [f"[{study.name}]({study.page_path.as_posix()})", statement, measured, holds]
        for study in studies
        for statement, measured, holds in claim_rows(study, results[study.name])
        if holds != YES
    ]
    return (
        ["## Claims that do not hold, or are not decided", markdown([["page", "claim", "measured", "holds"], *rows])]
        if rows
        else []
    )


def render_discussion(template: str, store: Store) -> str:
    """Evaluate the expressions of a template (Jinja) on the stored cells.

    The template calls the public methods of `CellQueries` by name, such as
    `{{ mean("toy", "RBF+RBF", "NG-MVLVM", "R2", scale=1, digits=2) }}`, and `printed_mean` by the name "paper".

    Raises:
        ValueError: an expression asks for cells that do not exist.
    """
    environment = Environment(undefined=StrictUndefined, autoescape=False)
    queries = CellQueries(store)
    names = [name for name in dir(queries) if not name.startswith("_")]
    functions = {"paper": printed_mean, **{name: getattr(queries, name) for name in names}}
    text = environment.from_string(template).render(functions)
    return "\n\n".join(_wrapped(block) for block in text.strip().split("\n\n"))


def printed_mean(table: str, method: str, column: str, digits: int = 1) -> str:
    """Return the mean that the paper prints, as text.

    Raises:
        ValueError: the paper prints no such value.
    """
    found = printed(table, method, column)
    if found is None:
        raise ValueError(f"The paper prints no {column!r} of {method} in its table {table!r}.")
    return f"{found.mean:.{digits}f}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _wrapped(block: str) -> str:
    """Wrap a paragraph, or every item of a list, after its expressions have been replaced by numbers."""
    block = block.strip()
    if block.startswith(("#", "|")):
        return block
    if not block.startswith("- "):
        return filled(block)
    items = f"\n{block}".split("\n- ")[1:]
    return "\n".join(filled(f"- {item}", indent="  ") for item in items)


class CellQueries:
    """Queries of the stored cells, as text.

    Settings select cells: `at={"D": 2}`. A `scale` of 100 gives percent.

    Args:
        store: store of the cells.
    """

    def __init__(self, store: Store) -> None:
        self._store, self._results = store, dict[str, Results]()

    def mean(
        self, study: str, data: str, method: str, metric: str, *, scale: float | int = _PERCENT, digits: int = 1,
        at: Mapping[str, Any] | None = None,
    ) -> str:  # fmt: skip
        """Return the mean of a metric over seeds."""
        return f"{scale * self._mean_std(study, data, method, metric, at).mean:,.{digits}f}"

    def spread(
        self, study: str, data: str, method: str, metric: str, *, scale: float | int = _PERCENT, digits: int = 1,
        at: Mapping[str, Any] | None = None,
    ) -> str:  # fmt: skip
        """Return mean ± standard deviation of a metric over seeds."""
        found = self._mean_std(study, data, method, metric, at)
        return f"{scale * found.mean:,.{digits}f} ± {scale * found.std:.{digits}f}"

    def verdict(
        self, study: str, data: str, method: str, other: str, metric: str, *, higher: bool = True,
        at: Mapping[str, Any] | None = None,
    ) -> str:  # fmt: skip
        """Return "ahead of", "behind" or "tied with"; a difference below two standard errors is a tie."""
        found = self._difference(study, data, method, other, metric, at)
        if not found.is_clear:
            return "tied with"
        return "ahead of" if (found.mean > 0) == higher else "behind"

    def standing(self, study: str, method: str, other: str, metric: str, *, higher: bool = True) -> str:
        """Return on which data sets a method is ahead of, tied with or behind another."""
        data = [name for name in self._of(study).data if self._of(study).mean_std(metric, name, other) is not None]
        verdicts = {name: self.verdict(study, name, method, other, metric, higher=higher) for name in data}
        groups = {how: [n for n in data if verdicts[n] == how] for how in ("ahead of", "tied with", "behind")}
        return ", ".join(f"{how} {other} on {_listed(names)}" for how, names in groups.items() if names)

    def _of(self, study: str) -> Results:
        if study not in self._results:
            self._results[study] = catalogue.get_study(study).results(self._store)
        return self._results[study]

    def _mean_std(self, study: str, data: str, method: str, metric: str, at: Mapping[str, Any] | None) -> MeanStd:
        found = self._of(study).mean_std(metric, data, method, at or {})
        if found is None:
            raise ValueError(
                f"The discussion asks for {metric!r} of {method} on {data} in study {study}, at {at or 'any point'}, "
                "but there is no such cell. Measure it, or remove the expression."
            )
        return found

    def _difference(
        self, study: str, data: str, method: str, other: str, metric: str, at: Mapping[str, Any] | None
    ) -> Difference:
        self._mean_std(study, data, method, metric, at)
        self._mean_std(study, data, other, metric, at)
        found = method_difference(self._of(study), metric, data, method, other, at or {})
        assert found is not None
        return found

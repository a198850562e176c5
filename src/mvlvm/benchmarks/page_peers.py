"""The parts of the page about other methods."""

from collections.abc import Sequence

from mvlvm.benchmarks.methods import METHODS
from mvlvm.benchmarks.results import Results
from mvlvm.benchmarks.standing import Standing, standings
from mvlvm.benchmarks.task import DONE, STOPPED, Outcome
from mvlvm.records.markdown import duration, filled, markdown, size

_NOTHING = "-"
_HOW = """
All methods get the same centred and scaled views; those that know one view only get them side by side, each of the same
total variance. D = 2. Errors are root mean squares in these units; prediction is that of the second view of a fifth of
the rows from the first. "Ours to the same" is our quickest fit of at least the method's 1-NN accuracy: seconds until
its latents stand, which is all that most of the others give, and in brackets until it can predict with error bars.
"""


def peers_section(results: Results, device: str) -> str:
    """Give a table for every data set, and say in plain words where others are ahead."""
    outcomes = results.of("peers", device)
    if not outcomes:
        return ""
    beside = {id(standing.theirs): standing for standing in standings(results, device)}
    parts = ["### Beside other methods", filled(_HOW)]
    for data in dict.fromkeys(outcome.task.data.name for outcome in outcomes):
        rows = [["method", "kind", "time", "1-NN", "reconstruction", "prediction", "memory", "ours to the same"]]
        here = [outcome for outcome in outcomes if outcome.task.data.name == data]
        rows += [_row(outcome, beside.get(id(outcome))) for outcome in here]
        parts += [f"**{data}**", markdown(rows)]
    parts += [verdict(list(beside.values())), _settings(outcomes)]
    return "\n\n".join(part for part in parts if part)


def walltime_section(results: Results, device: str) -> str:
    """Give the seconds of whole fits, methods by rows."""
    outcomes = results.of("walltime", device)
    if not outcomes:
        return ""
    sizes = sorted({outcome.task.data.n_samples or 0 for outcome in outcomes})
    rows = [["method", *(f"{n:,} rows" for n in sizes)]]
    for method in dict.fromkeys(outcome.task.method for outcome in outcomes):
        found = {o.task.data.n_samples: _wall_time(o) for o in outcomes if o.task.method == method}
        rows.append([method, *(found.get(n, _NOTHING) for n in sizes)])
    text = filled(f"""Whole fits to {outcomes[0].task.data.name} at the settings above, as in the paper's figure of wall
        time. A method that was stopped is not tried on more rows.""")
    return f"### Wall time\n\n{text}\n\n{markdown(rows)}"


def verdict(found: Sequence[Standing]) -> str:
    """Say against whom we are ahead, and in what others are."""
    if not found:
        return ""
    promised = [standing for standing in found if standing.must_be_behind]
    ahead = sum(standing.we_are_ahead for standing in promised)
    lines = [
        filled(f"""Against Gaussian process and factor analysis methods we are ahead in time to equal or better
        1-NN accuracy in {ahead} of {len(promised)} comparisons."""),
        "**Where others are ahead:**",
    ]
    items = [
        f"- {standing.theirs.task.method} on {standing.theirs.task.data.name}: {', '.join(standing.ahead_in())}."
        for standing in found
        if standing.ahead_in()
    ]
    return "\n\n".join([*lines, "\n".join(items) or "nowhere in what was measured."])


def _to_the_same(standing: Standing) -> str:
    if standing.seconds is None or standing.whole_seconds is None:
        return "not reached"
    return f"{duration(standing.seconds)} ({duration(standing.whole_seconds)})"


def _row(outcome: Outcome, standing: Standing | None) -> list[str]:
    numbers, family = outcome.numbers, METHODS[outcome.task.method].family
    if outcome.status not in (DONE, STOPPED) or not numbers:
        note = outcome.note if len(outcome.note) < 80 else f"{outcome.note[:77]}..."
        return [outcome.task.method, family, f"{outcome.status}: {note}", *[_NOTHING] * 5]
    late = " (stopped)" if outcome.status == STOPPED else ""
    same = _NOTHING
    if standing is not None:
        same = _to_the_same(standing)
    return [
        outcome.task.method, family, duration(numbers["seconds"]) + late,
        f"{100 * numbers['accuracy']:.1f} %" if "accuracy" in numbers else _NOTHING,
        *(f"{numbers[name]:.3f}" if name in numbers else _NOTHING for name in ("rmse", "predict_rmse")),
        size(numbers["peak_bytes"]), same,
    ]  # fmt: skip


def _wall_time(outcome: Outcome) -> str:
    if outcome.status == DONE:
        return duration(outcome.numbers["seconds"])
    return outcome.note if outcome.status == STOPPED else outcome.status


def _settings(outcomes: Sequence[Outcome]) -> str:
    names = dict.fromkeys(outcome.task.method for outcome in outcomes)
    return "Settings:\n\n" + "\n".join(f"- {name}: {METHODS[name].setting}." for name in names)

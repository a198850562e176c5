"""The page of results, written from what was measured. No number on it is typed by hand."""

from collections.abc import Mapping
from statistics import median

from mvlvm.benchmarks.claims import all_claims
from mvlvm.benchmarks.figures import AXES
from mvlvm.benchmarks.page_peers import peers_section, walltime_section
from mvlvm.benchmarks.results import DEVICES, Results
from mvlvm.benchmarks.task import DONE, Outcome
from mvlvm.records.markdown import duration, filled, markdown, size

_TITLES = {"cpu": "On a processor", "cuda": "On a GPU"}
_INTRODUCTION = """
Written by `mvlvm bench`; no number is typed by hand. Every cell was measured in a process of its own, after a fit of a
few rows that pays for imports, compilers and thread pools. The time of a step is the median over blocks of steps, the
first third left out, and where there were several rounds, ours and others in turn, the median over them. Memory is the
peak of the process above what it held once the data were loaded, or of torch's tensors on a GPU (allocated, not
reserved). *naive* is `benchmarks/naive.py`: the paper's equations as printed, float64, autograd, all columns,
Adam at 0.01, the library's start. Ratios are taken within one run on one machine. Accuracy is that of 1-NN in the
latents, five-fold.
"""
_TRIAL = "**A trial of the program with hardly any training. The numbers mean nothing.**"


def page_text(results: Results, figures: Mapping[str, str], *, trial: bool = False) -> str:
    """Give the whole page in Markdown.

    Args:
        results: what was measured.
        figures: device and kind -> file name, as `draw_figures` gives them.
        trial: whether the numbers mean anything.
    """
    parts = ["# Speed", *([_TRIAL] if trial else []), filled(_INTRODUCTION), _in_short(results)]
    for device in DEVICES:
        machine = results.machine(device)
        if machine is not None:
            parts += [f"## {_TITLES[device]}", f"Machine: {machine}."]
            parts += [section for section in _sections(results, device, figures) if section]
    return "\n\n".join(parts) + "\n"


def claim_rows(results: Results) -> list[list[str]]:
    """Give every promise, what was measured, and whether it holds."""
    rows = []
    for claim in all_claims():
        found = claim.measure(results)
        machine = results.machine(claim.device) or ("a processor" if claim.device == "cpu" else "a GPU")
        if found is None:
            rows.append([machine, claim.asked, "-", "not measured"])
        else:
            rows.append([machine, claim.asked, found.text, "yes" if found.holds else "**no**"])
    return rows


def _in_short(results: Results) -> str:
    return f"## In short\n\n{markdown([['machine', 'asked for', 'measured', 'holds'], *claim_rows(results)])}"


def _sections(results: Results, device: str, figures: Mapping[str, str]) -> list[str]:
    def shown(kind: str, words: str) -> str:
        name = figures.get(f"{device}-{kind}")
        return f"\n\n![{words}]({name})" if name else ""

    return [
        _steps(results, device),
        _with(_quality(results, device), shown("quality", "Accuracy against seconds")),
        _with(_growth(results, device), shown("growth", "Growth of the time of a step")),
        peers_section(results, device),
        _with(walltime_section(results, device), shown("walltime", "Wall time against rows")),
        _with(_profile(results, device), shown("parts", "Shares of a step")),
    ]


def _with(section: str, figure: str) -> str:
    return section + figure if section else ""


def _steps(results: Results, device: str) -> str:
    outcomes = [o for o in results.of("steps", device) if o.status == DONE]
    if not outcomes:
        return ""
    rows = [["data", "rows", "method", "time of a step", "times as fast", "peak memory", "share"]]
    first_rounds = [outcome for outcome in outcomes if outcome.task.seed == 0]
    for outcome in sorted(first_rounds, key=lambda outcome: outcome.task.data.n_samples or 0):
        plain = next((o for o in outcomes if o.task.method == "naive" and o.task.case == outcome.task.case), None)
        step, ratios = _step_seconds(results, outcome, device), ["", ""]
        if plain is not None and outcome is not plain:
            same_run = "" if plain.run == outcome.run else " (two runs)"
            peaks = outcome.numbers["peak_bytes"] / max(plain.numbers["peak_bytes"], 1)
            ratios = [f"{_step_seconds(results, plain, device) / step:.1f}{same_run}", f"{peaks:.2f}{same_run}"]
        rows.append([
            outcome.task.data.name, _rows(outcome), outcome.task.method, duration(step),
            ratios[0], size(outcome.numbers["peak_bytes"]), ratios[1],
        ])  # fmt: skip
    text = "D = 2, Q = 2, P = 50. The memory is that of the whole fit, with all that comes after training."
    return f"### One step\n\n{text}\n\n{markdown(rows)}"


def _step_seconds(results: Results, outcome: Outcome, device: str) -> float:
    """Give the time of a step, the median over rounds."""
    return median(o.numbers["seconds_per_step"] for o in results.rounds(outcome.task, device))


def _quality(results: Results, device: str) -> str:
    rows = [["data", "rows", "method", "target", "latents after", "fit after", "steps", "of it training", "best seen"]]
    for outcome in results.of("quality", device):
        curve, reached = outcome.numbers.get("curve"), outcome.numbers.get("reached")
        if curve:
            target, best = outcome.task.target, max(point["quality"] for point in curve)
            after = ["-", "-", "-", "-"] if reached is None else [
                duration(reached.get("latent_seconds", reached["seconds"])), duration(reached["seconds"]),
                f"{reached['n_steps']:,}", duration(reached["training_seconds"]),
            ]  # fmt: skip
            if target is not None and reached is None:
                after[0] = f"not within {duration(curve[-1]['seconds'])}"
            rows.append([
                outcome.task.data.name, _rows(outcome), outcome.task.who, f"{100 * target:.2f} %" if target else "-",
                *after, f"{100 * best:.1f} %",
            ])  # fmt: skip
    text = filled("""Ours: every point is a whole fit with so many steps, from views to predictions. naive: one
        training, scaling and starting included, judged on the way; judging does not count. It ends with latents, so
        that "latents after" is what compares with it.""")
    return f"### Seconds to a quality\n\n{text}\n\n{markdown(rows)}" if len(rows) > 1 else ""


def _growth(results: Results, device: str) -> str:
    rows = [["what grows", "from", "to", "time of a step", "slope", "peak memory"]]
    for axis, words in AXES.items():
        growth = results.growth(axis, device)
        if growth is not None:
            rows.append([
                words, f"{growth.sizes[0]:,}", f"{growth.sizes[-1]:,}",
                f"{duration(growth.seconds[0])} to {duration(growth.seconds[-1])}", f"{growth.slope:.2f}",
                f"{size(growth.n_bytes[0])} to {size(growth.n_bytes[-1])}",
            ])  # fmt: skip
    text = "One size at a time; the slope is that of the logarithms: 1 is proportional, 2 quadratic."
    return f"### Growth\n\n{text}\n\n{markdown(rows)}" if len(rows) > 1 else ""


def _profile(results: Results, device: str) -> str:
    outcomes = [o for o in results.of("profile", device) if o.status == DONE]
    if not outcomes:
        return ""
    names = list(outcomes[0].numbers["parts"])
    rows = [["rows", "a step", *names, "operations", "product rate", "least time", "times the least"]]
    for outcome in outcomes:
        numbers = outcome.numbers
        total = sum(numbers["parts"].values())
        operations = numbers["operations"]
        least = operations / numbers["product_rate"]
        rows.append([
            _rows(outcome), duration(numbers["seconds_per_step"]),
            *(f"{100 * numbers['parts'][name] / total:.0f} %" for name in names),
            f"{operations / 1e9:.3g} G", f"{numbers['product_rate'] / 1e9:,.0f} G/s",
            duration(least), f"{numbers['seconds_per_step'] / least:.1f}",
        ])  # fmt: skip
    text = filled("""Shares by kind of operator, as torch's profiler sees them. The least time is that of the products'
        operations, N F (3 F + 4 r) for a view of r columns, at the rate of a float32 product of the features' shape,
        measured in the same process.""")
    return f"### Where the time of a step goes\n\n{text}\n\n{markdown(rows)}"


def _rows(outcome: Outcome) -> str:
    return f"{outcome.task.data.n_samples:,}" if outcome.task.data.n_samples else "all"

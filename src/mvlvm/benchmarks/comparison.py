"""Analysis of benchmark outcomes: queries, comparison with other methods, and verification of the speed claims."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from mvlvm import defaults
from mvlvm.benchmarks.measurement import first_to_reach
from mvlvm.benchmarks.naive import PAPER_LEARNING_RATE
from mvlvm.benchmarks.peers import FACTORS, METHODS, PROCESS
from mvlvm.benchmarks.plan import (
    CPU,
    CUDA,
    GPU_TARGET,
    MNIST_TARGET,
    MOST_ROUNDS,
    N_MNIST,
    R_MNIST_TARGET,
    TRIAL,
    Plan,
    growth_axis,
    tasks_of,
)
from mvlvm.benchmarks.step_profile import log_log_slope
from mvlvm.benchmarks.tasks import DONE, MNIST_WITH_LABELS, STOPPED, DataSpec, Key, Outcome, Task
from mvlvm.records import duration, size

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class Results:
    """Outcomes of any number of machines; per device, the machine with the most outcomes is used."""

    outcomes: Mapping[Key, Outcome]

    def machine(self, device: str) -> str | None:
        """Return the machine that represents a device, or None."""
        counts = Counter(outcome.machine for outcome in self.outcomes.values() if outcome.task.device == device)
        return counts.most_common(1)[0][0] if counts else None

    def of(self, experiment: str, device: str) -> list[Outcome]:
        """Return the outcomes of an experiment in chronological order."""
        machine = self.machine(device)
        return [o for o in self.outcomes.values() if o.task.experiment == experiment and o.machine == machine]

    def find(self, task: Task, device: str) -> Outcome | None:
        """Return the outcome of a task if it has numbers, else None."""
        found = self.outcomes.get((task.experiment, task.method, task.case, self.machine(device) or ""))
        return found if found is not None and found.status in (DONE, STOPPED) and found.numbers else None

    def number(self, task: Task, device: str, name: str) -> Any:
        """Return one number of a task, or None if it was not measured."""
        found = self.find(task, device)
        return None if found is None else found.numbers.get(name)

    def rounds(self, task: Task, device: str) -> list[Outcome]:
        """Return the outcomes of a task for all seeds, restricted to one run."""
        found = [self.find(replace(task, seed=seed), device) for seed in range(MOST_ROUNDS)]
        outcomes = [outcome for outcome in found if outcome is not None]
        return [outcome for outcome in outcomes if outcome.run == outcomes[0].run]

    def pair(self, task: Task, other: Task, device: str) -> tuple[Outcome, Outcome] | None:
        """Return the outcomes of two tasks if both were measured in the same run, else None."""
        first, second = self.find(task, device), self.find(other, device)
        return (first, second) if first and second and first.run == second.run else None

    def growth(self, axis: str, device: str) -> "Growth | None":
        """Return the scaling of the step cost along an axis, at the sizes of the plan or of the trial."""
        for plan in (CUDA if device == "cuda" else CPU, TRIAL):
            found = [(size_along(axis, task), self.find(task, device)) for task in _axis_tasks(plan, axis)]
            points = [(size, outcome) for size, outcome in found if outcome is not None]
            if len(points) > 1:
                seconds = [float(outcome.numbers["seconds_per_step"]) for _, outcome in points]
                memory = [float(outcome.numbers["peak_bytes"]) for _, outcome in points]
                return Growth(axis, [size for size, _ in points], seconds, memory)
        return None


@dataclass(frozen=True)
class Growth:
    """Cost of a step at several sizes along an axis."""

    axis: str
    sizes: Sequence[int]
    seconds: Sequence[float]
    n_bytes: Sequence[float]

    @property
    def slope(self) -> float:
        """Exponent with which the step time grows."""
        return log_log_slope(self.sizes, self.seconds)


def size_along(axis: str, task: Task) -> int:
    """Return the size of a task along an axis."""
    sizes = {"N": task.data.n_samples, "M": task.data.n_columns, "V": task.data.n_views,
             "Q": task.n_mixtures, "P": task.n_points}  # fmt: skip
    return sizes[axis] or 0


def _axis_tasks(plan: Plan, axis: str) -> list[Task]:
    return growth_axis(plan, axis) if axis == "N" or axis in plan.growth else []


# Smaller differences are noise: accuracies are means over five folds of a few hundred rows.
_BETTER_BY = 1e-3


@dataclass(frozen=True)
class Comparison:
    """Another method compared with NG-MVLVM on one data set.

    Attributes:
        theirs: outcome of the other method.
        ours: outcome of the default fit of NG-MVLVM to the same data, if measured.
        seconds: time until the latents of the fastest fit of NG-MVLVM with at least the same 1-NN accuracy are final
            (most other methods only return latents); None if no fit reaches it.
        whole_seconds: time of the same fit until it can predict.
    """

    theirs: Outcome
    ours: Outcome | None
    seconds: float | None
    whole_seconds: float | None

    @property
    def must_be_behind(self) -> bool:
        """Whether the method belongs to a family that NG-MVLVM is claimed to be ahead of: GPs and factor analysis."""
        return METHODS[self.theirs.task.method].family in (PROCESS, FACTORS)

    @property
    def we_are_ahead(self) -> bool:
        """Whether NG-MVLVM reaches the accuracy of the other method in less time."""
        return self.seconds is not None and self.seconds <= self.theirs.numbers["seconds"]

    def ahead_in(self) -> list[str]:
        """Return the criteria in which the other method is ahead of the default fit of NG-MVLVM."""
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


def comparisons(results: Results, device: str) -> list[Comparison]:
    """Return the comparison with every other method, where both were measured."""
    outcomes = [o for o in results.of("peers", device) if o.status in (DONE, STOPPED) and "accuracy" in o.numbers]
    own = {outcome.task.data: outcome for outcome in outcomes if outcome.task.method == "ours"}
    return [
        Comparison(
            outcome, own.get(outcome.task.data), *_seconds_to(outcome, own.get(outcome.task.data), results, device)
        )
        for outcome in outcomes
        if METHODS[outcome.task.method].family not in ("ours", "plain")
    ]


def _seconds_to(
    theirs: Outcome, ours: Outcome | None, results: Results, device: str
) -> tuple[float | None, float | None]:
    """Return the times of the fastest equally accurate fit of NG-MVLVM: until the latents are final, and in total."""
    tasks = [Task(experiment="quality", method="ours", data=theirs.task.data, init=init) for init in ("pca", "auto")]
    curves: list[Sequence[dict[str, float | int]]] = [results.number(task, device, "curve") or [] for task in tasks]
    points = [point for curve in curves for point in curve]
    if ours is not None:
        points.append({"quality": ours.numbers["accuracy"], "seconds": ours.numbers["seconds"]})
    best = first_to_reach(points, theirs.numbers["accuracy"], by="latent_seconds")
    return (None, None) if best is None else (best.get("latent_seconds", best["seconds"]), best["seconds"])


@dataclass(frozen=True)
class Measured:
    """A measured number as text, and whether it satisfies the claim."""

    text: str
    holds: bool


@dataclass(frozen=True)
class Claim:
    """A testable claim; `measure` returns None if the required outcomes are missing."""

    device: str
    asked: str
    measure: Callable[[Results], Measured | None]


def all_claims() -> list[Claim]:
    """Return all claims, those for a CPU first."""
    steps = [_step_ratio(1000, 3.0), _step_ratio(10_000, 5.0), _step_ratio(N_MNIST, 5.0)]
    on_gpu = [_step_time(N_MNIST, 1.6e-3), _precision(), _training_time(), _step_time(1_000_000, 20e-3),
              _gpu_memory(1_000_000, 10e9), _step_time(1000, 0.6e-3), _slope("cuda", 1_000_000)]  # fmt: skip
    return [*steps, *_memory(), _r_mnist(), _mnist(), _slope("cpu", 100_000), _peers(), *on_gpu]


def _steps(n_samples: int, method: str = "ours") -> Task:
    return Task(experiment="steps", method=method, data=DataSpec(name=MNIST_WITH_LABELS, n_samples=n_samples))


def _step_ratio(n_samples: int, at_least: float) -> Claim:
    def measure(results: Results) -> Measured | None:
        if results.pair(_steps(n_samples), _steps(n_samples, "naive"), "cpu") is None:
            return None
        ours, plain = (
            [outcome.numbers["seconds_per_step"] for outcome in results.rounds(_steps(n_samples, method), "cpu")]
            for method in ("ours", "naive")
        )
        ratio, ratios = median(plain) / median(ours), [b / a for a, b in zip(ours, plain, strict=False)]
        text = f"{ratio:.1f} times ({duration(median(ours))} against {duration(median(plain))}"
        spread = f"; {len(ratios)} rounds, {min(ratios):.1f} to {max(ratios):.1f})" if len(ratios) > 1 else ")"
        return Measured(text + spread, ratio >= at_least)

    return Claim("cpu", f"a step at N = {n_samples:,}, {at_least:g} times as fast as the plain transcription", measure)


def _memory() -> list[Claim]:
    def share(results: Results) -> Measured | None:
        pair = results.pair(_steps(N_MNIST), _steps(N_MNIST, "naive"), "cpu")
        if pair is None:
            return None
        ours, plain = (outcome.numbers["peak_bytes"] for outcome in pair)
        return Measured(f"{ours / plain:.2f} ({size(ours)} against {size(plain)})", ours <= plain / 3)

    def total(results: Results) -> Measured | None:
        peak = results.number(_steps(N_MNIST), "cpu", "peak_bytes")
        return None if peak is None else Measured(size(peak), peak <= 1.2e9)

    return [
        Claim("cpu", f"a third of its peak memory at N = {N_MNIST:,}", share),
        Claim("cpu", f"a fit at N = {N_MNIST:,} in 1.2 GB beyond the data", total),
    ]


def _r_mnist() -> Claim:
    task = Task(experiment="quality", method="ours", data=DataSpec(name="r-mnist"))

    def measure(results: Results) -> Measured | None:
        measured = {init: results.number(replace(task, init=init), "cpu", "curve") for init in ("pca", "auto")}
        curves = {init: curve for init, curve in measured.items() if curve is not None}
        if not curves:
            return None
        found = {init: first_to_reach(curve, R_MNIST_TARGET) for init, curve in curves.items()}
        texts = [
            f"init='{init}': not reached, {100 * max(p['quality'] for p in curves[init]):.1f} % at best"
            if point is None
            else f"init='{init}': {duration(point['seconds'])}, {100 * point['quality']:.1f} %"
            for init, point in found.items()
        ]
        return Measured("; ".join(texts), any(point and point["seconds"] < 15 for point in found.values()))

    return Claim("cpu", "R-MNIST to 79 % 1-NN in under 15 s, the whole fit", measure)


def _mnist() -> Claim:
    ours = Task(experiment="quality", method="ours", data=DataSpec(name=MNIST_WITH_LABELS, n_samples=N_MNIST))

    def measure(results: Results) -> Measured | None:
        pair = results.pair(ours, replace(ours, method="naive"), "cpu")
        if pair is None:
            return None
        # the naive implementation ends with the latents, whereas a fit also prepares predictions
        mine, plain = (first_to_reach(outcome.numbers["curve"], MNIST_TARGET, by="latent_seconds") for outcome in pair)
        if mine is None:
            return Measured("not reached", False)
        most = pair[1].numbers["curve"][-1]["seconds"]  # a lower bound if it was stopped
        seconds = most if plain is None else plain["seconds"]
        beyond = "more than " if plain is None else ""
        until_latents = float(mine.get("latent_seconds", mine["seconds"]))
        text = (
            f"1/{seconds / until_latents:.1f} ({duration(until_latents)} with max_iter={mine['n_steps']} against "
            f"{beyond}{duration(seconds)}); {duration(mine['seconds'])} until it can predict"
        )
        return Measured(text, 8 * until_latents <= seconds)

    asked = "MNIST with labels to 82.72 % 1-NN, until the latents stand, in 1/8 of the time of the plain transcription"
    return Claim("cpu", asked, measure)


def _peers() -> Claim:
    def measure(results: Results) -> Measured | None:
        promised = [comparison for comparison in comparisons(results, "cpu") if comparison.must_be_behind]
        if not promised:
            return None
        ahead = sum(comparison.we_are_ahead for comparison in promised)
        return Measured(f"{ahead} of {len(promised)} comparisons", ahead == len(promised))

    asked = "sooner at equal or better 1-NN accuracy than every Gaussian process and factor analysis method"
    return Claim("cpu", asked, measure)


def _slope(device: str, up_to: int) -> Claim:
    def measure(results: Results) -> Measured | None:
        growth = results.growth("N", device)
        if growth is None or growth.sizes[-1] < up_to:
            return None
        return Measured(f"{growth.slope:.2f}", growth.slope <= 1.05)

    return Claim(device, f"cost of a step from N = 1,000 to {up_to:,}: log-log slope at most 1.05", measure)


def _step_time(n_samples: int, at_most: float) -> Claim:
    def measure(results: Results) -> Measured | None:
        seconds = results.number(_steps(n_samples), "cuda", "seconds_per_step")
        return None if seconds is None else Measured(duration(seconds), seconds <= at_most)

    return Claim("cuda", f"a step at N = {n_samples:,} in {duration(at_most)}", measure)


def _gpu_memory(n_samples: int, at_most: float) -> Claim:
    def measure(results: Results) -> Measured | None:
        peak = results.number(_steps(n_samples), "cuda", "peak_bytes")
        return None if peak is None else Measured(size(peak), peak <= at_most)

    return Claim("cuda", f"a fit at N = {n_samples:,} in {size(at_most)}", measure)


def _precision() -> Claim:
    tasks = tasks_of(CUDA, "accuracy")

    def measure(results: Results) -> Measured | None:
        bounds = [results.number(task, "cuda", "bound") for task in tasks]
        if None in bounds:
            return None
        pairs = (bounds[:2], bounds[2:])
        at_paper_rate, at_our_rate = (abs(auto - exact) / abs(exact) for auto, exact in pairs)
        text = f"{at_paper_rate:.1e}; {at_our_rate:.1e} at our own rate of {defaults.LEARNING_RATE:g}"
        return Measured(text, at_paper_rate <= 1e-4)

    after = f"{CUDA.accuracy_steps} steps at the paper's rate of {PAPER_LEARNING_RATE:g}"
    asked = f"the bound after {after} within 1e-4 of that in float64"
    return Claim("cuda", asked, measure)


def _training_time() -> Claim:
    task = Task(experiment="quality", method="ours", data=DataSpec(name=MNIST_WITH_LABELS, n_samples=N_MNIST))

    def measure(results: Results) -> Measured | None:
        curve = results.number(task, "cuda", "curve")
        enough = [p for p in curve or [] if p["quality"] >= GPU_TARGET]
        if curve is None:
            return None
        if not enough:
            return Measured("not reached", False)
        seconds = min(point["training_seconds"] for point in enough)
        return Measured(duration(seconds), seconds <= 0.5)

    return Claim("cuda", f"MNIST with labels to {100 * GPU_TARGET:.0f} % 1-NN in 0.5 s of training", measure)

"""The claims about speed and memory, each judged by the records of one machine."""

from collections.abc import Callable
from statistics import median

from benchmarks.cells import DONE
from benchmarks.results import Results, difference
from benchmarks.speed.benchmark_data import MNIST, N_MNIST, R_MNIST
from benchmarks.speed.device_results import DeviceResults, device_results, peer_comparisons
from benchmarks.speed.methods import NAIVE, OURS
from benchmarks.speed.naive import PAPER_LEARNING_RATE
from benchmarks.speed.speed_measurement import first_to_reach
from benchmarks.speed.speed_plan import (
    CUDA,
    GPU_TARGET,
    MNIST_TARGET,
    N_MILLION,
    R_MNIST_TARGET,
    STEPS,
    AccuracyCurve,
    curve_cell,
    precision_cell,
    speed_cell,
)
from benchmarks.study import NO, TIE, YES, Claim, Verdict, within
from benchmarks.tables import duration, size
from mvlvm import defaults

_HARDWARE = {"cpu": "CPU", "cuda": "GPU"}


def speed_claims() -> list[Claim]:
    """Return all claims, those for a CPU first."""
    return [
        _step_ratio(1000, 3.0), _step_ratio(10_000, 5.0), _step_ratio(N_MNIST, 5.0), _memory_ratio(),
        _memory("cpu", N_MNIST, 1.2e9), _r_mnist("pca"), _r_mnist("auto"), _mnist(), _growth("cpu", 100_000), _peers(),
        _step_time(N_MNIST, 1.6e-3), _precision(), _training_time(), _step_time(N_MILLION, 20e-3),
        _memory("cuda", N_MILLION, 10e9), _step_time(1000, 0.6e-3), _growth("cuda", N_MILLION),
    ]  # fmt: skip


def _claim(device: str, statement: str, judge: Callable[[DeviceResults], Verdict | None]) -> Claim:
    def judge_device(results: Results) -> Verdict | None:
        found = device_results(results, device)
        return None if found is None else judge(found)

    return Claim(f"{_HARDWARE[device]}: {statement}", judge_device)


def _step_ratio(n_rows: int, at_least: float) -> Claim:
    def judge(found: DeviceResults) -> Verdict | None:
        cells = [speed_cell(STEPS, method, MNIST, "cpu", {"N": n_rows}) for method in (OURS, NAIVE)]
        if found.pair(*cells) is None:
            return None
        ours, naive = (
            {seed: float(record.metrics["seconds_per_step"]) for seed, record in found.rounds(cell).items()}
            for cell in cells
        )
        fast, slow = median(ours.values()), median(naive.values())
        ratios = [naive[seed] / ours[seed] for seed in ours if seed in naive]
        spread = f"; {len(ratios)} rounds, {min(ratios):.1f} to {max(ratios):.1f}" if len(ratios) > 1 else ""
        text = f"{slow / fast:.1f} times ({duration(fast)} and {duration(slow)}{spread})"
        if len(ratios) == 1:
            return within(ratios[0], text, lowest=at_least)
        gain = difference(naive, {seed: at_least * seconds for seed, seconds in ours.items()})
        assert gain is not None
        return Verdict(text, (YES if gain.mean > 0 else NO) if gain.is_clear else TIE)

    statement = f"a step at N = {n_rows:,} is at least {at_least:g} times as fast as the naive implementation"
    return _claim("cpu", statement, judge)


def _memory_ratio() -> Claim:
    def judge(found: DeviceResults) -> Verdict | None:
        pair = found.pair(*(speed_cell(STEPS, method, MNIST, "cpu", {"N": N_MNIST}) for method in (OURS, NAIVE)))
        if pair is None:
            return None
        ours, naive = (record.metrics["peak_bytes"] for record in pair)
        return within(ours / naive, f"{ours / naive:.2f} ({size(ours)} and {size(naive)})", highest=1 / 3)

    return _claim("cpu", f"a fit at N = {N_MNIST:,} needs at most a third of the memory of the naive one", judge)


def _memory(device: str, n_rows: int, at_most: float) -> Claim:
    def judge(found: DeviceResults) -> Verdict | None:
        peak = found.metric(speed_cell(STEPS, OURS, MNIST, device, {"N": n_rows}), "peak_bytes")
        return None if peak is None else within(peak, size(peak), highest=at_most)

    return _claim(device, f"a fit at N = {n_rows:,} needs at most {size(at_most)} beyond the data", judge)


def _r_mnist(init: str) -> Claim:
    curve = AccuracyCurve(data=R_MNIST, target=R_MNIST_TARGET, init=init)

    def judge(found: DeviceResults) -> Verdict | None:
        points = found.metric(curve_cell(curve, OURS, "cpu"), "curve")
        if points is None:
            return None
        reached = first_to_reach(points, R_MNIST_TARGET)
        if reached is None:
            return Verdict(f"not reached; {100 * max(point['quality'] for point in points):.1f} % at best", NO)
        return within(
            reached["seconds"], f"{duration(reached['seconds'])}, {100 * reached['quality']:.1f} %", highest=15.0
        )

    which = "the default initialisation" if init == "pca" else f'`init="{init}"`'
    accuracy = f"{100 * R_MNIST_TARGET:g} % 1-NN accuracy on R-MNIST"
    return _claim("cpu", f"a fit with {which} reaches {accuracy} within 15 s", judge)


def _mnist() -> Claim:
    curve = AccuracyCurve(data=MNIST, target=MNIST_TARGET)

    def judge(found: DeviceResults) -> Verdict | None:
        pair = found.pair(*(curve_cell(curve, method, "cpu") for method in (OURS, NAIVE)))
        if pair is None:
            return None
        # the naive implementation ends with the latents, whereas a fit also prepares predictions
        ours, naive = (first_to_reach(record.metrics["curve"], MNIST_TARGET, by="latent_seconds") for record in pair)
        if ours is None:
            return Verdict("not reached", NO)
        last = pair[1].metrics["curve"][-1]["seconds"]  # a lower bound if it did not reach the accuracy
        theirs, bound = (last, "more than ") if naive is None else (naive["seconds"], "")
        seconds = float(ours.get("latent_seconds", ours["seconds"]))
        text = (
            f"1/{theirs / seconds:.1f} ({duration(seconds)} with {ours['n_steps']} steps, and {bound}"
            f"{duration(theirs)}); {duration(ours['seconds'])} until the fit can predict"
        )
        return within(8 * seconds, text, highest=theirs)

    statement = (
        f"the latents of MNIST with labels reach {100 * MNIST_TARGET:g} % 1-NN accuracy in at most 1/8 of the time of "
        "the naive implementation"
    )
    return _claim("cpu", statement, judge)


def _peers() -> Claim:
    def judge(found: DeviceResults) -> Verdict | None:
        claimed = [comparison for comparison in peer_comparisons(found) if comparison.is_claimed]
        if not claimed:
            return None
        finished = [comparison for comparison in claimed if comparison.theirs.status == DONE]
        n_ahead = sum(comparison.we_are_ahead for comparison in finished)
        text = f"{n_ahead} of {len(finished)} comparisons, one run each"
        if len(finished) < len(claimed):
            text += f"; {len(claimed) - len(finished)} more with fits that were stopped at their time limit"
        # single runs have no standard error, and a stopped fit might have become more accurate
        return Verdict(text, NO if n_ahead < len(finished) else TIE)

    statement = "less time to equal or better 1-NN accuracy than every Gaussian process and factor analysis"
    return _claim("cpu", statement, judge)


def _growth(device: str, up_to: int) -> Claim:
    def judge(found: DeviceResults) -> Verdict | None:
        growth = found.growth("N")
        if growth is None or growth.sizes[-1] < up_to:
            return None
        return within(growth.exponent, f"exponent {growth.exponent:.2f}", highest=1.05)

    statement = f"from N = 1,000 to {up_to:,}, the time of a step grows with an exponent of at most 1.05"
    return _claim(device, statement, judge)


def _step_time(n_rows: int, at_most: float) -> Claim:
    def judge(found: DeviceResults) -> Verdict | None:
        seconds = found.metric(speed_cell(STEPS, OURS, MNIST, "cuda", {"N": n_rows}), "seconds_per_step")
        return None if seconds is None else within(seconds, duration(seconds), highest=at_most)

    return _claim("cuda", f"a step at N = {n_rows:,} takes at most {duration(at_most)}", judge)


def _precision() -> Claim:
    def judge(found: DeviceResults) -> Verdict | None:
        errors = []
        for rate in (PAPER_LEARNING_RATE, None):
            fast, exact = (found.metric(precision_cell("cuda", rate, dtype), "bound") for dtype in (None, "float64"))
            if fast is None or exact is None:
                return None
            errors.append(abs(fast - exact) / abs(exact))
        text = f"{errors[0]:.1e}; {errors[1]:.1e} at the default learning rate of {defaults.LEARNING_RATE:g}"
        return within(errors[0], text, highest=1e-4)

    statement = (
        f"after {CUDA.accuracy[1]} steps at the paper's learning rate of {PAPER_LEARNING_RATE:g}, the bound differs "
        "from that in float64 by at most 1e-4 of its value"
    )
    return _claim("cuda", statement, judge)


def _training_time() -> Claim:
    curve = AccuracyCurve(data=MNIST, target=GPU_TARGET)

    def judge(found: DeviceResults) -> Verdict | None:
        points = found.metric(curve_cell(curve, OURS, "cuda"), "curve")
        if points is None:
            return None
        reached = first_to_reach(points, GPU_TARGET, by="training_seconds")
        if reached is None:
            return Verdict("not reached", NO)
        return within(reached["training_seconds"], duration(reached["training_seconds"]), highest=0.5)

    statement = f"MNIST with labels reaches {100 * GPU_TARGET:.0f} % 1-NN accuracy in at most 0.5 s of training"
    return _claim("cuda", statement, judge)

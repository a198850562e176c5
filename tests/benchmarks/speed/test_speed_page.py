from dataclasses import replace

from benchmarks.cells import FAILED, STOPPED
from benchmarks.speed.benchmark_data import BRIDGES, MNIST
from benchmarks.speed.methods import NAIVE, OURS
from benchmarks.speed.speed_page import SPEED
from benchmarks.speed.speed_plan import PEERS, PROFILE, QUALITY, growth_axis, speed_cell
from benchmarks.study import render_page, write_page
from tests.benchmarks.speed.speed_records import mnist, point, r_mnist, record, results, steps


def some_records():
    curve = [point(1.0, 0.8)]
    return [
        *(record(replace(steps(OURS), seed=k), seconds_per_step=0.1, peak_bytes=2e8) for k in range(3)),
        *(record(replace(steps(NAIVE), seed=k), seconds_per_step=0.5 + k / 10, peak_bytes=8e8) for k in range(3)),
        *(record(c, seconds_per_step=1e-6 * n, peak_bytes=1e6) for n, c in growth_axis("N", "cpu").items()),
        record(r_mnist(device="cuda"), curve=curve, reached=curve[0]),
        record(r_mnist("auto", device="cuda"), curve=[point(1.0, 0.7)], reached=None),
        record(
            speed_cell(PROFILE, OURS, MNIST, "cuda", {"N": 70_000}), seconds_per_step=1e-3,
            parts={"products": 6e-4, "features": 4e-4}, operations=1e9, product_rate=1e13,
        ),
    ]  # fmt: skip


def test_the_page_has_a_section_with_tables_and_figures_for_every_device(tmp_path):
    found = results(*some_records())
    written = {path.name for path in write_page(SPEED, found, tmp_path)}
    assert {f"speed-{name}.{suffix}" for name in ("cpu-growth", "cuda-quality", "cuda-parts")
            for suffix in ("png", "svg")} | {"speed.md"} == written  # fmt: skip
    page = (tmp_path / "speed.md").read_text()
    assert page.index("## On a CPU") < page.index("Machine: a processor.") < page.index("## On a GPU")
    assert "Machine: a card." in page
    assert "| 70,000 | NG-MVLVM | 100 ms | 6.0 | 200 MB | 0.25 |" in page  # the median of 0.5, 0.6 and 0.7 s
    assert "| 70,000 | naive | 600 ms |  | 800 MB |  |" in page
    assert "| rows, N | 1,000 | 100,000 | 1 ms to 100 ms | 1.00 |" in page
    assert "| R-MNIST | NG-MVLVM | 79.00 % | 1 s | 1 s | 10 | 100 ms | 80.0 % |" in page
    assert '| R-MNIST | NG-MVLVM, init="auto" | 79.00 % | not reached | - | - | - | 70.0 % |' in page
    assert "| 70,000 | 1 ms | 60 % | 40 % | 1 G | 10,000 G/s | 0.1 ms | 10.0 |" in page
    for name in written - {"speed.md"}:
        assert (tmp_path / name).stat().st_size > 0


def test_there_is_no_ratio_of_two_runs():
    ours = record(steps(), seconds_per_step=0.1, peak_bytes=1)
    other = record(steps(NAIVE), seconds_per_step=0.6, peak_bytes=2)
    assert "| NG-MVLVM | 100 ms | 6.0 |" in render_page(SPEED, results(ours, other)).text
    page = render_page(SPEED, results(ours, replace(other, run="another"))).text
    assert "| NG-MVLVM | 100 ms |  |" in page


def test_methods_are_compared_on_every_data_set():
    def peer(method, **fields):
        return record(speed_cell(PEERS, method, BRIDGES, "cpu"), **fields)

    def timed(found, seconds):
        return replace(found, metrics={**found.metrics, "seconds": seconds})

    found = results(
        timed(peer(OURS, accuracy=0.8, rmse=0.5, predict_rmse=0.7, peak_bytes=1e6), 5.0),
        record(speed_cell(QUALITY, OURS, BRIDGES, "cpu"), curve=[point(2.0, 0.7)], reached=None),
        timed(peer("MRD", accuracy=0.69, rmse=0.6, peak_bytes=1e6, status=STOPPED), 3.0),
        timed(peer("MOFA", accuracy=0.6, rmse=0.4, predict_seconds=9.0, peak_bytes=1e6, status=STOPPED), 1.0),
        timed(peer("PCA", accuracy=0.9, peak_bytes=1e6), 0.1),
        peer("GFA", status=FAILED, note="it broke"),
    )
    page = render_page(SPEED, found).text
    assert "#### BRIDGES" in page
    assert "| NG-MVLVM | ours | 5 s | 80.0 % | 0.500 | 0.700 | 1 MB | - |" in page
    assert "| MOFA | factor analysis | 1 s | 60.0 % | 0.400 | stopped | 1 MB | 2 s (2 s) |" in page  # not the fit
    assert "| MRD | Gaussian process | 3 s (stopped) | 69.0 % | 0.600 | - | 1 MB | 2 s (2 s) |" in page
    assert "| PCA | other | 100 ms | 90.0 % | - | - | 1 MB | not reached |" in page
    assert "| GFA | factor analysis | failed | - | - | - | - | - |" in page
    assert "in 1 of 2 comparisons" in page.replace("\n", " ")
    assert "- MOFA on BRIDGES: time to its 1-NN accuracy, reconstruction." in page
    assert "- MRD on" not in page
    assert "default parameters (NG-MVLVM, PCA)" in page


def test_a_stopped_curve_is_shown_with_what_it_reached():
    found = record(mnist(NAIVE), status=STOPPED, curve=[point(90.0, 0.5)], reached=None)
    page = render_page(SPEED, results(found)).text
    assert "| MNIST with labels | naive | 82.72 % | not reached | - | - | - | 50.0 % |" in page


def test_without_records_the_page_has_no_section():
    page = render_page(SPEED, results()).text
    assert "Not measured yet" in page
    assert "On a CPU" not in page
    assert page.count("not measured") == len(SPEED.claims)

"""Wall time: what is timed, and what the page shows of it."""

from mvlvm.experiments import wall_time
from mvlvm.experiments.wall_time import EXPERIMENT, measure
from tests.experiments.findings import cell, tiny_images
from tests.experiments.never_run import found_of


class _Clock:
    """A clock that only fits move."""

    def __init__(self):
        self.seconds = 0.0

    def perf_counter(self):
        return self.seconds

    def fit(self, views):
        self.seconds += 7.0


def test_the_fit_is_timed_and_not_the_loading_of_the_data(monkeypatch):
    clock, asked = _Clock(), {}

    def load(name, **options):
        asked.update(options)
        clock.seconds += 100.0
        return tiny_images()

    monkeypatch.setattr(wall_time, "time", clock)
    monkeypatch.setattr(wall_time, "load_paper_data", load)
    monkeypatch.setattr(wall_time, "estimator_for", lambda _: clock)
    assert measure(cell(EXPERIMENT, "NG-MVLVM", N=200)).numbers == {"seconds": 7.0}
    assert (asked["most_rows"], asked["label_view"]) == (200, True)


def test_seconds_have_their_spread_and_gaps_where_a_method_was_not_run(tmp_path):
    seconds = {("NG-MVLVM", seed, n): n / 10 + seed for seed in (0, 2) for n in (100, 1000)}
    seconds["MV-GPLVM", 0, 100] = 0.5
    cells = [
        (cell(EXPERIMENT, method, seed=seed, N=n), {"seconds": taken}, {})
        for (method, seed, n), taken in seconds.items()
    ]
    page = EXPERIMENT.write(found_of(EXPERIMENT, tmp_path, cells))
    assert [list(row) for row in page.tables[0].rows] == [
        ["method", "100 rows", "1,000 rows"],
        ["NG-MVLVM", "11.0 ± 1.0 (2)", "101.0 ± 1.0 (2)"],
        ["MV-GPLVM", "0.5 (1)", "-"],
    ]

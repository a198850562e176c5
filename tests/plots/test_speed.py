import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from mvlvm.plots.speed import plot_growth, plot_parts, plot_quality, plot_wall_times


def drawn(figure):
    FigureCanvasAgg(figure).draw()
    return figure.axes


def test_wall_times_are_lines_on_logarithmic_axes_and_stopped_fits_are_open_triangles():
    times = {"ours": {1000: 2.0, 500: 1.0}, "slow": {500: 50.0}}
    (panel,) = drawn(plot_wall_times(times, {"slow": {1000: 60.0}}, title="t"))
    lines = {line.get_label(): line for line in panel.get_lines()}
    assert lines["ours"].get_xydata().tolist() == [[500, 1], [1000, 2]]
    stop, in_legend = [line for line in panel.get_lines() if line.get_markerfacecolor() == "none"]
    assert in_legend.get_label() == "stopped at the time limit"
    np.testing.assert_allclose(stop.get_xydata(), [[1000, 60]], rtol=0.1)
    assert stop.get_color() == lines["slow"].get_color() != lines["ours"].get_color()
    assert panel.get_xscale() == panel.get_yscale() == "log"


def test_triangles_of_fits_stopped_at_the_same_size_are_centred_on_it():
    methods = [f"method {k}" for k in range(9)]
    stopped = {method: {1000: 60.0} for method in methods[:3]} | {methods[3]: {500: 60.0}}
    (panel,) = drawn(plot_wall_times({method: {} for method in methods}, stopped, title="t"))
    triangles = [line for line in panel.get_lines() if line.get_marker() == "^" and len(line.get_xdata())]
    *three, one = sorted((line.get_xdata()[0] for line in triangles), reverse=True)
    assert one == 500
    assert np.mean(three) == pytest.approx(1000)
    assert len(set(three)) == 3


def test_the_fitted_line_passes_through_collinear_points():
    sizes = [10, 100, 1000]
    (panel,) = drawn(plot_growth({"rows": (sizes, [1e-3, 1e-2, 1e-1], 1.0)}, title="t"))
    line, points = panel.get_lines()
    np.testing.assert_allclose(line.get_ydata(), points.get_ydata())
    np.testing.assert_allclose(points.get_ydata(), [1, 10, 100])  # milliseconds
    assert panel.get_legend().get_texts()[0].get_text() == "exponent 1.00"


def test_accuracy_is_in_percent_with_its_target():
    curves = {"a": {"ours": ([1.0, 2.0], [0.5, 0.7]), "PCA": ([0.1], [0.4])}, "b": {"ours": ([1.0], [0.2])}}
    left, right = drawn(plot_quality(curves, {"a": 0.6}, title="t"))
    ours, _, target = left.get_lines()
    np.testing.assert_allclose(ours.get_ydata(), [50, 70])
    assert set(target.get_ydata()) == {60.0}
    assert len(right.get_lines()) == 1
    (legend,) = left.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["ours", "PCA", "accuracy to reach"]


def test_accuracy_is_the_best_so_far():
    (panel,) = drawn(plot_quality({"a": {"ours": ([3.0, 1.0, 2.0, 4.0], [0.6, 0.5, 0.4, 0.7])}}, {}, title="t"))
    np.testing.assert_allclose(panel.get_lines()[0].get_xydata(), [[1, 50], [3, 60], [4, 70]])


def test_shares_of_a_step_sum_to_one_hundred_percent():
    parts = {"N = 10": {"products": 3.0, "features": 1.0}, "N = 20": {"products": 1.0, "features": 1.0}}
    (panel,) = drawn(plot_parts(parts, title="t"))
    widths = np.array([bar.get_width() for bar in panel.patches]).reshape(2, 2)
    np.testing.assert_allclose(widths, [[75, 50], [25, 50]])
    assert widths.sum(axis=0) == pytest.approx([100, 100])

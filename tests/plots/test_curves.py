import numpy as np
import pytest
from matplotlib.colors import to_hex

from mvlvm import plots
from mvlvm.errors import ViewError
from tests.plots.figure_checks import assert_readable, drawn

METHODS = ["NG-MVLVM", "MV-ARFLVM", "MV-RFLVM", "MV-GPLVM", "MV-NGPLVM", "MV-GPLVM-SVI", "MV-DGPLVM", "MVAE", "MMVAE",
           "MOFA", "GFA", "MCCA", "MRD", "PCA", "linear discriminant analysis of all views side by side"]  # fmt: skip
X = np.array([100.0, 300.0, 1000.0, 3000.0, 10000.0, 30000.0])
MANY = {method: (X, 0.1 * (k + 1) * X / 100, 0.01 * X) for k, method in enumerate(METHODS)}
NAMES = {"x": "rows, N", "y": "wall time (s)"}


def lines_of(panel):
    return [line for line in panel.get_lines() if line.get_linestyle() != "--" and len(line.get_xdata())]


def legend_of(figure):
    (legend,) = figure.legends
    return {text.get_text(): handle for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)}


def test_lines_pass_through_the_means_and_bands_are_one_standard_deviation():
    figure = plots.plot_curves({"PCA": ([3, 1, 2], [6.0, 2.0, 4.0], [0.6, 0.2, 0.4])}, x="views", y="R²")
    (panel,) = drawn(figure)
    (line,) = lines_of(panel)
    assert line.get_xydata().tolist() == [[1, 2], [2, 4], [3, 6]]
    (band,) = panel.collections
    corners = band.get_paths()[0].vertices
    for x, low, high in [(1, 1.8, 2.2), (2, 3.6, 4.4), (3, 5.4, 6.6)]:
        heights = corners[corners[:, 0] == x, 1]
        assert (heights.min(), heights.max()) == pytest.approx((low, high))
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("views", "R²")


def test_bands_and_error_bars_end_at_the_limits_of_a_bounded_quantity():
    curves = {"PCA": ([1, 2], [0.9, 0.2], [0.3, 0.3]), "MOFA": ([1], [0.95], [0.2])}
    (panel,) = drawn(plots.plot_curves(curves, x="views", y="R²", limits=(0.0, 1.0)))
    band, bar = panel.collections
    corners = band.get_paths()[0].vertices
    for x, low, high in [(1, 0.6, 1.0), (2, 0.0, 0.5)]:
        heights = corners[corners[:, 0] == x, 1]
        assert (heights.min(), heights.max()) == pytest.approx((low, high))
    assert np.ravel(bar.get_segments()[0]) == pytest.approx([1, 0.75, 1, 1.0])
    (free,) = drawn(plots.plot_curves(curves, x="views", y="R²", limits=(None, 1.0)))
    assert free.collections[0].get_paths()[0].vertices[:, 1].min() == pytest.approx(-0.1)


def test_missing_points_are_not_drawn_and_methods_without_points_are_not_in_the_legend():
    curves = {"PCA": ([1, 2, 3], [1.0, np.nan, 3.0]), "MOFA": ([2], [2.0], [np.nan]), "GFA": ([1, 2], [np.nan] * 2)}
    figure = plots.plot_curves(curves, **NAMES)
    (panel,) = drawn(figure)
    assert lines_of(panel)[0].get_xydata().tolist() == [[1, 1], [3, 3]]
    assert list(legend_of(figure)) == ["PCA", "MOFA"]


def test_a_single_point_has_an_error_bar():
    (panel,) = drawn(plots.plot_curves({"PCA": ([2], [5.0], [1.0])}, **NAMES))
    segments = [segment.tolist() for bars in panel.collections for segment in bars.get_segments()]
    assert segments == [[[2, 4], [2, 6]]]


def test_methods_have_their_styles_and_ours_is_bold_in_the_legend():
    figure = plots.plot_curves(MANY, log="xy", **NAMES)
    (panel,) = drawn(figure)
    styles = plots.method_looks(METHODS)
    observed = [(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines_of(panel)]
    assert observed == [style[:3] for style in styles.values()]
    weights = [text.get_fontweight() for text in figure.legends[0].get_texts()]
    assert weights == ["bold", *["normal"] * 14]


@pytest.mark.parametrize("log", ["", "x", "y", "xy"])
def test_fifteen_methods_with_long_names_are_readable(log):
    figure = plots.plot_curves(MANY, log=log, title="Whole fits of " * 6, **NAMES)
    assert_readable(figure)
    (panel,) = drawn(figure)
    assert (panel.get_xscale() == "log") == ("x" in log)
    assert (panel.get_yscale() == "log") == ("y" in log)
    assert panel.get_window_extent().width > 0.4 * figure.bbox.width


def test_panels_share_a_legend_and_have_their_own_axis_labels():
    panels = {"MNIST": MANY, "YALE": {"PCA": ([1, 2], [3.0, 4.0])}, "BRIDGES": MANY, "CIFAR": MANY}
    names = {"MNIST": "accuracy (%)", "YALE": "error", "BRIDGES": "R²", "CIFAR": "s"}
    figure = plots.plot_curve_panels(panels, x="rows", y=names)
    assert_readable(figure)
    shown = drawn(figure)
    assert {panel.get_title(): panel.get_ylabel() for panel in shown} == names
    assert [name.replace("\n", " ") for name in legend_of(figure)] == METHODS


def test_references_are_dashed_in_the_colour_of_their_method():
    references = {"bound": ([1, 2], [9.0, 8.0]), "PCA, paper": 5.0}
    figure = plots.plot_curves({"PCA": ([1, 2], [3.0, 4.0])}, references=references, **NAMES)
    (panel,) = drawn(figure)
    bound, paper = [line for line in panel.get_lines() if line.get_linestyle() == "--"]
    assert bound.get_xydata().tolist() == [[1, 9], [2, 8]]
    assert set(paper.get_ydata()) == {5.0}
    colours = {name: to_hex(handle.get_color()) for name, handle in legend_of(figure).items()}
    assert colours["PCA, paper"] == colours["PCA"] != colours["bound"]
    assert panel.get_ylim()[1] > 9


def test_a_band_below_zero_does_not_stretch_a_logarithmic_axis_that_contains_all_points():
    curves = {"PCA": ([1, 2], [10.0, 20.0], [50.0, 1.0])}
    (panel,) = drawn(plots.plot_curves(curves, log="y", references={"bound": 2e4}, **NAMES))
    low, high = panel.get_ylim()
    assert 1 < low < 10
    assert 2e4 < high < 2e5


def test_ticks_are_at_measured_values_unless_their_labels_would_overlap():
    figure = plots.plot_curves({"PCA": ([1, 2, 3, 5, 10, 100], np.ones(6))}, **NAMES)
    assert_readable(figure)
    (panel,) = drawn(figure)
    written = [label.get_text() for label in panel.get_xticklabels()]
    assert set(written) < {"1", "2", "3", "5", "10", "100"}
    assert written[0] == "1"
    assert written[-1] == "100"


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("curves", "log", "message"),
    [
        ({}, "", "no curve with a point was given"),
        ({"a": ([1.0], [np.nan])}, "", "no curve with a point was given"),
        ({"a": 3.0}, "", r"Curve 'a' must be arrays \(x, mean\) or \(x, mean, std\). Got float"),
        ({"a": ([1.0], [1.0], [1.0], [1.0])}, "", r"Curve 'a' must be arrays \(x, mean\)"),
        ({"a": (["one"], [1.0])}, "", r"Curve 'a' must be arrays \(x, mean\)"),
        ({"a": ([1.0, 2.0], [1.0])}, "", r"same length. Got shapes \(2,\), \(1,\) and \(1,\)"),
        ({"a": ([[1.0]], [[1.0]])}, "", r"same length. Got shapes \(1, 1\)"),
        ({"a": ([1.0], [np.inf])}, "", "Curve 'a' must consist of finite numbers"),
        ({"a": ([1.0], [1.0], [-1.0])}, "", "non-negative standard deviations. Got -1"),
        ({"a": ([1.0], [-2.0])}, "y", "positive on a logarithmic axis. Got y = -2. Remove 'y' from log"),
        ({"a": ([0.0], [2.0])}, "xy", "positive on a logarithmic axis. Got x = 0"),
        ({"a": ([1.0], [2.0])}, "z", "log must be one of '', 'x', 'y', 'xy'. Got 'z'"),
    ],
    ids=str,
)
def test_invalid_curves_raise_an_informative_error(curves, log, message):
    with pytest.raises(ViewError, match=message):
        plots.plot_curves(curves, log=log, **NAMES)

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from mvlvm import plots
from mvlvm.errors import ViewError
from mvlvm.evaluation import reliability
from mvlvm.plots.style import DPI

LEVELS = np.linspace(0.05, 0.95, 19)
CURVES = {"calibrated": (LEVELS, LEVELS), "too narrow": (LEVELS[::2], LEVELS[::2] ** 2)}


def drawn(figure, dpi):
    figure.set_dpi(dpi)
    FigureCanvasAgg(figure).draw()
    return figure.axes[0]


def test_lines_are_at_the_shares_and_the_diagonal_is_dashed():
    diagonal, *lines = plots.plot_reliability(CURVES).axes[0].lines
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    assert diagonal.get_linestyle() == "--"
    for line, (expected, observed) in zip(lines, CURVES.values(), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([expected, observed]))


@pytest.mark.parametrize("n_curves", [1, 12])
def test_axes_are_labelled_square_and_range_from_zero_to_one(n_curves):
    panel = drawn(plots.plot_reliability({f"fit {k}": (LEVELS, LEVELS) for k in range(n_curves)}), DPI)
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("probability of the interval", "share of entries inside")
    assert panel.get_xlim() == panel.get_ylim() == (0, 1)
    box = panel.get_window_extent()
    assert box.width == pytest.approx(box.height)


def test_curves_match_their_legend_entries_and_have_distinct_styles():
    figure = plots.plot_reliability({f"fit {k}": (LEVELS, LEVELS) for k in range(12)})
    _, *lines = figure.axes[0].lines
    _, *handles = figure.legends[0].legend_handles
    _, *texts = figure.legends[0].get_texts()
    assert [text.get_text() for text in texts] == [f"fit {k}" for k in range(12)]
    styles = [(*line.get_color(), line.get_marker()) for line in lines]
    assert styles == [(*handle.get_color(), handle.get_marker()) for handle in handles]
    assert len(set(styles)) == 12


@pytest.mark.parametrize("dpi", [100, DPI, 300])
@pytest.mark.parametrize("n_curves", [1, 12, 40])
def test_the_legend_overlaps_nothing_and_is_inside_the_figure(n_curves, dpi):
    figure = plots.plot_reliability({f"{k}: a {'very ' * 12}long name": (LEVELS, LEVELS) for k in range(n_curves)})
    panel, legend = drawn(figure, dpi), figure.legends[0]
    boxes = [part.get_window_extent() for part in (panel, panel.title, panel.xaxis.label, panel.yaxis.label, legend)]
    for k, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[k + 1 :])
    assert boxes[0].width > figure.bbox.width / 2  # many names do not shrink the panel


def test_the_result_of_reliability_is_accepted():
    rng = np.random.default_rng(0)
    curve = reliability(rng.normal(size=(50, 2)), np.zeros((50, 2)), np.ones((50, 2)))
    _, line = plots.plot_reliability({"b": curve}).axes[0].lines
    np.testing.assert_array_equal(line.get_xydata(), np.column_stack([curve.expected, curve.observed]))


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("curves", "message"),
    [
        ((LEVELS, LEVELS), r"must be a dict of names and curves. Got tuple. Pass a name"),
        ({1: (LEVELS, LEVELS)}, "names of curves must be strings. Got 1. Use '1'"),
        ({"a": LEVELS}, "Curve 'a' must be a pair of arrays.*Got ndarray"),
        ({"a": 0.5}, "Curve 'a' must be a pair of arrays.*Got float"),
        ({"a": "no"}, "Curve 'a' must be a pair of arrays.*Got str"),
        ({"a": (LEVELS, LEVELS[1:])}, r"same length. Got shapes \(19,\) and \(18,\)"),
        ({"a": (LEVELS[:, None], LEVELS[:, None])}, r"same length. Got shapes \(19, 1\) and \(19, 1\)"),
        ({"a": (LEVELS, 100 * LEVELS)}, "between 0 and 1. Got 5. Divide"),
        ({"a": (LEVELS, LEVELS * np.nan)}, "between 0 and 1. Got nan"),
    ],
    ids=str,
)
def test_invalid_curves_raise_an_informative_error(curves, message):
    with pytest.raises(ViewError, match=message):
        plots.plot_reliability(curves)


def test_no_curves_raise_an_informative_error():
    with pytest.raises(ViewError, match="no curve was given"):
        plots.plot_reliability({})

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba

from mvlvm import plots
from mvlvm.errors import ViewError
from mvlvm.plots.style import DPI

RNG = np.random.default_rng(0)
NAMES = [*(f"x{k}" for k in range(8)), "image:0", "a long view name:0"]
TABLE = pd.DataFrame(
    RNG.dirichlet(np.full(10, 0.3), size=6), index=["image", "text", "a long view name", "d", "e", "f"], columns=NAMES
)


def drawn(figure):
    figure.set_dpi(DPI)
    FigureCanvasAgg(figure).draw()
    return figure.axes[0]


def test_cells_contain_their_share_in_percent():
    panel = drawn(plots.plot_relevance(TABLE))
    written = {tuple(map(round, text.get_position())): text.get_text() for text in panel.texts}
    assert written == {(d, v): f"{100 * TABLE.iloc[v, d]:.0f}" for v in range(6) for d in range(10)}
    assert [label.get_text() for label in panel.get_yticklabels()] == list(TABLE.index)
    assert [label.get_text() for label in panel.get_xticklabels()] == NAMES


def test_numbers_fit_into_their_cells_and_contrast_with_them():
    figure = plots.plot_relevance(TABLE)
    panel = drawn(figure)
    width, height = panel.get_window_extent().width / 10, panel.get_window_extent().height / 6
    colours = panel.images[0]
    for text in panel.texts:
        box = text.get_window_extent()
        assert box.width < width
        assert box.height < height
        d, v = map(round, text.get_position())
        background = np.dot(colours.to_rgba(TABLE.to_numpy())[v, d, :3], (0.2126, 0.7152, 0.0722))
        assert abs(background - np.dot(to_rgba(text.get_color())[:3], (0.2126, 0.7152, 0.0722))) > 0.3


@pytest.mark.parametrize("figure", [plots.plot_relevance, plots.plot_explained_variance])
@pytest.mark.parametrize("table", [TABLE, TABLE.iloc[:1, :1], TABLE.iloc[:2, :3]], ids=["large", "single", "small"])
def test_labels_and_legends_are_inside_the_figure(figure, table):
    figure = figure(table)
    panel = drawn(figure)
    for box in [panel.get_tightbbox(), *(legend.get_window_extent() for legend in figure.legends)]:
        assert figure.bbox.x0 - 1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1
        assert figure.bbox.y0 - 1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1


def test_bar_heights_are_the_lost_variance_and_bars_are_centred_at_their_view():
    panel = drawn(plots.plot_explained_variance(TABLE))
    for d, bars in enumerate(panel.containers):
        np.testing.assert_allclose([bar.get_height() for bar in bars], 100 * TABLE.iloc[:, d])
        assert [round(bar.get_x() + bar.get_width() / 2) for bar in bars] == list(range(6))
    assert [text.get_text() for text in panel.figure.legends[0].get_texts()] == NAMES


def test_bars_of_twenty_dimensions_have_distinct_styles():
    panel = plots.plot_explained_variance(RNG.random((2, 20))).axes[0]
    styles = {(bars[0].get_facecolor(), bars[0].get_hatch()) for bars in panel.containers}
    assert len(styles) == 20


def test_views_and_dimensions_of_arrays_are_numbered():
    panel = plots.plot_relevance(np.eye(2)).axes[0]
    assert [label.get_text() for label in panel.get_yticklabels()] == ["view0", "view1"]
    assert [label.get_text() for label in panel.get_xticklabels()] == ["x0", "x1"]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ones(3), r"relevance must have one row per view.*Got shape \(3,\)"),
        (np.ones((0, 3)), r"Got shape \(0, 3\)"),
        ("shares", "relevance must be a table of numbers.*Got str"),
        (np.full((2, 2), np.nan), "relevance must consist of finite numbers. Got 4 that are not"),
    ],
    ids=["vector", "empty", "text", "nan"],
)
def test_invalid_tables_raise_an_informative_error(table, message):
    with pytest.raises(ViewError, match=message):
        plots.plot_relevance(table)


@pytest.mark.parametrize("name", ["brief", "thirty letters, or a few more"])
def test_names_of_views_are_rotated_if_they_would_overlap(name):
    names = [f"{name} {k}" for k in range(3)]
    panel = drawn(plots.plot_explained_variance(pd.DataFrame(TABLE.to_numpy()[:3, :4], index=names)))
    labels = panel.get_xticklabels()
    slanted = {label.get_rotation() for label in labels} != {0.0}
    assert slanted == (name != "brief")
    assert slanted or all(a.get_window_extent().x1 < b.get_window_extent().x0 for a, b in pairwise(labels))
    assert panel.get_window_extent().height > 2 * DPI  # the names do not reduce the height of the bars

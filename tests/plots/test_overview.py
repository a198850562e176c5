""" """

import time

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from scipy import sparse

from mvlvm import plots
from mvlvm.errors import ViewError
from mvlvm.plots.overview import MOST_LINES, as_matrices, block_shares, missing_entries, order_by_missing_views
from mvlvm.plots.style import MISSING, OBSERVED

ONES = np.ones((3, 4))
SHAPES = {"a": (2, 2)}


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("views", "sentence"),
    [
        ({}, "There is nothing to show"),
        ({"a": ONES, "b": ONES[:2]}, "the same number in all. Got a: 3, b: 2."),
        ({"a": ONES[:0]}, "View 'a' must be a matrix with at least one row and one column. Got 0 x 4."),
        ({"a": ONES[:, :0]}, "Got 3 x 0."),
        ({"a": ONES[0]}, "Got 4."),
        ({"a": 3.0}, "Got a number."),
        ({"a": np.array([["x"]])}, "View 'a' must be made of numbers. Got <U1."),
        ({"a": np.array([[{}]])}, "View 'a' must be made of numbers. Got object."),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(views, sentence):
    for draw in (plots.plot_overview, lambda views: plots.plot_contact_sheet(views, dict.fromkeys(views, (2, 2)))):
        with pytest.raises(ViewError, match=sentence):
            draw(views)


def test_objects_that_are_numbers_are_shown_as_numbers():
    Y = np.array([[1, None], [np.nan, 2.5]], dtype=object)
    assert plots.plot_overview({"a": Y}).axes[0].get_title() == "a\n50 % missing"
    np.testing.assert_array_equal(as_matrices({"a": Y})["a"], [[1, np.nan], [np.nan, 2.5]])


def test_sparse_views_and_their_values_stay_as_they_are():
    Y = sparse.csr_array(np.eye(2, dtype=np.uint8))
    assert as_matrices({"a": Y})["a"] is Y


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"shapes": {}}, "There is nothing to show"),
        ({"shapes": {"a": (2, 2), "b": (2, 2)}}, "shapes must name views. Got 'b'; the views are: a."),
        ({"shapes": {"a": (2, 3)}}, r"View 'a' has 4 columns, which are no images of shape \(2, 3\)."),
        ({"shapes": {"a": (4,)}}, r"no images of shape \(4,\)"),
        ({"labels": np.zeros(2, int)}, "a label for every sample. Got 2 for 3 samples."),
        ({"labels": np.arange(3), "label_names": ["x", "y"]}, "a name for every class. Got 2; a label is 2."),
    ],
)
def test_a_sheet_whose_parts_do_not_fit_is_one_sentence(change, sentence):
    with pytest.raises(ViewError, match=sentence):
        plots.plot_contact_sheet(**({"views": {"a": ONES}, "shapes": SHAPES} | change))


NAN = np.nan
# An 8-bit canvas rounds each channel; smoothing lines that are not a whole number of pixels high adds a little more.
ROUNDING = 3 / 255


@pytest.fixture
def views():
    """Three views of six samples: sample 1 lacks b, samples 2 and 4 lack a, sample 5 lacks a and b."""
    a, b = np.ones((6, 3)), np.ones((6, 2))
    a[[2, 4, 5]] = NAN
    b[[1, 5]] = NAN
    a[0, 2] = NAN
    return {"a": a, "b": b, "c": np.arange(6).reshape(6, 1)}


def colours_in(figure, panel, n_rows, n_columns):
    """The colours that are really drawn, in the middle of the place of every entry."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = np.asarray(canvas.buffer_rgba())[..., :3] / 255
    places = [(c + 0.5, r + 0.5) for r in range(n_rows) for c in range(n_columns)]
    x, y = panel.transData.transform(places).T
    return picture[(len(picture) - y).astype(int), x.astype(int)].reshape(n_rows, n_columns, 3)


def test_samples_with_the_same_views_missing_lie_together_the_complete_ones_first(views):
    order = order_by_missing_views([missing_entries(Y) for Y in views.values()])
    assert order.tolist() == [0, 3, 1, 2, 4, 5]


def test_missing_entries_have_their_colour_where_they_are_and_nowhere_else(views):
    figure = plots.plot_overview(views)
    order = [0, 3, 1, 2, 4, 5]
    for panel, Y in zip(figure.axes, views.values(), strict=True):
        drawn = colours_in(figure, panel, *Y.shape)
        expected = np.where(np.isnan(Y[order])[..., None], to_rgb(MISSING), to_rgb(OBSERVED))
        np.testing.assert_allclose(drawn, expected, atol=ROUNDING)


def test_every_pattern_of_missing_views_is_as_high_as_it_has_samples():
    rng = np.random.default_rng(0)
    lacking = rng.random((90, 3)) < 0.4
    views = {f"view {k}": np.where(lacking[:, [k]], NAN, np.ones((90, 4))) for k in range(3)}
    masks = [missing_entries(Y) for Y in views.values()]
    order = order_by_missing_views(masks)
    patterns = np.stack([block_shares(mask, order)[:, 0] for mask in masks], axis=1).astype(bool)
    changes = np.flatnonzero((patterns[1:] != patterns[:-1]).any(axis=1)) + 1
    heights = {tuple(block[0].tolist()): len(block) for block in np.split(patterns, changes)}
    expected = {tuple(p.tolist()): n for p, n in zip(*np.unique(lacking, axis=0, return_counts=True), strict=True)}
    assert heights == expected
    assert len(changes) + 1 == len(expected)  # no pattern comes twice


def test_what_does_not_fit_is_averaged_and_nothing_is_left_out():
    rng = np.random.default_rng(1)
    mask = rng.random((2503, 1301)) < 0.2
    shares = block_shares(mask, rng.permutation(2503))
    assert shares.shape == (MOST_LINES, MOST_LINES)
    # rows fall into blocks of two or three, columns of one or two: weighed by their size, all entries are there
    rows, columns = (np.diff(np.arange(MOST_LINES + 1) * n // MOST_LINES) for n in mask.shape)
    assert rows @ shares @ columns == pytest.approx(mask.sum(), rel=1e-12)


def test_a_lone_missing_entry_among_many_stays_visible():
    mask = np.zeros((3000, 5), dtype=bool)
    mask[1501, 3] = True
    shares = block_shares(mask, np.arange(3000))
    assert np.argwhere(shares).tolist() == [[500, 3]]
    assert shares.max() == pytest.approx(1 / 3)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_views_are_drawn_as_their_dense_twins(views, form):
    Y = views["a"].copy()
    Y[0, 0] = 0
    order = order_by_missing_views([missing_entries(Y)])
    mask = missing_entries(sparse.csr_array(Y).asformat(form))
    assert sparse.issparse(mask)
    np.testing.assert_array_equal(order_by_missing_views([mask]), order)
    np.testing.assert_array_equal(block_shares(mask, order), np.isnan(Y[order]))


def test_a_sparse_view_and_its_stored_values_are_left_as_they_are():
    Y = sparse.csr_array(np.array([[1.0, NAN], [0.0, 2.0]]))
    missing_entries(Y)
    np.testing.assert_array_equal(Y.toarray(), [[1, NAN], [0, 2]])


def test_panels_say_what_they_show(views):
    figure = plots.plot_overview(views, title="all of it")
    assert [panel.get_title() for panel in figure.axes] == ["a\n56 % missing", "b\n33 % missing", "c\ncomplete"]
    assert [panel.get_xlabel() for panel in figure.axes] == ["3 columns", "2 columns", "1 column"]
    assert figure.axes[0].get_ylabel() == "samples, sorted by the views they lack"
    assert figure.get_suptitle() == "all of it"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["observed", "missing"]


def test_the_order_of_the_data_is_called_so_and_shades_are_explained():
    Y = np.ones((3 * MOST_LINES, 2))
    Y[7] = [NAN, 1]
    figure = plots.plot_overview({"a": Y})
    assert figure.axes[0].get_ylabel() == "samples, in the order of the data"
    assert figure.axes[0].get_title() == "a\nunder 1 % missing"
    assert "missing in part" in [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("n_views", [1, 6])
def test_neither_texts_nor_the_legend_lie_over_each_other_or_leave_the_figure(n_views):
    views = {f"a rather long name of view {k}": np.full((50, 3), NAN) for k in range(n_views)}
    figure = plots.plot_overview(views, title="a title")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = [panel.title.get_window_extent() for panel in figure.axes]
    boxes += [panel.get_window_extent() for panel in figure.axes]
    boxes += [panel.xaxis.label.get_window_extent() for panel in figure.axes]
    boxes += [figure.axes[0].yaxis.label.get_window_extent(), figure.legends[0].get_window_extent()]
    for k, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 <= box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 <= box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in boxes[k + 1 :])


def test_seventy_thousand_samples_take_seconds(tmp_path):
    Y = np.zeros((70_000, 300), dtype=np.float32)
    Y[::3] = NAN
    start = time.perf_counter()
    plots.write(plots.plot_overview({"a": Y, "b": np.zeros((70_000, 784), dtype=np.uint8)}), tmp_path / "x.png")
    assert time.perf_counter() - start < 10  # about one; five are promised on a machine that is not busy

import time

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from scipy import sparse

from mvlvm import plots
from mvlvm.errors import ViewError
from mvlvm.plots.overview import MAX_LINES, as_matrices, block_shares, missing_entries, order_by_missing_views
from mvlvm.plots.style import MISSING, OBSERVED

ONES = np.ones((3, 4))
NAN = np.nan
# An 8-bit canvas rounds each channel; resampling lines of a fractional height in pixels adds a little more.
ROUNDING = 3 / 255


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("views", "message"),
    [
        ({}, "There is nothing to plot"),
        ({"a": ONES, "b": ONES[:2]}, "the same number of rows, one per sample. Got a: 3, b: 2."),
        ({"a": ONES[:0]}, "View 'a' must be a matrix with at least one row and one column. Got 0 x 4."),
        ({"a": ONES[:, :0]}, "Got 3 x 0."),
        ({"a": ONES[0]}, "Got 4."),
        ({"a": 3.0}, "Got a number."),
        ({"a": np.array([["x"]])}, "View 'a' must consist of numbers. Got <U1."),
        ({"a": np.array([[{}]])}, "View 'a' must consist of numbers. Got object."),
    ],
)
def test_invalid_views_raise_an_informative_error(views, message):
    for draw in (plots.plot_overview, lambda views: plots.plot_contact_sheet(views, dict.fromkeys(views, (2, 2)))):
        with pytest.raises(ViewError, match=message):
            draw(views)


def test_object_arrays_of_numbers_are_converted():
    Y = np.array([[1, None], [np.nan, 2.5]], dtype=object)
    assert plots.plot_overview({"a": Y}).axes[0].get_title() == "a\n50 % missing"
    np.testing.assert_array_equal(as_matrices({"a": Y})["a"], [[1, np.nan], [np.nan, 2.5]])


def test_sparse_views_are_not_copied():
    Y = sparse.csr_array(np.eye(2, dtype=np.uint8))
    assert as_matrices({"a": Y})["a"] is Y


@pytest.fixture
def views():
    """Return three views of six samples: b is missing in sample 1, a in samples 2 and 4, a and b in sample 5."""
    a, b = np.ones((6, 3)), np.ones((6, 2))
    a[[2, 4, 5]] = NAN
    b[[1, 5]] = NAN
    a[0, 2] = NAN
    return {"a": a, "b": b, "c": np.arange(6).reshape(6, 1)}


def colours_in(figure, panel, n_rows, n_columns):
    """Return the colours on the rendered canvas at the centre of every entry."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = np.asarray(canvas.buffer_rgba())[..., :3] / 255
    centres = [(c + 0.5, r + 0.5) for r in range(n_rows) for c in range(n_columns)]
    x, y = panel.transData.transform(centres).T
    return picture[(len(picture) - y).astype(int), x.astype(int)].reshape(n_rows, n_columns, 3)


def test_samples_are_grouped_by_missing_views_and_complete_ones_are_first(views):
    order = order_by_missing_views([missing_entries(Y) for Y in views.values()])
    assert order.tolist() == [0, 3, 1, 2, 4, 5]


def test_exactly_the_missing_entries_have_the_colour_of_missing_entries(views):
    figure = plots.plot_overview(views)
    order = [0, 3, 1, 2, 4, 5]
    for panel, Y in zip(figure.axes, views.values(), strict=True):
        drawn = colours_in(figure, panel, *Y.shape)
        expected = np.where(np.isnan(Y[order])[..., None], to_rgb(MISSING), to_rgb(OBSERVED))
        np.testing.assert_allclose(drawn, expected, atol=ROUNDING)


def test_every_pattern_of_missing_views_occupies_one_line_per_sample():
    rng = np.random.default_rng(0)
    missing = rng.random((90, 3)) < 0.4
    views = {f"view {k}": np.where(missing[:, [k]], NAN, np.ones((90, 4))) for k in range(3)}
    masks = [missing_entries(Y) for Y in views.values()]
    order = order_by_missing_views(masks)
    patterns = np.stack([block_shares(mask, order)[:, 0] for mask in masks], axis=1).astype(bool)
    changes = np.flatnonzero((patterns[1:] != patterns[:-1]).any(axis=1)) + 1
    heights = {tuple(block[0].tolist()): len(block) for block in np.split(patterns, changes)}
    expected = {tuple(p.tolist()): n for p, n in zip(*np.unique(missing, axis=0, return_counts=True), strict=True)}
    assert heights == expected
    assert len(changes) + 1 == len(expected)  # no pattern occurs twice


def test_large_masks_are_averaged_in_blocks_that_cover_all_entries():
    rng = np.random.default_rng(1)
    mask = rng.random((2503, 1301)) < 0.2
    shares = block_shares(mask, rng.permutation(2503))
    assert shares.shape == (MAX_LINES, MAX_LINES)
    # blocks have two or three rows and one or two columns: weighted by their size, they account for all entries
    rows, columns = (np.diff(np.arange(MAX_LINES + 1) * n // MAX_LINES) for n in mask.shape)
    assert rows @ shares @ columns == pytest.approx(mask.sum(), rel=1e-12)


def test_a_single_missing_entry_among_many_is_visible():
    mask = np.zeros((3000, 5), dtype=bool)
    mask[1501, 3] = True
    shares = block_shares(mask, np.arange(3000))
    assert np.argwhere(shares).tolist() == [[500, 3]]
    assert shares.max() == pytest.approx(1 / 3)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_and_dense_views_have_the_same_masks(views, form):
    Y = views["a"].copy()
    Y[0, 0] = 0
    order = order_by_missing_views([missing_entries(Y)])
    mask = missing_entries(sparse.csr_array(Y).asformat(form))
    assert sparse.issparse(mask)
    np.testing.assert_array_equal(order_by_missing_views([mask]), order)
    np.testing.assert_array_equal(block_shares(mask, order), np.isnan(Y[order]))


def test_a_sparse_view_is_not_modified():
    Y = sparse.csr_array(np.array([[1.0, NAN], [0.0, 2.0]]))
    missing_entries(Y)
    np.testing.assert_array_equal(Y.toarray(), [[1, NAN], [0, 2]])


def test_panels_are_labelled(views):
    figure = plots.plot_overview(views, title="all of it")
    assert [panel.get_title() for panel in figure.axes] == ["a\n56 % missing", "b\n33 % missing", "c\ncomplete"]
    assert [panel.get_xlabel() for panel in figure.axes] == ["3 columns", "2 columns", "1 column"]
    assert figure.axes[0].get_ylabel() == "samples, sorted by missing views"
    assert figure.get_suptitle() == "all of it"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["observed", "missing"]


def test_unsorted_samples_and_intermediate_colours_are_explained():
    Y = np.ones((3 * MAX_LINES, 2))
    Y[7] = [NAN, 1]
    figure = plots.plot_overview({"a": Y})
    assert figure.axes[0].get_ylabel() == "samples, in the order of the data"
    assert figure.axes[0].get_title() == "a\nunder 1 % missing"
    assert "missing in part" in [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("n_views", [1, 6])
def test_texts_and_legend_do_not_overlap_and_are_inside_the_figure(n_views):
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


def test_seventy_thousand_samples_are_plotted_within_seconds(tmp_path):
    Y = np.zeros((70_000, 300), dtype=np.float32)
    Y[::3] = NAN
    start = time.perf_counter()
    plots.write(plots.plot_overview({"a": Y, "b": np.zeros((70_000, 784), dtype=np.uint8)}), tmp_path / "x.png")
    assert time.perf_counter() - start < 10  # about 1 s; at most 5 s on an idle machine

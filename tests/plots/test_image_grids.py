import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.lib.stride_tricks import sliding_window_view
from scipy import sparse

from mvlvm import plots
from mvlvm.errors import ViewError
from mvlvm.plots.image_grids import MAX_CLASSES, image_pixels
from mvlvm.plots.style import MISSING
from tests.plots.figure_checks import assert_readable, drawn

RNG = np.random.default_rng(0)
SHAPE = (24, 20)  # as high as the smallest image that is not enlarged
IMAGES = np.random.default_rng(1).random((3, 40, 30))
IMAGES[0, 0, :2] = 0, 1


def sheet_of(figure):
    return np.asarray(figure.axes[0].images[0].get_array())


def position_of(image, sheet):
    """Return the upper left corner of the only occurrence of an image in a sheet."""
    windows = sliding_window_view(sheet, image.shape)[..., 0, :, :, :]
    (position,) = np.argwhere((np.abs(windows - image) < 1e-12).all(axis=(2, 3, 4)))
    return tuple(position.tolist())


def images(n, *, largest=255.0, shape=SHAPE):
    Y = RNG.integers(0, 256, size=(n, int(np.prod(shape)))) * (largest / 255)
    Y[0, :2] = 0, largest
    return Y


def grey(row, largest):
    return np.repeat(row.reshape(*SHAPE, 1) / largest, 3, axis=2)


@pytest.mark.parametrize("largest", [255.0, 16.0, 6.0, 1.0])
def test_every_class_has_a_row_and_intensities_range_from_zero_to_the_largest_value(largest):
    Y, labels = images(4, largest=largest), np.array([1, 0, 1, 0])
    figure = plots.plot_contact_sheet({"a": Y}, {"a": SHAPE}, labels=labels, label_names=("no", "yes"))
    positions = [position_of(grey(Y[k], largest), sheet_of(figure)) for k in range(4)]
    assert positions[1][0] == positions[3][0] == 0  # "no"
    assert positions[0][0] == positions[2][0] > SHAPE[0]  # "yes", below
    assert positions[1][1] == positions[0][1] == 0
    assert positions[3][1] == positions[2][1] > SHAPE[1]
    ticks = {text.get_text(): tick for text, tick in zip(*_ticks(figure), strict=True)}
    assert ticks == {"no": (SHAPE[0] - 1) / 2, "yes": positions[0][0] + (SHAPE[0] - 1) / 2}


def _ticks(figure):
    return figure.axes[0].get_yticklabels(), figure.axes[0].get_yticks()


def test_views_of_a_sample_are_adjacent_and_closer_than_the_next_sample():
    views = {"left": images(2), "right": images(2)}
    sheet = sheet_of(plots.plot_contact_sheet(views, dict.fromkeys(views, SHAPE), labels=np.zeros(2, dtype=np.int64)))
    (first, second_view), (next_sample, _) = (
        [position_of(grey(Y[k], 255), sheet)[1] for Y in views.values()] for k in range(2)
    )
    assert first < second_view < next_sample
    assert second_view - first < next_sample - second_view


def test_colour_images_keep_their_colours_next_to_smaller_grey_images():
    colour, small = images(1, shape=(32, 32, 3)), images(1)
    views = {"colour": colour, "grey": small}
    shapes = {"colour": (32, 32, 3), "grey": SHAPE}
    sheet = sheet_of(plots.plot_contact_sheet(views, shapes, labels=np.zeros(1, dtype=np.int64), label_names=("x",)))
    assert position_of(colour.reshape(32, 32, 3) / 255, sheet) == (0, 0)
    assert position_of(grey(small[0], 255), sheet)[0] == (32 - SHAPE[0]) // 2


def test_small_images_of_a_sheet_are_enlarged_by_whole_pixels():
    Y = RNG.random((1, 6))
    sheet = sheet_of(plots.plot_contact_sheet({"a": Y}, {"a": (2, 3)}))
    expected = (Y[0].reshape(2, 3) / Y.max()).repeat(12, axis=0).repeat(12, axis=1)
    np.testing.assert_allclose(sheet, np.repeat(expected[..., None], 3, axis=2))


def test_without_labels_images_are_in_the_order_of_the_data():
    Y = images(500)
    figure = plots.plot_contact_sheet({"a": Y}, {"a": SHAPE})
    sheet = sheet_of(figure)
    assert position_of(grey(Y[0], 255), sheet) == (0, 0)
    assert position_of(grey(Y[-1], 255), sheet) == (sheet.shape[0] - SHAPE[0], sheet.shape[1] - SHAPE[1])
    names, _ = _ticks(figure)
    numbers = [int(name.get_text()) for name in names]
    assert numbers[0] == 1
    assert numbers == sorted(numbers)
    for number, top in zip(numbers, _ticks(figure)[1], strict=True):
        assert position_of(grey(Y[number - 1], 255), sheet) == (top - (SHAPE[0] - 1) / 2, 0)


def test_missing_pixels_have_the_colour_of_missing_entries():
    Y = images(1)
    Y[0, 5] = np.nan
    pixels = image_pixels(Y, SHAPE, np.array([0]))[0]
    np.testing.assert_allclose(pixels[0, 5], to_rgb(MISSING))
    np.testing.assert_allclose(pixels[0, 6], Y[0, 6] / 255)


@pytest.mark.parametrize("sign", [1, -1])
def test_sparse_and_dense_images_are_drawn_identically(sign):
    Y = sign * images(3) * (RNG.random((3, 480)) < 0.3)
    rows = np.array([2, 0])
    np.testing.assert_allclose(image_pixels(sparse.csr_array(Y), SHAPE, rows), image_pixels(Y, SHAPE, rows))


def test_negative_values_are_darker_than_zero_and_a_constant_zero_view_is_black():
    pixels = image_pixels(np.array([[-1.0, 0.0, 3.0, 1.0]]), (2, 2), np.array([0]))
    np.testing.assert_allclose(pixels[0, ..., 0], [[0, 0.25], [1, 0.5]])
    assert image_pixels(np.zeros((1, 4)), (2, 2), np.array([0])).max() == 0


def test_unknown_class_is_last_empty_classes_are_omitted_and_the_number_of_classes_is_limited():
    labels = np.append(np.arange(40).repeat(2), -1)
    labels[labels == 3] = 4
    figure = plots.plot_contact_sheet({"a": images(81)}, {"a": SHAPE}, labels=labels)
    names = [text.get_text() for text in _ticks(figure)[0]]
    assert names == [*(str(k) for k in range(MAX_CLASSES + 1) if k != 3), "unknown"]


def test_axes_and_title_are_labelled():
    views = {"left": images(2), "right": images(2), "words": np.ones((2, 7))}
    shapes = {"left": SHAPE, "right": SHAPE}
    panel = plots.plot_contact_sheet(views, shapes, labels=np.array([0, 1]), title="digits").axes[0]
    assert panel.get_xlabel() == "views of a sample, from left to right: left, right"
    assert panel.get_ylabel() == "class"
    assert panel.get_title() == "digits"


def test_images_with_two_channels_raise_an_informative_error():
    with pytest.raises(ValueError, match=r"must have 1 or 3 channels. Got shape \(2, 2, 2\)"):
        image_pixels(np.ones((1, 8)), (2, 2, 2), np.array([0]))


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shapes": {}}, "There is nothing to plot"),
        (
            {"shapes": {"a": (2, 2), "b": (2, 2)}},
            "The keys of shapes must be names of views. Got 'b'; the views are: a.",
        ),
        ({"shapes": {"a": (2, 3)}}, r"View 'a' has 4 columns, which is not the size of an image of shape \(2, 3\)."),
        ({"shapes": {"a": (4,)}}, r"not the size of an image of shape \(4,\)"),
        ({"labels": np.zeros(2, int)}, "one entry per sample. Got 2 for 3 samples."),
        ({"labels": np.arange(3), "label_names": ["x", "y"]}, "one name per class. Got 2 names, but the label 2."),
    ],
)
def test_inconsistent_arguments_of_a_sheet_raise_an_informative_error(change, message):
    with pytest.raises(ViewError, match=message):
        plots.plot_contact_sheet(**({"views": {"a": np.ones((3, 4))}, "shapes": {"a": (2, 2)}} | change))


def rows_sheet(figure):
    return np.asarray(drawn(figure)[0].images[0].get_array())


def cut_out(sheet, row, column, shape=(40, 30)):
    """Return the image in a row and column; images are separated by white space of 6 % of their height."""
    space = round(0.06 * shape[0])
    top, left = row * (shape[0] + space), column * (shape[1] + space)
    return sheet[top : top + shape[0], left : left + shape[1]]


def test_images_are_in_their_rows_with_white_space_between_them():
    sheet = rows_sheet(plots.plot_image_rows({"original": IMAGES, "rebuilt": IMAGES[:2] / 2}))
    for k in range(3):
        np.testing.assert_allclose(cut_out(sheet, 0, k), np.repeat(IMAGES[k][..., None], 3, axis=2))
    np.testing.assert_allclose(cut_out(sheet, 1, 1)[..., 0], IMAGES[1] / 2)
    assert (cut_out(sheet, 1, 2) == 1).all()
    assert (sheet[40:42] == 1).all()
    assert sheet.shape == (82, 94, 3)


def test_intensity_limits_are_those_of_the_first_row_and_other_values_are_clipped():
    sheet = rows_sheet(plots.plot_image_rows({"original": 4 * IMAGES - 1, "rebuilt": 12 * IMAGES - 3}))
    np.testing.assert_allclose(cut_out(sheet, 0, 0)[..., 0], IMAGES[0])
    np.testing.assert_allclose(cut_out(sheet, 1, 0)[..., 0], np.clip(3 * IMAGES[0] - 0.5, 0, 1))


def test_explicit_limits_apply_to_colour_images():
    colours = RNG.random((2, 40, 30, 3))
    sheet = rows_sheet(plots.plot_image_rows({"a": colours}, limits=(-1, 1)))
    np.testing.assert_allclose(cut_out(sheet, 0, 1), (colours[1] + 1) / 2)


def test_missing_pixels_are_highlighted_and_explained_in_the_legend():
    incomplete, mask = IMAGES.copy(), np.zeros(IMAGES.shape, dtype=bool)
    incomplete[1, 5, 6], mask[2, 7, 8] = np.nan, True
    figure = plots.plot_image_rows({"original": IMAGES, "incomplete": incomplete}, hidden={"incomplete": mask})
    sheet = rows_sheet(figure)
    highlighted = (sheet == to_rgb(MISSING)).all(axis=-1)
    assert highlighted.sum() == 2
    np.testing.assert_array_equal(cut_out(sheet, 1, 1)[5, 6], to_rgb(MISSING))
    np.testing.assert_array_equal(cut_out(sheet, 1, 2)[7, 8], to_rgb(MISSING))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["missing"]
    assert not plots.plot_image_rows({"original": IMAGES}).legends


def test_small_images_of_a_row_are_enlarged_without_blur():
    sheet = rows_sheet(plots.plot_image_rows({"a": np.arange(16.0).reshape(1, 4, 4)}))
    np.testing.assert_array_equal(sheet, sheet[::8, ::8].repeat(8, axis=0).repeat(8, axis=1))
    np.testing.assert_allclose(sheet[::8, ::8, 0], np.arange(16).reshape(4, 4) / 15)


def test_rows_and_columns_are_labelled_at_their_centres_and_ours_is_bold():
    figure = plots.plot_image_rows({"original": IMAGES, "NG-MVLVM": IMAGES}, headings=["0", "45", "90"], title="Turned")
    (panel,) = drawn(figure)
    rows = {label.get_text(): tick for label, tick in zip(panel.get_yticklabels(), panel.get_yticks(), strict=True)}
    columns = {label.get_text(): tick for label, tick in zip(panel.get_xticklabels(), panel.get_xticks(), strict=True)}
    assert rows == {"original": 19.5, "NG-MVLVM": 61.5}
    assert columns == {"0": 14.5, "45": 46.5, "90": 78.5}
    assert [label.get_fontweight() for label in panel.get_yticklabels()] == ["normal", "bold"]
    assert panel.get_title() == "Turned"


@pytest.mark.parametrize("n_images", [1, 3, 20])
@pytest.mark.parametrize("heading", [None, "45 degrees", "extraordinarily long words"])
def test_rows_are_readable_and_pixels_are_square(n_images, heading):
    images = RNG.random((n_images, 28, 20))
    images[0, 0, 0] = np.nan
    figure = plots.plot_image_rows(
        {"original": images, "linear discriminant analysis, rebuilt": images},
        headings=None if heading is None else [heading] * n_images, title="A title " * 8,
    )  # fmt: skip
    assert_readable(figure)
    (panel,) = drawn(figure)
    box, (height, width, _) = panel.get_window_extent(), panel.images[0].get_array().shape
    assert box.width / width == pytest.approx(box.height / height, rel=0.02)
    shown = {label.get_text().replace("\n", " ") for label in panel.get_xticklabels()}
    assert shown == (set() if heading is None else {heading})  # words are not split


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ({}, {}, "no images were given"),
        ({"a": np.ones((2, 9))}, {}, r"Row 'a' must be images of shape \(K, height, width\).*\(2, 9\)"),
        ({"a": np.ones((2, 3, 3, 2))}, {}, r"Row 'a' must be images.*\(2, 3, 3, 2\)"),
        ({"a": np.ones((1, 3, 3)), "b": np.ones((1, 3, 4))}, {}, "same height and width. Got a: 3 x 3, b: 3 x 4"),
        ({"a": np.ones((2, 3, 3))}, {"headings": ["x"]}, "headings must have one entry per column, 2. Got 1"),
        (
            {"a": np.ones((2, 3, 3))},
            {"hidden": {"b": None}},
            "The keys of hidden must be names of rows. Got 'b'; the rows are: a",
        ),
        (
            {"a": np.ones((2, 3, 3))},
            {"hidden": {"a": np.ones(3, dtype=bool)}},
            r"of shape \(2, 3, 3\). Got bool of shape",
        ),
        ({"a": np.ones((2, 3, 3))}, {"limits": (1, 1)}, "limits must be two increasing numbers, .* Got 1 and 1"),
    ],
    ids=["none", "flat", "channels", "sizes", "headings", "unknown row", "mask", "limits"],
)
def test_invalid_rows_raise_an_informative_error(rows, options, message):
    with pytest.raises(ViewError, match=message):
        plots.plot_image_rows(rows, **options)

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from mvlvm import plots
from mvlvm.errors import ViewError
from mvlvm.plots.style import MISSING
from tests.plots.reading import assert_readable, drawn

RNG = np.random.default_rng(0)
IMAGES = RNG.random((3, 40, 30))
IMAGES[0, 0, :2] = 0, 1


def sheet_of(figure):
    return np.asarray(drawn(figure)[0].images[0].get_array())


def cut_out(sheet, row, column, shape=(40, 30)):
    """The image at a place; gaps are six hundredths of the height, in white."""
    gap = round(0.06 * shape[0])
    top, left = row * (shape[0] + gap), column * (shape[1] + gap)
    return sheet[top : top + shape[0], left : left + shape[1]]


def test_images_stand_in_their_rows_with_white_between_them():
    sheet = sheet_of(plots.plot_image_rows({"original": IMAGES, "rebuilt": IMAGES[:2] / 2}))
    for k in range(3):
        np.testing.assert_allclose(cut_out(sheet, 0, k), np.repeat(IMAGES[k][..., None], 3, axis=2))
    np.testing.assert_allclose(cut_out(sheet, 1, 1)[..., 0], IMAGES[1] / 2)
    assert (cut_out(sheet, 1, 2) == 1).all()
    assert (sheet[40:42] == 1).all()
    assert sheet.shape == (82, 94, 3)


def test_black_and_white_are_those_of_the_first_row_and_others_are_cut_off():
    sheet = sheet_of(plots.plot_image_rows({"original": 4 * IMAGES - 1, "rebuilt": 12 * IMAGES - 3}))
    np.testing.assert_allclose(cut_out(sheet, 0, 0)[..., 0], IMAGES[0])
    np.testing.assert_allclose(cut_out(sheet, 1, 0)[..., 0], np.clip(3 * IMAGES[0] - 0.5, 0, 1))


def test_limits_may_be_given_and_colours_are_shown():
    colours = RNG.random((2, 40, 30, 3))
    sheet = sheet_of(plots.plot_image_rows({"a": colours}, limits=(-1, 1)))
    np.testing.assert_allclose(cut_out(sheet, 0, 1), (colours[1] + 1) / 2)


def test_hidden_pixels_have_the_colour_of_what_is_missing_and_the_legend_says_so():
    gaps, mask = IMAGES.copy(), np.zeros(IMAGES.shape, dtype=bool)
    gaps[1, 5, 6], mask[2, 7, 8] = np.nan, True
    figure = plots.plot_image_rows({"original": IMAGES, "with gaps": gaps}, hidden={"with gaps": mask})
    sheet = sheet_of(figure)
    hidden = (sheet == to_rgb(MISSING)).all(axis=-1)
    assert hidden.sum() == 2
    np.testing.assert_array_equal(cut_out(sheet, 1, 1)[5, 6], to_rgb(MISSING))
    np.testing.assert_array_equal(cut_out(sheet, 1, 2)[7, 8], to_rgb(MISSING))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["hidden"]
    assert not plots.plot_image_rows({"original": IMAGES}).legends


def test_small_images_are_enlarged_without_blur():
    sheet = sheet_of(plots.plot_image_rows({"a": np.arange(16.0).reshape(1, 4, 4)}))
    np.testing.assert_array_equal(sheet, sheet[::8, ::8].repeat(8, axis=0).repeat(8, axis=1))
    np.testing.assert_allclose(sheet[::8, ::8, 0], np.arange(16).reshape(4, 4) / 15)


def test_rows_and_columns_are_named_at_their_middles_and_ours_is_bold():
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
def test_all_can_be_read_and_pixels_are_square(n_images, heading):
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
    assert shown == (set() if heading is None else {heading})  # no word is broken


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ({}, {}, "no images were given"),
        ({"a": np.ones((2, 9))}, {}, r"Row 'a' must be images of shape \(K, height, width\).*\(2, 9\)"),
        ({"a": np.ones((2, 3, 3, 2))}, {}, r"Row 'a' must be images.*\(2, 3, 3, 2\)"),
        ({"a": np.ones((1, 3, 3)), "b": np.ones((1, 3, 4))}, {}, "same height and width. Got a: 3 x 3, b: 3 x 4"),
        ({"a": np.ones((2, 3, 3))}, {"headings": ["x"]}, "a heading for every column, 2. Got 1"),
        ({"a": np.ones((2, 3, 3))}, {"hidden": {"b": None}}, "hidden must name rows. Got 'b'; the rows are: a"),
        (
            {"a": np.ones((2, 3, 3))},
            {"hidden": {"a": np.ones(3, dtype=bool)}},
            r"of shape \(2, 3, 3\). Got bool of shape",
        ),
        ({"a": np.ones((2, 3, 3))}, {"limits": (1, 1)}, "limits must be two numbers, black below white. Got 1 and 1"),
    ],
    ids=["none", "flat", "channels", "sizes", "headings", "stranger", "mask", "limits"],
)
def test_what_are_no_images_is_refused_in_a_sentence(rows, options, message):
    with pytest.raises(ViewError, match=message):
        plots.plot_image_rows(rows, **options)

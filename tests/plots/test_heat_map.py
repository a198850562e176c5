import numpy as np
import pytest
from matplotlib.colors import to_rgb

from mvlvm import plots
from mvlvm.errors import ViewError
from tests.plots.figure_checks import assert_readable, drawn

RNG = np.random.default_rng(0)
VALUES = RNG.random((4, 6))
VALUES[2, 3] = np.nan
ROWS, COLUMNS = [1, 2, 5, "a row with a long name"], [10, 20, 50, 100, "spectral points", 500]


def contrast(one, other):
    """Return the contrast ratio of two colours as defined by WCAG 2, from 1 to 21."""

    def luminance(colour):
        rgb = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.fixture
def figure():
    return plots.plot_heat_map(VALUES, ROWS, COLUMNS, label="R² of the latents", names=("mixtures, Q", "points, L/2"))


def test_cells_contain_their_values_and_missing_ones_a_dash(figure):
    (panel,) = drawn(figure)
    written = {tuple(map(round, text.get_position())): text.get_text() for text in panel.texts}
    assert written == {(c, r): "–" if np.isnan(v) else f"{v:.2f}" for (r, c), v in np.ndenumerate(VALUES)}  # noqa: RUF001
    assert [label.get_text().replace("\n", " ") for label in panel.get_xticklabels()] == list(map(str, COLUMNS))
    assert [label.get_text() for label in panel.get_yticklabels()] == list(map(str, ROWS))
    assert (panel.get_ylabel(), panel.get_xlabel()) == ("mixtures, Q", "points, L/2")
    np.testing.assert_array_equal(panel.images[0].get_array().filled(np.nan), VALUES)


def test_text_has_the_contrast_required_by_wcag_on_every_shade():
    shades = np.linspace(0, 1, 60).reshape(6, 10)
    (panel,) = drawn(plots.plot_heat_map(shades, range(6), range(10), label="R²"))
    image = panel.images[0]
    for text in panel.texts:
        c, r = map(round, text.get_position())
        assert contrast(image.cmap(image.norm(shades[r, c])), text.get_color()) >= 4.5


def test_the_colour_bar_is_labelled_and_spans_all_values(figure):
    drawn(figure)
    (bar,) = [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]
    assert bar.get_ylabel() == "R² of the latents"
    assert bar.get_ylim() == pytest.approx((np.nanmin(VALUES), np.nanmax(VALUES)))


@pytest.mark.parametrize("std", [None, 0.1 * VALUES])
@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("size", [(1, 1), (1, 6), (4, 1), (4, 6)])
def test_heat_maps_are_readable_and_numbers_fit_into_their_cells(size, log, std):
    some = tuple(slice(n) for n in size)
    figure = plots.plot_heat_map(
        10 ** (5 * VALUES[some]), ROWS[: size[0]], COLUMNS[: size[1]], label="wall time of a whole fit (s)",
        digits=",.1f", log=log, std=None if std is None else std[some],
    )  # fmt: skip
    assert_readable(figure)
    (panel,) = drawn(figure)
    box = panel.get_window_extent()
    for text in panel.texts:
        assert text.get_window_extent().width < box.width / size[1]
        assert text.get_window_extent().height < box.height / size[0]


def test_standard_deviations_are_written_below_values_and_the_colour_scale_can_be_logarithmic():
    figure = plots.plot_heat_map([[1.0, 10.0, 100.0]], ["a"], "bcd", label="s", std=[[0.1, 2.0, np.nan]], log=True)
    (panel,) = drawn(figure)
    assert [text.get_text() for text in panel.texts] == ["1.00\n± 0.10", "10.00\n± 2.00", "100.00"]
    np.testing.assert_allclose(panel.images[0].norm([1.0, 10.0, 100.0]), [0, 0.5, 1])


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (
            np.ones((2, 3)),
            {},
            r"values must have a row for each of 2 names and a column for each of 2. Got shape \(2, 3",
        ),
        (np.ones(4), {}, r"Got shape \(4,\)"),
        ("high", {}, "values must be a matrix of numbers. Got str"),
        (np.full((2, 2), np.nan), {}, "values must contain at least one number, and no infinity"),
        (np.full((2, 2), np.inf), {}, "values must contain at least one number, and no infinity"),
        (np.zeros((2, 2)), {"log": True}, "values must be positive if log is True. Got 0"),
        (np.ones((2, 2)), {"std": np.ones(2)}, r"std must have a row for each of 2 names.*Got shape \(2,\)"),
    ],
    ids=["wide", "vector", "text", "nan", "inf", "log", "std"],
)
def test_invalid_matrices_raise_an_informative_error(values, options, message):
    with pytest.raises(ViewError, match=message):
        plots.plot_heat_map(values, ["a", "b"], ["c", "d"], label="R²", **options)

import numpy as np
import pytest

from mvlvm import plots
from mvlvm.errors import ViewError
from tests.plots.figure_checks import assert_readable, drawn

RNG = np.random.default_rng(0)
SOURCES = ["truth", "NG-MVLVM", "linear discriminant analysis of views"]
LATENTS = {source: RNG.normal(size=(20, 2)) * (1 + k) for k, source in enumerate(SOURCES)}
GRAMS = {source: {view: RNG.random((20, 20)) for view in ("RBF", "Gibbs")} for source in SOURCES[:2]}
SCORES = {"r2": {"NG-MVLVM": 0.98765}, "correlations": {"NG-MVLVM": {"RBF": 1, "Gibbs": 0.85}}}


@pytest.fixture
def figure():
    return plots.plot_toy_comparison(LATENTS, GRAMS, position=np.arange(20.0), **SCORES)


def test_every_source_has_a_row_with_its_latents_and_matrices(figure):
    panels = drawn(figure)
    assert [panel.get_ylabel().replace("\n", " ") for panel in panels[::3]] == SOURCES
    for source, panel in zip(SOURCES, panels[::3], strict=True):
        np.testing.assert_array_equal(panel.collections[0].get_offsets(), LATENTS[source])
        np.testing.assert_array_equal(panel.collections[0].get_array(), np.arange(20))
    for k, source in enumerate(SOURCES[:2]):
        for panel, view in zip(panels[3 * k + 1 : 3 * k + 3], ("RBF", "Gibbs"), strict=True):
            np.testing.assert_array_equal(panel.images[0].get_array(), GRAMS[source][view])
    assert [[text.get_text() for text in panel.texts] for panel in panels[7:]] == [["–"], ["–"]]  # noqa: RUF001


def test_titles_contain_the_quantity_and_its_score(figure):
    titles = [panel.get_title() for panel in drawn(figure)]
    assert titles[:3] == ["latents", "kernel matrix, RBF", "kernel matrix, Gibbs"]
    assert titles[3:6] == ["R² 0.988", "correlation 1.000", "correlation 0.850"]
    assert titles[6:] == ["", "", ""]


def test_latents_share_limits_that_contain_all_points(figure):
    boxes = [(*panel.get_xlim(), *panel.get_ylim()) for panel in drawn(figure)[::3]]
    assert len(set(boxes)) == 1
    left, right, bottom, top = boxes[0]
    together = np.concatenate(list(LATENTS.values()))
    assert left < together[:, 0].min() < together[:, 0].max() < right
    assert bottom < together[:, 1].min() < together[:, 1].max() < top


def test_every_matrix_has_its_own_colour_scale_as_stated_at_the_colour_bar(figure):
    images = [panel.images[0] for panel in drawn(figure) if panel.images]
    for image in images:
        assert image.get_clim() == (image.get_array().min(), image.get_array().max())
    (bar,) = [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]
    assert [label.get_text() for label in bar.get_xticklabels()] == ["smallest", "largest"]
    assert "each matrix" in bar.get_xlabel()


@pytest.mark.parametrize("grams", [GRAMS, {}, {"truth": {"a view with a name that is quite long": np.eye(20)}}])
def test_comparisons_are_readable(grams):
    figure = plots.plot_toy_comparison(LATENTS, grams, **SCORES)
    assert_readable(figure)
    panels = drawn(figure)
    for panel in panels:
        assert panel.title.get_window_extent().width < 1.15 * panel.get_window_extent().width
    for panel, above in zip(panels[len(panels) // 3 :], panels, strict=False):
        assert not panel.title.get_window_extent().overlaps(above.get_window_extent())


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("latents", "grams", "position", "message"),
    [
        ({}, {}, None, "no latents were given"),
        ({"truth": np.ones((4, 3))}, {}, None, r"Latents of 'truth' must be finite numbers in two columns.*\(4, 3\)"),
        ({"truth": np.full((4, 2), np.nan)}, {}, None, "must be finite numbers"),
        (
            {"truth": np.ones((4, 2))},
            {"truth": {"a": np.eye(3)}},
            None,
            r"'truth' for 'a'.* \(4, 4\). Got shape \(3, 3\)",
        ),
        ({"truth": np.ones((4, 2))}, {}, np.ones(3), r"Got shape \(3,\) for 4 latents of 'truth'"),
    ],
    ids=["none", "three columns", "nan", "matrix", "position"],
)
def test_inconsistent_arguments_raise_an_informative_error(latents, grams, position, message):
    with pytest.raises(ViewError, match=message):
        plots.plot_toy_comparison(latents, grams, position=position)

import numpy as np
import pytest

from mvlvm import plots
from mvlvm.errors import ViewError
from tests.plots.figure_checks import assert_readable, drawn

RNG = np.random.default_rng(0)
ROWS = ["NG-MVLVM", "MV-ARFLVM", "linear discriminant analysis"]
COLUMNS = ["R-MNIST", "20 NEWSGROUPS, short texts", "YALE"]
SIZES = dict(zip(COLUMNS, (40, 30, 45), strict=True))
LATENTS = {row: {column: RNG.normal(size=(SIZES[column], 2)) for column in COLUMNS} for row in ROWS}
CLASSES = {column: np.arange(n) % 15 for column, n in SIZES.items()}


def points_of(panel):
    return np.concatenate([np.asarray(some.get_offsets()) for some in panel.collections])


def colours_of(panel):
    """Return position -> colour and marker shape of the point."""
    return {
        tuple(position): (tuple(colour), some.get_paths()[0].vertices.tobytes())
        for some in panel.collections
        for position, colour in zip(some.get_offsets().tolist(), some.get_facecolors().tolist(), strict=True)
    }


def test_every_panel_shows_the_latents_of_its_row_and_column_without_ticks():
    panels = drawn(plots.plot_latent_gallery(LATENTS, CLASSES))
    expected = [LATENTS[row][column] for row in ROWS for column in COLUMNS]
    for panel, X in zip(panels, expected, strict=True):
        assert {tuple(x) for x in points_of(panel).tolist()} == {tuple(x) for x in X.tolist()}
        assert not len(panel.get_xticks())
        assert not len(panel.get_yticks())


def test_rows_and_columns_are_labelled_once_and_ours_is_bold():
    panels = drawn(plots.plot_latent_gallery(LATENTS, CLASSES))
    assert [panel.get_title().replace("\n", " ") for panel in panels] == [*COLUMNS, *[""] * 6]
    assert [panel.get_ylabel().replace("\n", " ") for panel in panels[::3]] == ROWS
    assert {panel.get_ylabel() for k, panel in enumerate(panels) if k % 3} == {""}
    assert [panel.yaxis.label.get_fontweight() for panel in panels[::3]] == ["bold", "normal", "normal"]


def test_a_class_has_the_same_unique_style_in_all_panels():
    panels = drawn(plots.plot_latent_gallery(LATENTS, CLASSES))
    styles = {}
    for panel, (row, column) in zip(panels, ((r, c) for r in ROWS for c in COLUMNS), strict=True):
        observed = colours_of(panel)
        for x, k in zip(LATENTS[row][column].tolist(), CLASSES[column], strict=True):
            styles.setdefault(int(k), set()).add(observed[tuple(x)])
    assert {len(some) for some in styles.values()} == {1}
    assert len(set.union(*styles.values())) == 15


def test_one_legend_contains_all_classes_in_their_colours():
    figure = plots.plot_latent_gallery(
        {"PCA": {"a": np.eye(2), "b": 2 * np.eye(2)}}, {"a": np.array([0, 1]), "b": np.array([2, 1])},
        label="digit", label_names=["zero", "one", "two"],
    )  # fmt: skip
    left, right = drawn(figure)
    (legend,) = figure.legends
    assert legend.get_title().get_text() == "digit"
    named = {
        text.get_text(): tuple(handle.get_color())
        for text, handle in zip(legend.get_texts(), legend.legend_handles, strict=True)
    }
    assert named == {
        "zero": colours_of(left)[1.0, 0.0][0],
        "one": colours_of(left)[0.0, 1.0][0],
        "two": colours_of(right)[2.0, 0.0][0],
    }


def test_continuous_values_share_one_colour_scale_in_all_panels():
    latents = {"Q = 1": {"a": np.eye(2), "b": np.eye(2)}}
    figure = plots.plot_latent_gallery(latents, {"a": np.array([0.0, 1.0]), "b": np.array([4.0, 1.0])}, label="angle")
    left, right = drawn(figure)
    assert not figure.legends
    (bar,) = [axes for axes in figure.axes if axes.get_label() == "<colorbar>"]
    assert bar.get_xlabel() == "angle"
    assert bar.get_xlim() == (0, 4)
    assert colours_of(left)[0.0, 1.0] == colours_of(right)[0.0, 1.0]
    assert colours_of(left)[1.0, 0.0] != colours_of(right)[1.0, 0.0]


def test_missing_latents_are_a_dash_and_notes_are_below_the_panel():
    latents = {"PCA": {"a": np.eye(2), "b": np.eye(2)}, "MOFA": {"a": np.eye(2)}}
    panels = drawn(plots.plot_latent_gallery(latents, np.array([0, 1]), notes={"PCA": {"b": "91.2 %"}}))
    assert [[text.get_text() for text in panel.texts] for panel in panels] == [[], [], [], ["–"]]  # noqa: RUF001
    assert [panel.get_xlabel() for panel in panels] == ["", "91.2 %", "", ""]


@pytest.mark.parametrize("n_columns", [1, 2, 5, 8])
@pytest.mark.parametrize("kind", ["classes", "scale"])
def test_large_and_small_galleries_are_readable(n_columns, kind):
    X = RNG.normal(size=(60, 2))
    columns = [f"data set {k} of short texts" for k in range(n_columns)]
    notes = {row: dict.fromkeys(columns, "R² 0.913") for row in ROWS}
    colours = np.arange(60) % 15 if kind == "classes" else np.linspace(0, 1, 60)
    figure = plots.plot_latent_gallery(
        {row: dict.fromkeys(columns, X) for row in ROWS}, colours, label="position along the curve", notes=notes
    )
    assert_readable(figure)
    panels = drawn(figure)
    for panel in panels:
        box = panel.get_window_extent()
        assert 0.7 < box.width / box.height < 1.4
        assert panel.title.get_window_extent().width < 1.15 * box.width
        assert panel.yaxis.label.get_window_extent().height < 1.1 * box.height


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("latents", "colours", "names", "message"),
    [
        ({}, np.arange(2), None, "no latents were given"),
        ({"r": {"c": np.ones((2, 3))}}, np.arange(2), None, r"'r' for 'c' must be numbers in two columns.*\(2, 3\)"),
        ({"r": {"c": np.ones((3, 2))}}, np.arange(2), None, "one row per colour. Got 3 rows and 2 colours"),
        ({"r": {"c": np.eye(2)}}, {"d": np.arange(2)}, None, "an array for every column. Got none for 'c'"),
        ({"r": {"c": np.eye(2)}}, np.array(["x", "y"]), None, "colours of 'c' must be one number per sample"),
        ({"r": {"c": np.eye(2)}}, np.array([-1, 0]), None, "numbered from zero.*Got -1 to 0"),
        ({"r": {"c": np.eye(2)}}, np.array([0, 3]), ["x", "y"], "a name in label_names. Got 0 to 3 for 2 names"),
    ],
    ids=["none", "three columns", "lengths", "column", "text", "negative", "names"],
)
def test_inconsistent_arguments_raise_an_informative_error(latents, colours, names, message):
    with pytest.raises(ViewError, match=message):
        plots.plot_latent_gallery(latents, colours, label_names=names)

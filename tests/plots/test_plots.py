import numpy as np
import pytest
from matplotlib.collections import EllipseCollection, PathCollection
from matplotlib.colors import to_rgba

from mvlvm import plots

RNG = np.random.default_rng(0)
# more classes than the palette has colours
X, ANGLE, LABELS = RNG.normal(size=(30, 2)), np.linspace(-1, 1, 30), np.arange(30) % 12


@pytest.fixture
def figures():
    history = {"elbo": np.linspace(-5000, 100, 50), "seconds": np.linspace(0, 1, 50)}
    K = {"a": np.eye(30), "b": np.ones((30, 30))}
    return {
        "curve": plots.plot_latents_along_curve({"true": X, "learned": -X}, ANGLE, "angle"),
        "labels": plots.plot_labelled_latents(X, np.full_like(X, 0.1), LABELS, title="digits"),
        "kernels": plots.plot_kernels(K, K),
        "bounds": plots.plot_bounds({"one": history, "two": history}),
    }


def test_every_panel_has_a_title_and_axis_labels(figures):
    for figure in figures.values():
        panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
        assert panels
        for panel in panels:
            assert panel.get_title()
            assert panel.get_xlabel()
            assert panel.get_ylabel()


def test_points_are_at_the_latents(figures):
    left, right = figures["curve"].axes[:2]
    np.testing.assert_allclose(left.collections[0].get_offsets(), X)
    np.testing.assert_allclose(right.collections[0].get_offsets(), -X)


def test_ellipses_are_one_standard_deviation_in_each_direction():
    figure = plots.plot_labelled_latents(X, np.tile([0.1, 0.3], (30, 1)), LABELS, title="t")
    (ellipses,) = [c for c in figure.axes[0].collections if isinstance(c, EllipseCollection)]
    np.testing.assert_allclose(ellipses.get_widths(), 0.2)
    np.testing.assert_allclose(ellipses.get_heights(), 0.6)


def test_a_label_has_the_same_colour_in_the_legend_and_the_plot(figures):
    figure = figures["labels"]
    drawn = [part for part in figure.axes[0].collections if isinstance(part, PathCollection)]
    places = np.concatenate([part.get_offsets() for part in drawn])
    colours = np.concatenate([part.get_facecolors() for part in drawn])
    for handle, label in zip(figure.legends[0].legend_handles, range(12), strict=True):
        (place,) = np.flatnonzero((places == X[list(LABELS).index(label)]).all(axis=1))
        np.testing.assert_allclose(to_rgba(handle.get_color()), colours[place])


def test_a_figure_is_saved_as_png(figures, tmp_path):
    path = plots.write(figures["bounds"], tmp_path / "bounds.png")
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("trimmed", [False, True])
def test_saving_a_figure_is_deterministic(tmp_path, ending, trimmed, monkeypatch):
    def saved(name, seconds):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", seconds)  # the date that matplotlib writes into files
        figure = plots.plot_curves({"a": tuple(np.arange(3.0) for _ in range(3))}, x="rows", y="seconds")
        return plots.write(figure, tmp_path / f"{name}.{ending}", trimmed=trimmed).read_bytes()

    assert saved("first", "1000000000") == saved("second", "1100000000")

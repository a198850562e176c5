"""Plots of latents with any labels, and figures as methods of the estimators."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import EllipseCollection, PathCollection
from matplotlib.figure import Figure

from mvlvm import NGMVLVM, ViewError
from mvlvm.plots import plot_embedding, write
from mvlvm.plots.embedding import MAX_CLASSES, as_colouring

rng = np.random.default_rng(0)


def points(axes):
    """Return the number of points that are drawn in axes."""
    return sum(len(part.get_offsets()) for part in axes.collections if isinstance(part, PathCollection))


def legend_texts(axes):
    return [text.get_text() for text in axes.figure.legends[0].get_texts()]


@pytest.fixture(scope="module")
def fitted():
    X = rng.normal(size=(60, 3))
    views = {name: np.sin(X @ rng.normal(size=(3, 6))) for name in ("left", "right")}
    return NGMVLVM(n_components=3, max_iter=20, tol=0.0, n_points=5, n_draws_predict=1, random_state=0).fit(views)


COLORS = {
    "nothing": None,
    "text": lambda n: rng.choice(["Basal", "Her2", "LumA"], n),
    "many classes": lambda n: [f"type {i % 25}" for i in range(n)],
    "booleans": lambda n: rng.random(n) < 0.5,
    "integers": lambda n: rng.integers(-1, 8, n),
    "categories": lambda n: pd.Categorical(rng.choice(["low", "high"], n), categories=["low", "middle", "high"]),
    "values": lambda n: rng.normal(size=n),
    "missing classes": lambda n: ["", None, "a", float("nan"), "b"] * (n // 5),
    "missing values": lambda n: np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
    "nothing known": lambda n: np.full(n, np.nan),
    "one value": lambda n: np.full(n, 0.25),
}


@pytest.mark.parametrize("D", [1, 2, 3, 10])
@pytest.mark.parametrize("color", COLORS)
def test_any_labels_are_drawn_in_any_dimension(color, D, tmp_path):
    mean = rng.normal(size=(50, D))
    axes = plot_embedding(mean, COLORS[color] and COLORS[color](50), std=np.full_like(mean, 0.2), label="kind")
    panels = axes if isinstance(axes, list) else [axes]
    assert len(panels) == {1: 1, 2: 1, 3: 3, 10: 5}[D]
    for panel in panels:
        assert points(panel) == 50
        assert any(isinstance(part, EllipseCollection) for part in panel.collections)
    assert write(panels[0].figure, tmp_path / "figure.png").stat().st_size > 1000


def test_many_rows_are_drawn_without_ellipses():
    axes = plot_embedding(rng.normal(size=(20_000, 2)), rng.integers(0, 4, 20_000), std=np.ones((20_000, 2)))
    assert points(axes) == 20_000
    assert not any(isinstance(part, EllipseCollection) for part in axes.collections)


def test_classes_have_names_and_different_looks():
    colouring = as_colouring([f"type {i % 25}" for i in range(100)], 100)
    assert list(colouring.handles) == [f"type {i}" for i in range(25)]
    looks = {(tuple(colour), marker) for colour, marker in zip(colouring.colours, colouring.marker, strict=True)}
    assert len(looks) == 25
    looks = {(handle.get_color(), handle.get_marker()) for handle in colouring.handles.values()}
    assert len(looks) == 25


def test_the_rarest_of_too_many_classes_are_drawn_as_one():
    classes = np.r_[np.arange(MAX_CLASSES + 10), np.arange(MAX_CLASSES)].astype(str)
    colouring = as_colouring(classes, len(classes))
    assert len(colouring.handles) == MAX_CLASSES + 1
    assert list(colouring.handles)[-1] == "other (10)"
    assert (~colouring.known).sum() == 10


def test_unknown_classes_are_grey_and_have_an_entry_in_the_legend():
    axes = plot_embedding(rng.normal(size=(5, 2)), ["b", None, "a", "", "b"])
    assert legend_texts(axes) == ["a", "b", "unknown"]
    colouring = as_colouring(["b", None, "a", "", "b"], 5)
    assert colouring.known.tolist() == [True, False, True, False, True]
    assert len(np.unique(colouring.colours[~colouring.known], axis=0)) == 1


def test_categories_keep_their_order_and_numbers_are_not_text():
    assert list(as_colouring(pd.Categorical(["high", "low"], categories=["low", "middle", "high"]), 2).handles) == [
        "low",
        "high",
    ]
    assert list(as_colouring(np.array([10, 9, -1]), 3).handles) == ["-1", "9", "10"]
    assert list(as_colouring(np.array([1.0, 2.0, np.nan]), 3).handles) == ["1", "2", "unknown"]
    assert as_colouring(np.array([0.5, 1.0]), 2).scale is not None
    assert as_colouring(np.arange(100), 100).scale is not None


def test_axes_of_the_user_are_used():
    own = Figure().subplots()
    assert plot_embedding(rng.normal(size=(9, 2)), list("aabbccabc"), axes=own) is own
    assert [text.get_text() for text in own.get_legend().get_texts()] == ["a", "b", "c"]


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.zeros(3),), {}, r"mean must be numbers of shape \(N, D\)"),
        ((np.full((3, 2), np.nan),), {}, "mean must be finite. Got 6"),
        ((np.zeros((3, 2)), ["a", "b"]), {}, "one class or value per row, 3. Got 2"),
        ((np.zeros((3, 2)),), {"std": np.zeros((3, 1))}, r"std must have the shape of mean, \(3, 2\). Got \(3, 1\)"),
        ((np.zeros((3, 2)),), {"dims": [0, 2]}, r"dims must be different dimensions from 0 to 1. Got \[0, 2\]"),
        ((np.zeros((3, 3)),), {"axes": Figure().subplots()}, "Got 3 dimensions. Choose two in dims"),
    ],
)
def test_bad_arguments_are_refused(arguments, options, message):
    with pytest.raises(ViewError, match=message):
        plot_embedding(*arguments, **options)


def test_estimators_draw_their_figures(fitted):
    panels = fitted.plot_latent(np.arange(60) % 3, label="class")
    assert [panel.get_xlabel() for panel in panels] == ["x0", "x0", "x1"]
    assert points(fitted.plot_latent(dims=[0, 2], uncertainty=False)) == 60
    assert len(fitted.plot_history().lines[0].get_xdata()) == 20
    assert fitted.plot_history(by="seconds").figure.axes[1].get_xlabel() == "seconds"
    assert fitted.plot_relevance().figure is not fitted.plot_relevance(of="variance").figure
    order = np.array(["b", "a", None] * 20, dtype=object)
    drawn = fitted.plot_kernel("left", order=order).images[0].get_array()
    rows = np.r_[np.flatnonzero(order == "a"), np.flatnonzero(order == "b"), np.arange(2, 60, 3)]
    np.testing.assert_allclose(drawn, fitted.kernel_matrix("left")[np.ix_(rows, rows)])


def test_bad_arguments_of_figures_are_refused(fitted):
    with pytest.raises(ViewError, match="order must have one value per row, 60. Got 2"):
        fitted.plot_kernel("left", order=[1, 2])
    with pytest.raises(ValueError, match="There is no view 'top'"):
        fitted.plot_kernel("top")

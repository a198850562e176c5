"""Simple ways to fill gaps do what they say."""

import numpy as np

from mvlvm.experiments.filling import by_components, by_means, by_neighbours, rebuilt_by_components


def hidden_plane(rng):
    Y = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 8)) + 5.0
    hidden = rng.random(Y.shape) < 0.2
    return Y, hidden, np.where(hidden, np.nan, Y)


def test_components_find_what_lies_in_a_plane_and_means_do_not():
    Y, hidden, with_gaps = hidden_plane(np.random.default_rng(0))
    errors = {way: np.sqrt(np.mean((filled - Y)[hidden] ** 2)) for way, filled in (
        ("components", by_components(with_gaps, 2)), ("means", by_means(with_gaps)),
        ("neighbours", by_neighbours(with_gaps)))}  # fmt: skip
    assert errors["components"] < 0.05 * errors["means"]
    assert errors["neighbours"] < errors["means"]


def test_what_is_there_stays():
    _, hidden, with_gaps = hidden_plane(np.random.default_rng(1))
    for filled in (by_components(with_gaps, 2), by_means(with_gaps), by_neighbours(with_gaps)):
        assert (filled[~hidden] == with_gaps[~hidden]).all()
        assert np.isfinite(filled).all()


def test_a_column_without_entries_is_filled_with_zero():
    assert by_means(np.array([[np.nan, 1.0], [np.nan, 3.0]])).tolist() == [[0.0, 1.0], [0.0, 3.0]]


def test_rebuilding_keeps_the_leading_directions():
    Y = np.array([[3.0, 0.1], [-3.0, 0.1], [3.0, -0.1], [-3.0, -0.1]])
    np.testing.assert_allclose(rebuilt_by_components(Y, 1), [[3, 0], [-3, 0], [3, 0], [-3, 0]], atol=1e-12)

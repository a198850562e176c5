import numpy as np
import pytest

from mvlvm.datasets import load


def straight_line_share(Z, Y):
    """The share of Y's variance that is linear in Z."""
    Z, Y = Z - Z.mean(axis=0), Y - Y.mean(axis=0)
    fitted = Z @ np.linalg.lstsq(Z, Y, rcond=None)[0]
    return (fitted**2).sum() / (Y**2).sum()


def test_a_view_depends_on_what_it_shares_and_on_its_own_factors_alone():
    data = load("shared-private", n_samples=400, random_state=0)
    shared, private = data.truth["shared"], data.truth["private"]
    for view, other in (("a", "b"), ("b", "a")):
        assert straight_line_share(shared, data[view]) > 0.2
        assert straight_line_share(private[view], data[view]) > 0.2
        # 400 rows: chance gives 1 / 400
        assert straight_line_share(private[other], data[view]) < 0.02


def test_all_factors_show_in_both_views_and_the_functions_are_bent_but_not_folded():
    data = load("factors", n_factors=5, random_state=0)
    Z = data.truth["latents"]
    assert Z.shape == (300, 5)
    for Y in data.values():
        assert 0.5 < straight_line_share(Z, Y) < 0.95
        assert min(straight_line_share(Z[:, [k]], Y) for k in range(5)) > 0.03


def test_sizes_are_those_that_were_asked_for():
    data = load("shared-private", n_samples=30, n_features=4, n_shared=2, n_private=0, random_state=0)
    assert {view: Y.shape for view, Y in data.items()} == {"a": (30, 4), "b": (30, 4)}
    assert data.truth["shared"].shape == (30, 2)
    assert data.truth["private"]["a"].shape == (30, 0)


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("shared-private", "n_shared"),
        ("factors", "n_factors"),
        ("factors", "n_features"),
        ("shared-private", "n_samples"),
    ],
)
def test_no_factors_and_no_columns_are_refused(name, option):
    with pytest.raises(ValueError, match=f"{option} must be an integer of at least"):
        load(name, **{option: 0})


def test_noise_is_added():
    quiet, loud = (load("factors", noise_std=std, random_state=0)["a"] for std in (0.0, 0.5))
    assert np.std(loud - quiet) == pytest.approx(0.5, rel=0.02)

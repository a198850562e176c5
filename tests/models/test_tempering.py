import pytest
import torch

from mvlvm.models import tempering
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.models.observed import ObservedView
from mvlvm.models.tempering import LEVELS, learn_tempering
from tests.mixtures import normal
from tests.models.fixed_features import fixed_view

NOISE_VARIANCE = 0.3


def simulate(N, widths, generator, *, repeats=1):
    """A model that is the truth, and views drawn from it; every column is there several times, noise and all."""
    X = normal((N, 2), generator)
    modules = [fixed_view(generator, noise_variance=NOISE_VARIANCE) for _ in widths]
    Ys = []
    for module, M in zip(modules, widths, strict=True):
        Phi = module.draw_features(generator)(X)
        Y = Phi @ normal((Phi.shape[1], M), generator) + NOISE_VARIANCE**0.5 * normal((N, M), generator)
        Ys.append(Y.repeat_interleave(repeats, dim=1))
    return MultiViewLVM(GaussianLatent(X, 0.05), modules), Ys


def learn(model, Ys, seed=0):
    return learn_tempering(model, [ObservedView(Y) for Y in Ys], torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("repeats", [1, 4, 10])
def test_columns_that_err_together_count_about_once(repeats, generator):
    """k copies of a column know as much as one: t = 1/k is right. The widest of those about as good may be lower."""
    model, Ys = simulate(120, (6, 6), generator, repeats=repeats)
    for level in learn(model, Ys):
        assert 0.25 <= level * repeats <= 1


def test_single_view_with_independent_noise_counts_in_full(generator):
    model, Ys = simulate(120, (8,), generator)
    (level,) = learn(model, Ys)
    assert level >= 0.3


def test_nothing_to_learn_from_gives_the_widest(generator):
    one_column = simulate(20, (1,), generator)
    assert learn(*one_column) == (LEVELS[-1],)
    model, Ys = simulate(20, (3, 4), generator)
    Ys[0][:10], Ys[1][10:] = torch.nan, torch.nan
    assert learn(model, Ys) == (LEVELS[-1], LEVELS[-1])


@pytest.mark.parametrize("N", [2, 3, 4])
@pytest.mark.parametrize("widths", [(2,), (3, 1)])
def test_few_rows_are_enough(N, widths, generator):
    levels = learn(*simulate(N, widths, generator))
    assert len(levels) == len(widths)
    assert set(levels) <= set(LEVELS)


@pytest.mark.parametrize("n_rows", [1, 2])
def test_view_may_be_seen_in_few_rows(n_rows, generator):
    model, Ys = simulate(30, (3, 4), generator)
    Ys[0][n_rows:] = torch.nan
    assert set(learn(model, Ys)) <= set(LEVELS)


@pytest.mark.parametrize("rows", [[0], [0, 1]])
def test_column_seen_in_rows_that_are_all_held_out_changes_little(rows, generator):
    """With the column in no row of a fold its weights are unknown, and all that it says is next to nothing."""
    model, Ys = simulate(120, (6, 6), generator)
    column = Ys[0][rows, 0]
    Ys[0][:, 0] = torch.nan
    Ys[0][rows, 0] = column
    for level in learn(model, Ys):
        assert level >= 0.2


def test_same_generator_gives_the_same(generator):
    model, Ys = simulate(40, (3, 4), generator)
    assert learn(model, Ys) == learn(model, Ys)


def test_held_out_rows_are_no_training_places_and_places_are_taken_from_everywhere(monkeypatch, generator):
    asked, take = [], tempering.training_places

    def remember(latent, rows, *rest):
        asked.append(rows.tolist())
        return take(latent, rows, *rest)

    monkeypatch.setattr(tempering, "training_places", remember)
    model, Ys = simulate(60, (3, 4), generator)
    learn(model, Ys)
    assert sorted(row for rows in asked for row in rows) == sorted([*range(60), *range(60)])
    assert all(len(set(rows)) == 40 for rows in asked)
    asked.clear()
    # the rows of a data set are often sorted, and the first ones are like no others
    monkeypatch.setattr(tempering, "_N_PLACES", 20)
    learn(model, Ys)
    assert all(len(rows) == 20 and max(rows) >= 40 for rows in asked)

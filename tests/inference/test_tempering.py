import statistics

import pytest
import torch

from mvlvm.inference import tempering
from mvlvm.inference.tempering import LEVELS, Tempering, learn_tempering
from mvlvm.models.data import EntriesBySample, ViewData
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import MultiViewLVM
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
    data = [ViewData.from_array(Y) for Y in Ys]
    return learn_tempering(model, data, model.init_states(data), torch.Generator().manual_seed(seed))


def median_level(task, repeats, widths=(6, 6)):
    levels = []
    for seed in range(3):
        model, Ys = simulate(120, widths, torch.Generator().manual_seed(seed), repeats=repeats)
        levels += [getattr(view, task) for view in learn(model, Ys)]
    return statistics.median(levels)


def test_columns_that_err_together_count_about_once():
    """k copies of a column know as much as one: t = 1/k is right. The widest of those about as good may be lower."""
    levels = [median_level("from_others", repeats) for repeats in (1, 4, 10)]
    assert levels[0] >= 0.5
    assert levels == sorted(levels, reverse=True)
    assert levels[2] <= 0.2


def test_a_view_whose_columns_err_by_themselves_counts_nearly_in_full():
    assert median_level("from_itself", 1, widths=(8,)) >= 0.5


def test_a_view_that_others_know_nothing_of_is_still_told_by_its_own_columns(generator):
    """The other view is noise: it teaches that others do not count, and nothing about the view's own entries."""
    model, Ys = simulate(150, (10, 1), generator)
    Ys[1] = normal(Ys[1].shape, generator)
    first, _ = learn(model, Ys)
    assert first.from_itself > first.from_others


def test_what_no_exercise_has_tried_counts_in_full(generator):
    assert learn(*simulate(20, (1,), generator)) == (Tempering(1.0, 1.0),)
    model, Ys = simulate(20, (3, 4), generator)
    Ys[0][:10], Ys[1][10:] = torch.nan, torch.nan
    assert [view.from_others for view in learn(model, Ys)] == [1.0, 1.0]


def scores_of(*values):
    """Scores per entry of the levels from high to low, and of knowing nothing."""
    return torch.tensor(values, dtype=torch.float64)


def test_the_widest_that_loses_little_is_taken():
    nothing = -2.0
    best_at_half = scores_of(-1.0, -0.9, -0.905, -0.915, -1.5, -1.6, -1.7, nothing)
    assert tempering._smallest_near_best(best_at_half) == 0.2  # 0.005 lost; the next would lose 0.015
    little_to_gain = scores_of(-0.9, -0.905, -0.92, -0.95, -0.96, -0.97, -0.98, -0.98)
    assert tempering._smallest_near_best(little_to_gain) == 0.5  # a tenth of the gain, 0.008, may be lost
    assert tempering._smallest_near_best(scores_of(*[-1.0] * 8)) == LEVELS[-1]


def test_views_share_what_they_found_and_untried_ones_have_no_say():
    clear = torch.tensor([0.0, -1, -2, -3, -4, -5, -6, -9], dtype=torch.float64)  # all for the first level
    flat = torch.tensor([-0.3, -0.2, -0.1, 0.0, -0.1, -0.2, -0.3, -1], dtype=torch.float64)  # a little for the fourth
    densities = torch.stack([10 * clear, 10 * flat, torch.full((8,), 1e9, dtype=torch.float64)])
    levels = tempering._choose_levels(densities, torch.tensor([10.0, 10.0, 0.0], dtype=torch.float64))
    assert levels == [1.0, 1.0, 1.0]
    assert tempering._choose_levels(10 * flat[None], torch.tensor([10.0], dtype=torch.float64)) == [LEVELS[3]]


def test_the_weights_of_a_fold_do_not_know_the_rows_held_out(generator):
    model, Ys = simulate(30, (3, 4), generator)
    stays = torch.arange(20)
    changed = [Y.clone() for Y in Ys]
    for Y in changed:
        Y[20:] = 1e3
    with torch.no_grad():
        one, other = (
            tempering._Fold(
                model,
                [EntriesBySample(data, 30) for data in views],
                model.init_states(views),
                stays,
                torch.Generator().manual_seed(1),
            )
            for views in ([ViewData.from_array(Y) for Y in arrays] for arrays in (Ys, changed))
        )
    for first, second in zip(one.functions, other.functions, strict=True):
        assert torch.equal(first.posteriors[0].mean, second.posteriors[0].mean)


def levels_of(temperings):
    return {level for view in temperings for level in (view.from_others, view.from_itself)}


@pytest.mark.parametrize("N", [2, 3, 4])
@pytest.mark.parametrize("widths", [(2,), (3, 1)])
def test_few_rows_are_enough(N, widths, generator):
    learned = learn(*simulate(N, widths, generator))
    assert len(learned) == len(widths)
    assert levels_of(learned) <= set(LEVELS)


@pytest.mark.parametrize("n_rows", [1, 2])
def test_view_may_be_seen_in_few_rows(n_rows, generator):
    model, Ys = simulate(30, (3, 4), generator)
    Ys[0][n_rows:] = torch.nan
    assert levels_of(learn(model, Ys)) <= set(LEVELS)


@pytest.mark.parametrize("rows", [[0], [0, 1]])
def test_column_seen_in_rows_that_are_all_held_out_is_no_trouble(rows, generator):
    """With the column in no row of a fold its weights are unknown, and all that it says is next to nothing."""
    model, Ys = simulate(120, (6, 6), generator)
    column = Ys[0][rows, 0]
    Ys[0][:, 0] = torch.nan
    Ys[0][rows, 0] = column
    assert min(view.from_others for view in learn(model, Ys)) >= 0.2


def test_same_generator_gives_the_same(generator):
    model, Ys = simulate(40, (3, 4), generator)
    assert learn(model, Ys) == learn(model, Ys)


def test_held_out_rows_are_no_training_places_and_places_are_taken_from_everywhere(monkeypatch, generator):
    asked, take = [], tempering.candidate_latents

    def remember(latent, rows, *rest):
        asked.append(rows.tolist())
        return take(latent, rows, *rest)

    monkeypatch.setattr(tempering, "candidate_latents", remember)
    model, Ys = simulate(60, (3, 4), generator)
    learn(model, Ys)
    assert sorted(row for rows in asked for row in rows) == sorted([*range(60), *range(60)])
    assert all(len(set(rows)) == 40 for rows in asked)
    asked.clear()
    # the rows of a data set are often sorted, and the first ones are like no others
    monkeypatch.setattr(tempering, "MAX_FOLD_CANDIDATES", 20)
    learn(model, Ys)
    assert all(len(rows) == 20 and max(rows) >= 40 for rows in asked)

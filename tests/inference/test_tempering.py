import statistics

import pytest
import torch

from mvlvm.inference import tempering
from mvlvm.inference.tempering import LEVELS, Tempering, learn_tempering
from mvlvm.models.data import EntriesBySample
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.multiview import MultiViewLVM
from tests.mixtures import normal
from tests.models.fixed_features import fixed_view
from tests.models.model_views import model_views

NOISE_VARIANCE = 0.3


def simulate(N, widths, generator, *, repeats=1):
    """Return a true model and views drawn from it; every column is repeated several times, including its noise."""
    X = normal((N, 2), generator)
    modules = [fixed_view(generator, name=f"view{v}", noise_variance=NOISE_VARIANCE) for v in range(len(widths))]
    Ys = []
    for module, M in zip(modules, widths, strict=True):
        Phi = module.draw_features(generator)(X)
        Y = Phi @ normal((Phi.shape[1], M), generator) + NOISE_VARIANCE**0.5 * normal((N, M), generator)
        Ys.append(Y.repeat_interleave(repeats, dim=1))
    return MultiViewLVM(GaussianLatent(X, 0.05), modules), Ys


def learn(model, Ys, seed=0):
    return learn_tempering(model.latent, model_views(model, Ys), torch.Generator().manual_seed(seed))


def median_level(task, repeats, widths=(6, 6)):
    levels = []
    for seed in range(3):
        model, Ys = simulate(120, widths, torch.Generator().manual_seed(seed), repeats=repeats)
        levels += [getattr(view, task) for view in learn(model, Ys).values()]
    return statistics.median(levels)


def test_columns_with_identical_noise_count_about_once():
    """k copies of a column carry the information of one, so t = 1/k is right; the chosen level may be lower."""
    levels = [median_level("from_others", repeats) for repeats in (1, 4, 10)]
    assert levels[0] >= 0.5
    assert levels == sorted(levels, reverse=True)
    assert levels[2] <= 0.2


def test_view_with_independent_noise_is_hardly_tempered():
    assert median_level("from_itself", 1, widths=(8,)) >= 0.5


def test_unrelated_views_are_tempered_more_than_the_columns_of_the_view_itself(generator):
    """The other view is pure noise: it carries no information about the first view, but the first view's columns do."""
    model, Ys = simulate(150, (10, 1), generator)
    Ys[1] = normal(Ys[1].shape, generator)
    first, _ = learn(model, Ys).values()
    assert first.from_itself > first.from_others


def test_views_without_a_held_out_task_are_not_tempered(generator):
    assert learn(*simulate(20, (1,), generator)) == {"view0": Tempering(1.0, 1.0)}
    model, Ys = simulate(20, (3, 4), generator)
    Ys[0][:10], Ys[1][10:] = torch.nan, torch.nan
    assert [view.from_others for view in learn(model, Ys).values()] == [1.0, 1.0]


def scores_of(*values):
    """Return scores per entry, of the levels in decreasing order and of the prior."""
    return torch.tensor(values, dtype=torch.float64)


def test_smallest_level_near_the_best_is_chosen():
    prior = -2.0
    best_at_half = scores_of(-1.0, -0.9, -0.905, -0.915, -1.5, -1.6, -1.7, prior)
    assert tempering._smallest_near_best(best_at_half) == 0.2  # 0.005 below the best; the next is 0.015 below
    little_to_gain = scores_of(-0.9, -0.905, -0.92, -0.95, -0.96, -0.97, -0.98, -0.98)
    assert tempering._smallest_near_best(little_to_gain) == 0.5  # a tenth of the gain, 0.008, is tolerated
    assert tempering._smallest_near_best(scores_of(*[-1.0] * 8)) == LEVELS[-1]


def test_scores_are_averaged_over_views_that_have_a_task():
    clear = torch.tensor([0.0, -1, -2, -3, -4, -5, -6, -9], dtype=torch.float64)  # clearly best at the first level
    flat = torch.tensor(
        [-0.3, -0.2, -0.1, 0.0, -0.1, -0.2, -0.3, -1], dtype=torch.float64
    )  # slightly better at the fourth
    densities = torch.stack([10 * clear, 10 * flat, torch.full((8,), 1e9, dtype=torch.float64)])
    levels = tempering._choose_levels(densities, torch.tensor([10.0, 10.0, 0.0], dtype=torch.float64))
    assert levels == [1.0, 1.0, 1.0]
    assert tempering._choose_levels(10 * flat[None], torch.tensor([10.0], dtype=torch.float64)) == [LEVELS[3]]


def test_weights_of_a_fold_do_not_depend_on_held_out_rows(generator):
    model, Ys = simulate(30, (3, 4), generator)
    kept = torch.arange(20)
    changed = [Y.clone() for Y in Ys]
    for Y in changed:
        Y[20:] = 1e3
    with torch.no_grad():
        one, other = (
            tempering._Fold(
                model.latent,
                list(views.values()),
                [EntriesBySample(view.data, 30) for view in views.values()],
                kept,
                torch.Generator().manual_seed(1),
            )
            for views in (model_views(model, arrays) for arrays in (Ys, changed))
        )
    for first, second in zip(one.functions, other.functions, strict=True):
        assert torch.equal(first.posteriors[0].mean, second.posteriors[0].mean)


def levels_of(temperings):
    return {level for view in temperings.values() for level in (view.from_others, view.from_itself)}


@pytest.mark.parametrize("N", [2, 3, 4])
@pytest.mark.parametrize("widths", [(2,), (3, 1)])
def test_few_rows_are_sufficient(N, widths, generator):
    learned = learn(*simulate(N, widths, generator))
    assert len(learned) == len(widths)
    assert levels_of(learned) <= set(LEVELS)


@pytest.mark.parametrize("n_rows", [1, 2])
def test_view_may_be_observed_in_few_rows(n_rows, generator):
    model, Ys = simulate(30, (3, 4), generator)
    Ys[0][n_rows:] = torch.nan
    assert levels_of(learn(model, Ys)) <= set(LEVELS)


@pytest.mark.parametrize("rows", [[0], [0, 1]])
def test_column_observed_only_in_held_out_rows_does_not_dominate(rows, generator):
    """In a fold without any entry of the column its weights keep their prior, so that it carries little information."""
    model, Ys = simulate(120, (6, 6), generator)
    column = Ys[0][rows, 0]
    Ys[0][:, 0] = torch.nan
    Ys[0][rows, 0] = column
    assert min(view.from_others for view in learn(model, Ys).values()) >= 0.2


def test_result_is_repeatable(generator):
    model, Ys = simulate(40, (3, 4), generator)
    assert learn(model, Ys) == learn(model, Ys)


def test_candidates_are_a_random_subset_of_the_rows_not_held_out(monkeypatch, generator):
    requested, original = [], tempering.candidate_latents

    def record(latent, rows, *rest):
        requested.append(rows.tolist())
        return original(latent, rows, *rest)

    monkeypatch.setattr(tempering, "candidate_latents", record)
    model, Ys = simulate(60, (3, 4), generator)
    learn(model, Ys)
    assert sorted(row for rows in requested for row in rows) == sorted([*range(60), *range(60)])
    assert all(len(set(rows)) == 40 for rows in requested)
    requested.clear()
    # data sets are often sorted, so that the first rows are not representative
    monkeypatch.setattr(tempering, "MAX_FOLD_CANDIDATES", 20)
    learn(model, Ys)
    assert all(len(rows) == 20 and max(rows) >= 40 for rows in requested)

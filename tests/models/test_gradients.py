"""Analytic gradients of the bound, against autograd through the general path."""

from dataclasses import replace

import pytest
import torch

from mvlvm.likelihoods import Bernoulli, Gaussian, StudentT
from mvlvm.models.data import ViewData
from mvlvm.models.multiview import Dimensions, ViewPlan, build_model, refreshed_states, states_of, with_states
from mvlvm.models.state import CompleteState
from tests.mixtures import normal
from tests.models.model_views import model_views

N = 60


def make_problem(generator, *, weighted=False, exact=False, n_points=4, max_energy_share=None):
    """Return a model with all kinds of views and its views: float64, so that both paths agree to rounding."""
    X = normal((N, 4), generator)
    arrays = {
        "plain": torch.sin(X[:, :2] @ normal((2, 30), generator)) + 0.3 * normal((N, 30), generator),
        "stationary": 5.0 * normal((N, 3), generator),
        "absent rows": normal((N, 4), generator).index_fill(0, torch.tensor([0, 7, 8]), torch.nan),
        "missing entries": normal((N, 3), generator),
        "heavy-tailed": normal((N, 2), generator),
        "binary": (normal((N, 3), generator) > 0).double(),
    }
    arrays["missing entries"][4, 1] = torch.nan
    likelihoods = {"heavy-tailed": StudentT(0.5, 4.0), "binary": Bernoulli(), "stationary": Gaussian(2.0, 4.0)}
    plans = {
        name: ViewPlan(
            "sm" if name == "stationary" else "ngsm", 3 if name == "plain" else 2,
            likelihoods.get(name, Gaussian(0.2)), name != "missing entries",
        )
        for name in arrays
    }  # fmt: skip
    dimensions = Dimensions(2, {"plain": 1, "absent rows": 1})
    model = build_model(X, plans, n_points=n_points, generator=generator, dimensions=dimensions)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * normal(tuple(parameter.shape), generator))
    weight = 0.5 + normal((N,), generator).abs() if weighted else None
    model.latent.set_sample_weight(weight)
    data = [ViewData.from_array(Y, weight) for Y in arrays.values()]
    weights = [1.0, 0.3, 0.0, 2.0, 1.0, 1.0]
    views = model_views(model, data, weights=weights, max_energy_share=max_energy_share)
    views = with_states(views, refreshed_states(views, 0))
    states = {
        name: replace(state, exact=exact) if isinstance(state, CompleteState) else state
        for name, state in states_of(views).items()
    }
    return model, with_states(views, states)


@pytest.mark.parametrize("n_draws", [1, 2])
@pytest.mark.parametrize("kl_weight", [1.0, 0.5])
@pytest.mark.parametrize(
    "settings",
    [
        {"exact": True}, {"exact": False}, {"weighted": True}, {"n_points": 40}, {"max_energy_share": 0.2},
        {"weighted": True, "exact": True, "max_energy_share": 0.2},
    ],
    ids=str,
)  # fmt: skip
def test_gradients_of_all_kinds_of_views_match_autograd(settings, kl_weight, n_draws, generator):
    model, views = make_problem(generator, **settings)
    weights = {name: view.weight or 1.0 for name, view in views.items()}
    seed = torch.Generator().manual_seed(5)
    found, gradients, states = model.elbo_gradients(
        views, seed.clone_state(), view_weights=weights, latent_kl_weight=kl_weight, n_draws=n_draws
    )
    expected, expected_states = model.elbo(views, seed.clone_state(), n_draws=n_draws)
    objective = sum(weights[name] * value for name, value in expected.evidence.items()) - kl_weight * expected.latent_kl
    objective.backward()
    for name, value in expected.evidence.items():
        assert float(found.evidence[name]) == pytest.approx(value.item(), rel=1e-10)
    assert float(found.latent_kl) == pytest.approx(expected.latent_kl.item(), rel=1e-12)
    for name, parameter in model.named_parameters():
        gradient = gradients.get(parameter, torch.zeros_like(parameter))
        assert gradient.dtype == parameter.dtype
        torch.testing.assert_close(gradient, parameter.grad, rtol=1e-8, atol=1e-9, msg=lambda text, n=name: n + text)
    for name, state in states.items():
        assert type(state) is type(expected_states[name])


def test_a_view_of_weight_zero_learns_its_kernel_but_does_not_influence_the_latents(generator):
    model, views = make_problem(generator)
    weights, mixture = {name: view.weight or 1.0 for name, view in views.items()}, model.views[2].mixture
    zero, one = (
        model.elbo_gradients(each, torch.Generator().manual_seed(5), view_weights=weights)[1]
        for each in (views, {name: replace(view, weight=1.0) for name, view in views.items()})
    )
    assert not torch.allclose(zero[model.latent.mean], one[model.latent.mean])
    assert torch.equal(zero[mixture.mu1], one[mixture.mu1])
    seeds = [torch.Generator().manual_seed(5) for _ in range(2)]
    first = list(views)[:2]  # whose draws do not depend on what follows
    both = {name: views[name] for name in (*first, list(views)[2])}, {name: views[name] for name in first}
    latents = [
        model.elbo_gradients(each, seed, view_weights=weights)[1][model.latent.mean]
        for each, seed in zip(both, seeds, strict=True)
    ]
    torch.testing.assert_close(*latents)

import pytest
import torch
from torch.distributions import Normal, kl_divergence

from mvlvm.evidence import Elbo, Objective, latent_kl
from tests.mixtures import normal, uniform
from tests.oracles import diagonal_normal_kl

ONES = {"a": 1.0, "b": 1.0}


def elbo():
    return Elbo({"a": torch.tensor(3.0), "b": torch.tensor(-5.0)}, torch.tensor(4.0))


def test_bound_is_the_sum_over_views_minus_the_kl_divergence():
    assert elbo().reconstruction.item() == -2.0
    assert elbo().value.item() == -6.0


def test_unit_weights_do_not_change_the_bound():
    assert Objective(elbo(), ONES).value == elbo().value


def test_weights_scale_every_term():
    terms, weights = {"neighbours": torch.tensor(7.0)}, {"neighbours": 10.0}
    objective = Objective(elbo(), {"a": 2.0, "b": 0.1}, 0.5, terms, weights)
    assert objective.value.item() == 2.0 * 3.0 - 0.5 - 2.0 + 70.0


def test_history_holds_the_bound_and_every_term_without_weights():
    objective = Objective(elbo(), {"a": 2.0, "b": 0.1}, 0.5, {"neighbours": torch.tensor(7.0)}, {"neighbours": 10.0})
    parts = {name: part.item() for name, part in objective.parts().items()}
    assert parts == {
        "elbo": -6.0,
        "reconstruction": -2.0,
        "latent_kl": 4.0,
        "evidence:a": 3.0,
        "evidence:b": -5.0,
        "neighbours": 7.0,
    }


def test_kl_divergence_is_the_sum_over_entries(generator):
    mean, std = normal((7, 3), generator), uniform(0.01, 2, (7, 3), generator)
    prior = Normal(torch.zeros_like(mean), torch.ones_like(std))
    expected = kl_divergence(Normal(mean, std), prior).sum()
    torch.testing.assert_close(latent_kl(mean, std), expected, rtol=1e-12, atol=0.0)
    assert latent_kl(mean, std).item() == pytest.approx(diagonal_normal_kl(mean.numpy(), std.numpy()), rel=1e-12)


def test_kl_divergence_of_the_prior_is_zero():
    assert latent_kl(torch.zeros(4, 2), torch.ones(4, 2)) == 0


def test_kl_divergence_of_many_float32_samples_is_accurate():
    mean, std = torch.full((200_000, 2), 0.1), torch.ones(200_000, 2)
    expected = 0.5 * float(torch.tensor(0.1)) ** 2 * 400_000
    assert latent_kl(mean, std).item() == pytest.approx(expected, rel=1e-12)

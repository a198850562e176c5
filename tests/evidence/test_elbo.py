import torch

from mvlvm.evidence import Elbo, WeightedElbo


def elbo():
    return Elbo(torch.tensor([3.0, -5.0]), torch.tensor(4.0))


def test_bound_is_the_sum_over_views_minus_the_divergence():
    assert elbo().value.item() == -6.0


def test_parts_make_up_the_bound():
    parts = {name: part.item() for name, part in elbo().parts().items()}
    assert parts == {"elbo": -6.0, "reconstruction": -2.0, "latent_kl": 4.0}


def test_weights_scale_each_view_and_the_divergence():
    weighted = WeightedElbo(elbo(), torch.tensor([2.0, 0.1]), latent_kl_weight=0.5)
    assert weighted.value.item() == 2.0 * 3.0 - 0.5 - 2.0
    assert weighted.parts() == elbo().parts(), "what is called the bound stays the bound"


def test_weights_of_one_leave_the_bound_alone():
    assert WeightedElbo(elbo(), torch.ones(2), latent_kl_weight=1.0).value == elbo().value

"""Frequencies of base draws, and gradients with respect to unconstrained parameters, against autograd."""

import numpy as np
import pytest
import torch

from mvlvm.models.spectral_mixture import MIXTURES, frequencies_by_autograd
from mvlvm.spectral.affine import sigmoid, softplus
from mvlvm.spectral.blocks import FrequencyGradients, stack_frequencies
from tests.mixtures import normal

Q, P, D = 2, 5, 3


@pytest.fixture(params=[(kernel, used) for kernel in ("ngsm", "sm") for used in ("all", "some")], ids=str)
def mixture(request, generator):
    kernel, used = request.param
    mixture = MIXTURES[kernel](Q, D, generator).double()
    with torch.no_grad():
        for parameter in mixture.parameters():
            parameter.add_(normal(tuple(parameter.shape), generator))
    mixture.unit = 4.0
    if used == "some":
        mixture.use(torch.tensor([True, False, True]))
    return mixture


def test_frequencies_and_their_gradients_match_autograd(mixture, generator):
    draws = mixture.base_draws(P, generator)
    found, vjp = mixture.frequencies(draws)
    expected, expected_vjp = frequencies_by_autograd(mixture, draws)
    for part, right in zip(found, expected, strict=True):
        assert (part is None) == (right is None)
        if part is not None:
            torch.testing.assert_close(part, right, rtol=1e-12, atol=1e-14)
    shapes = stack_frequencies(found).shape, found.amplitude.shape
    arbitrary = FrequencyGradients(*(normal(tuple(shape), generator) for shape in shapes))
    gradients, expected_gradients = vjp(arbitrary), expected_vjp(arbitrary)
    assert set(gradients) == set(mixture.parameters())
    for parameter, gradient in gradients.items():
        torch.testing.assert_close(gradient, expected_gradients[parameter], rtol=1e-11, atol=1e-13)


def test_gradients_of_float32_parameters_are_float32(mixture, generator):
    mixture.float()
    found, vjp = mixture.frequencies(mixture.base_draws(P, generator))
    gradients = vjp(FrequencyGradients(stack_frequencies(found), found.amplitude))
    assert {part.dtype for part in (*filter(torch.is_tensor, found), *gradients.values())} == {torch.float32}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_constraints_do_not_overflow(dtype):
    raw = np.array([-1e3, -20.0, 0.0, 20.0, 1e3], dtype=dtype)
    with np.errstate(all="raise", under="ignore"):
        values, derivatives = softplus(raw, np), sigmoid(raw, np)
    tensor = torch.from_numpy(raw)
    torch.testing.assert_close(torch.from_numpy(values), torch.logaddexp(tensor, torch.zeros_like(tensor)))
    torch.testing.assert_close(torch.from_numpy(derivatives), torch.sigmoid(tensor), rtol=0.0, atol=1e-7)

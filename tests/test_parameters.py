import pytest
import torch

from mvlvm.parameters import correlation, in_unit, positive, raw_positive, raw_positive_values


@pytest.mark.parametrize("value", [1e-8, 1e-3, 0.1, 1.0, 19.0, 21.0, 1e3])
def test_raw_positive_inverts_positive(value):
    raw = torch.tensor(raw_positive(value), dtype=torch.float64)
    # beyond 20 torch replaces softplus by the identity, with an error of exp(-20) = 2e-9
    assert positive(raw).item() == pytest.approx(value, rel=1e-8)


def test_inverse_of_positive_is_the_same_for_numbers_and_tensors():
    values = torch.tensor([1e-8, 0.1, 1.0, 30.0], dtype=torch.float64)
    expected = [raw_positive(value) for value in values.tolist()]
    torch.testing.assert_close(raw_positive_values(values), torch.tensor(expected, dtype=torch.float64))


def test_a_unit_multiplies_the_constrained_value():
    raw = torch.linspace(-9, 9, 7)
    torch.testing.assert_close(positive(in_unit(raw, 1024.0)), 1024.0 * positive(raw))
    assert in_unit(raw, 1.0) is raw


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_constraints_hold_for_every_raw_value(dtype):
    raw = torch.linspace(-80, 80, 1001, dtype=dtype)
    assert (positive(raw) > 0).all()
    assert (correlation(raw).abs() < 1).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("raw", [-50.0, -9.0, 9.0, 50.0])
def test_gradient_of_the_second_sampling_step_is_finite_at_full_correlation(raw, dtype):
    raw = torch.tensor(raw, dtype=dtype, requires_grad=True)
    (1 - correlation(raw) ** 2).sqrt().backward()
    assert torch.isfinite(raw.grad)


def test_correlation_matches_the_hyperbolic_tangent():
    raw = torch.linspace(-3, 3, 13, dtype=torch.float64)
    torch.testing.assert_close(correlation(raw), torch.tanh(raw), rtol=1.1e-6, atol=0.0)

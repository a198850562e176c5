import pytest
import torch

from mvlvm.linalg import gram
from mvlvm.linalg.gram import (
    _veltkamp_high,
    add_lower_gram,
    lower_gram,
    round_to_tf32,
    split_precision_matmul,
    supports_tf32,
    transposed_matmul,
)
from tests.gpu import needs_gpu
from tests.mixtures import normal


@pytest.mark.parametrize("F", [1, 7, 33, 130, 200])
def test_add_lower_gram_matches_the_full_product(F, generator):
    Phi, total = normal((50, F), generator), normal((F, F), generator)
    expected = (total + Phi.T @ Phi).tril()
    add_lower_gram(total, Phi)
    torch.testing.assert_close(total.tril(), expected, rtol=1e-12, atol=1e-12)


def test_lower_gram_matches_the_full_product(generator):
    Phi = normal((50, 130), generator)
    torch.testing.assert_close(lower_gram(Phi).tril(), (Phi.T @ Phi).tril(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("F", [65, 131])
def test_odd_number_of_features_is_divided_into_two_stripes(F, generator, monkeypatch):
    """A third stripe with a single row would be as slow as a second one."""
    heights, product = [], torch.addmm
    monkeypatch.setattr(torch, "addmm", lambda *args, out: heights.append(len(out)) or product(*args, out=out))
    Phi = normal((50, F), generator)
    torch.testing.assert_close(lower_gram(Phi).tril(), (Phi.T @ Phi).tril(), rtol=1e-12, atol=1e-12)
    assert heights == [F // 2 + 1, F // 2]


@pytest.mark.parametrize("n_rows", [3, 40, 80, 97], ids="{} rows in blocks of 40".format)
@pytest.mark.parametrize("by_column", [False, True], ids=["row-major", "column-major"])
def test_transposed_matmul_does_not_depend_on_the_blocks(n_rows, by_column, generator, monkeypatch):
    monkeypatch.setattr(gram, "_ROWS_PER_BLOCK", 40)
    A, B = (torch.randn((n_rows, width), generator=generator, dtype=torch.float64) for width in (5, 3))
    A = A.T.contiguous().T if by_column else A
    torch.testing.assert_close(transposed_matmul(A, B), torch.einsum("nf,nr->fr", A, B))


def test_sums_over_many_float32_rows_are_accurate_to_six_digits(generator):
    A = 1 + torch.rand((1_000_000, 2), generator=generator)
    torch.testing.assert_close(transposed_matmul(A, A), A.double().T @ A.double(), rtol=1e-6, atol=0.0)


def test_rounding_to_tf32_returns_the_nearest_number_with_eleven_bits(generator):
    values = torch.randn(10_000, generator=generator) * 10.0 ** torch.randint(-20, 20, (10_000,), generator=generator)
    rounded = round_to_tf32(values)
    mantissa, _ = torch.frexp(rounded.double())
    assert torch.equal(mantissa * 2**11, (mantissa * 2**11).round())
    assert ((rounded - values).abs() <= 2.0**-11 * rounded.abs().maximum(values.abs())).all()
    assert torch.equal(round_to_tf32(rounded), rounded)


def test_rounding_to_tf32_is_unbiased(generator):
    values = 1 + torch.rand(100_000, generator=generator)
    assert abs((round_to_tf32(values) - values).double().mean()) < 5 * 2.0**-10 / 12**0.5 / 100_000**0.5


@pytest.mark.parametrize("accumulate", [False, True])
def test_split_precision_matmul_on_a_cpu_is_a_plain_product(accumulate, generator):
    A, B = torch.randn((3, 4), generator=generator), torch.randn((4, 5), generator=generator)
    out = torch.ones(3, 5) if accumulate else torch.full((3, 5), torch.nan)
    expected = A @ B + (1.0 if accumulate else 0.0)
    torch.testing.assert_close(split_precision_matmul(A, B, out, accumulate=accumulate), expected)
    torch.testing.assert_close(out, expected)
    assert not supports_tf32(B)


@needs_gpu
def test_split_precision_matmul_on_a_gpu_is_as_accurate_as_float32(generator):
    A, B = torch.randn((200, 300), generator=generator), round_to_tf32(torch.randn((300, 5000), generator=generator))
    exact = A.double() @ B.double()
    out = torch.empty((200, 5000), device="cuda")
    error = (split_precision_matmul(A.cuda(), B.cuda(), out).cpu().double() - exact).abs().max()
    plain = (A.cuda() @ B.cuda()).cpu().double().sub(exact).abs().max()
    assert error <= 3 * plain


def test_veltkamp_splitting_agrees_with_rounding_except_for_ties(generator):
    A = torch.randn((300, 300), generator=generator)
    difference = (_veltkamp_high(A) - round_to_tf32(A)).abs()
    assert (difference > 0).float().mean() < 1e-3
    assert torch.equal(round_to_tf32(_veltkamp_high(A)), _veltkamp_high(A))

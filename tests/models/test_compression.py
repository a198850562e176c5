import numpy as np
import pytest
import torch

from mvlvm import NGMVLVM, defaults
from mvlvm.evidence.collapsed import TruncatedColumns, log_evidence
from mvlvm.evidence.collapsed_blocked import blocked_log_evidence
from mvlvm.evidence.feature_space import BlockPlan, Target
from mvlvm.models import compression as compression_module
from mvlvm.models.compression import Compression, principal_directions, squared_norm
from mvlvm.spectral.features import Frequencies
from tests.mixtures import normal

DOUBLE = torch.float64


def decaying_view(N, M, generator):
    """Return a view whose principal directions have geometrically decreasing energy."""
    left, right = (torch.linalg.qr(normal((n, n), generator)).Q for n in (N, M))
    n = min(N, M)
    return left[:, :n] * 0.7 ** torch.arange(n, dtype=DOUBLE) @ right[:n] * (N * M) ** 0.5


def evidence(target, X, frequencies, noise):
    return blocked_log_evidence(target, X, frequencies, torch.tensor(noise, dtype=DOUBLE), BlockPlan(50)).item()


def make_compression(Y, share=0.05):
    return Compression(Y, principal_directions(Y, DOUBLE), share, DOUBLE)


def fit_untrained(compress, max_iter=1):
    """Fit a view of 64 directions, each with exp(-1/8) of the energy of the previous one, without learning."""
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.normal(size=(n, 64)))[0] for n in (80, 64))
    return NGMVLVM(
        compress=compress, max_iter=max_iter, tol=0.0, learning_rate=1e-12, n_points=2, n_mixtures=1,
        n_draws_predict=1, random_state=0, dtype="float64",
    ).fit(left * np.exp(-np.arange(64) / 16) @ right.T)  # fmt: skip


@pytest.mark.parametrize(("N", "M"), [(60, 12), (12, 60), (30, 30)])
def test_directions_are_orthonormal_and_have_the_energy_of_principal_components(N, M, generator):
    Y = decaying_view(N, M, generator)
    directions = principal_directions(Y, DOUBLE)
    R = directions.basis.shape[1]
    torch.testing.assert_close(directions.basis.T @ directions.basis, torch.eye(R, dtype=DOUBLE), rtol=0.0, atol=1e-10)
    tails = Y.square().sum() - torch.linalg.svdvals(Y).square().cumsum(dim=0)
    torch.testing.assert_close(directions.residual[1:R], tails[: R - 1], rtol=1e-6, atol=2e-6 * directions.energy)
    projected = (Y @ directions.basis[:, :5]).square().sum()
    torch.testing.assert_close(directions.energy - projected, tails[4], rtol=1e-6, atol=1e-9 * directions.energy)


def test_a_sketch_finds_the_leading_directions_of_large_views(generator, monkeypatch):
    monkeypatch.setattr(compression_module, "_MAX_EXACT", 20)
    monkeypatch.setattr(compression_module, "_SKETCH", 16)
    Y = decaying_view(60, 40, generator)
    directions = principal_directions(Y, DOUBLE)
    assert directions.basis.shape == (40, 16)
    tails = Y.square().sum() - torch.linalg.svdvals(Y).square().cumsum(dim=0)
    projected = (Y @ directions.basis[:, :8]).square().sum()
    assert directions.energy - projected <= 1.05 * tails[7]


@pytest.mark.parametrize("noise", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("n_kept", [1, 3, 8, 11])
def test_bound_of_a_truncated_view_never_exceeds_the_exact_one(noise, n_kept, generator):
    """This holds for all latents, frequencies, noise variances and views."""
    for _ in range(20):
        Y = decaying_view(80, 12, generator)
        X, frequencies = normal((80, 2), generator), Frequencies(
            normal((5, 2), generator), normal((5, 2), generator), normal((5,), generator).abs()
        )  # fmt: skip
        basis = principal_directions(Y, DOUBLE).basis[:, :n_kept]
        kept = Y @ basis
        truncated_target = Target(kept, 12, squared_norm(Y), squared_norm(Y) - squared_norm(kept))
        complete = Target(Y, 12, squared_norm(Y))
        truncated, exact = evidence(truncated_target, X, frequencies, noise), evidence(complete, X, frequencies, noise)
        assert truncated <= exact + 1e-9 * abs(exact)


def test_rotation_without_truncation_does_not_change_the_evidence(generator):
    Y, X = decaying_view(80, 12, generator), normal((80, 2), generator)
    frequencies = Frequencies(normal((5, 2), generator), None, normal((5,), generator).abs())
    rotated = Target(Y @ principal_directions(Y, DOUBLE).basis, 12, squared_norm(Y))
    complete = Target(Y, 12, squared_norm(Y))
    assert evidence(rotated, X, frequencies, 0.3) == pytest.approx(evidence(complete, X, frequencies, 0.3), rel=1e-12)


def test_truncation_lowers_the_evidence_with_more_features_than_rows(generator):
    Y, Phi, s = decaying_view(8, 30, generator), normal((8, 20), generator), torch.tensor(0.3, dtype=DOUBLE)
    basis = principal_directions(Y, DOUBLE).basis[:, :4]
    kept = Y @ basis
    truncated = log_evidence(kept, Phi, s, TruncatedColumns(26, squared_norm(Y) - squared_norm(kept)))
    assert truncated < log_evidence(Y, Phi, s)
    all_directions = Y @ principal_directions(Y, DOUBLE).basis
    same = log_evidence(all_directions, Phi, s, TruncatedColumns(30 - all_directions.shape[1], 0.0))
    torch.testing.assert_close(same, log_evidence(Y, Phi, s), rtol=1e-10, atol=0.0)


def test_number_of_truncated_columns_depends_on_the_noise(generator):
    Y = decaying_view(300, 100, generator)
    compression = make_compression(Y)
    n_kept = compression.expected_n_kept()
    for noise in (1.0, 0.1, 0.01, 0.1, 1.0):
        n_kept = compression.updated_n_kept(n_kept, noise)
        target = compression.truncate(n_kept, coarse=False)
        assert target.truncated_energy <= 0.05 * noise * Y.numel()
        assert target.truncated_energy + squared_norm(target.Y) == pytest.approx(squared_norm(Y))
        assert target.energy == pytest.approx(squared_norm(Y))
        assert target.n_columns == 100
    few = compression.updated_n_kept(n_kept, 1.0)
    assert compression.updated_n_kept(few, 1e-12) == 100 > few
    assert torch.equal(compression.truncate(100, coarse=False).Y, Y)


def test_truncation_is_not_updated_for_small_savings(generator):
    compression = make_compression(decaying_view(300, 100, generator))
    n_kept = compression.updated_n_kept(compression.expected_n_kept(), 0.5)
    assert compression.updated_n_kept(n_kept, 0.501) == n_kept
    assert compression.updated_n_kept(n_kept + 1, 0.501) == n_kept + 1


def test_a_view_without_leading_directions_is_not_rotated(generator):
    Y = normal((300, 40), generator)
    compression = make_compression(Y)
    assert torch.equal(compression.truncate(compression.expected_n_kept(), coarse=False).Y, Y)


@pytest.mark.parametrize(("N", "M"), [(10, 100), (20, 1000), (50, 100), (3, 20), (1, 5)])
@pytest.mark.parametrize("noise", [1.0, 1e-3, 1e-12])
def test_wide_views_keep_no_more_directions_than_rows(N, M, noise, generator):
    Y = normal((N, M), generator)
    compression = make_compression(Y)
    n_kept = compression.updated_n_kept(compression.expected_n_kept(), noise)
    target = compression.truncate(n_kept, coarse=False)
    assert target.Y.shape == (N, n_kept)
    assert n_kept <= N
    assert target.n_columns == M
    torch.testing.assert_close(target.Y @ target.Y.T, Y @ Y.T, rtol=0.0, atol=2 * target.truncated_energy + 1e-9)


def test_truncated_energy_is_a_share_of_the_noise_of_all_columns():
    """A tenth of the noise of all 64 columns covers half of the directions; a tenth of that of one column, none."""
    complete, compressed = (fit_untrained(compress).history_["objective"][0] for compress in (None, 0.1))
    # truncation lowers the bound; if no direction is truncated, the bound is the same
    assert compressed < complete - 1


def test_truncation_follows_the_noise_after_a_hundred_steps(monkeypatch):
    """The arbitrary initial noise is not used. Here all directions exceed it and are kept from step 100 on."""
    monkeypatch.setattr(defaults, "INITIAL_NOISE_VARIANCE", 1e-3)
    complete, compressed = (fit_untrained(compress, max_iter=102).history_["objective"] for compress in (None, 0.5))
    assert (compressed[:100] < complete[:100] - 1).all()
    np.testing.assert_allclose(compressed[100:], complete[100:], rtol=1e-9)

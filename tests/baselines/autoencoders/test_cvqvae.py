"""CVQ-VAE: nearest codes, usage, and reinitialisation of unused codes."""

import math

import numpy as np
import pytest
import torch

from mvlvm.baselines.autoencoders.cvqvae import (
    CVQVAE,
    Codebook,
    draw_anchors,
    nearest_codes,
    update_codes,
    update_usage,
)


def test_nearest_codes_match_brute_force():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(50, 3)), rng.normal(size=(9, 3))
    nearest = [min(range(9), key=lambda k: math.dist(x, codes[k])) for x in X]
    assert nearest_codes(torch.as_tensor(X), torch.as_tensor(codes)).tolist() == nearest


def test_usage_is_moving_average_over_minibatches():
    usage = update_usage(torch.tensor([0.5, 0.2, 0.0]), torch.tensor([0, 0, 0, 1]))
    np.testing.assert_allclose(usage, [0.99 * 0.5 + 0.01 * 0.75, 0.99 * 0.2 + 0.01 * 0.25, 0.0], rtol=1e-6)


def test_rarely_used_codes_move_farther():
    codes, anchors = torch.tensor([[1.0, 2.0], [3.0, 4.0], [0.0, 0.0]]), torch.tensor([[7.0, 8.0]] * 3)
    # 10 K N / (1 - gamma) is 3000 N: often used, rarely used, unused
    moved = update_codes(codes, torch.tensor([1.0, math.log(4) / 3000, 0.0]), anchors)
    quarter, whole = math.exp(-1e-3) / 4, math.exp(-1e-3)
    expected = [[1.0, 2.0], [3 + 4 * quarter, 4 + 4 * quarter], [7 * whole, 8 * whole]]
    np.testing.assert_allclose(moved, expected, rtol=1e-5)


def test_anchors_are_drawn_with_probabilities_by_distance(generator):
    X = torch.tensor([[0.0], [1.0], [1.5]])
    n_draws = 20_000
    anchors = draw_anchors(X, torch.full((n_draws, 1), 0.5), generator).numpy()
    chances = np.exp(-np.array([0.25, 0.25, 1.0]))
    chances /= chances.sum()
    shares = np.array([np.mean(anchors == x) for x in X.flatten().tolist()])
    assert (np.abs(shares - chances) < 4 * np.sqrt(chances * (1 - chances) / n_draws)).all()


def test_unused_codes_jump_to_latents_and_used_codes_stay(generator):
    book = Codebook(3, 2, generator)
    with torch.no_grad():
        book.codes.copy_(torch.tensor([[0.0, 0.0], [50.0, 50.0], [-50.0, 50.0]]))
    X = torch.tensor([[0.1, 0.0], [0.0, 0.2], [-0.1, 0.1]])
    book.move(X, generator)
    codes = book.codes.detach()
    np.testing.assert_allclose(codes[0], [0.0, 0.0], atol=1e-4)
    assert (torch.cdist(codes[1:], X).min(dim=1).values < 0.1).all()  # from a distance of 70


def test_reconstruction_uses_code_and_embedding_does_not():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(60, 6))
    est = CVQVAE(2, n_codes=4, n_hidden=16, max_iter=100, random_state=0).fit(Y)
    assert len(np.unique(est.embedding_.round(6), axis=0)) == 60
    assert len(np.unique(est.reconstruct().round(6), axis=0)) in (2, 3, 4)


def test_invalid_number_of_codes_is_rejected():
    with pytest.raises(ValueError, match="n_codes must be an integer of at least 2. Got 1"):
        CVQVAE(2, n_codes=1).fit(np.eye(5))

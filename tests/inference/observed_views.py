"""Functions of random features, and observed rows drawn from them."""

import torch

from mvlvm.inference.view_function import ViewFunction
from mvlvm.models.latent import GaussianLatent
from mvlvm.models.spectral_mixture import SpectralMixture
from tests.mixtures import normal
from tests.models.evidence import infer_weights
from tests.models.model_views import gaussian_view

N, WIDTHS = 6, (3, 4)


def draw_function(D, M, generator, *, certain):
    """Return a function of random features, averaged over spectral draws; `certain` leaves only the noise."""
    view = gaussian_view("view", SpectralMixture(2, D, generator), n_points=5).double()
    latent, Y = GaussianLatent(normal((30, D), generator), 0.1), normal((30, M), generator)
    with torch.no_grad():
        posteriors = [infer_weights(view, latent, Y, generator, n_latent_draws=2) for _ in range(1 if certain else 3)]
        if certain:
            posteriors[0].covariance.zero_()
    return ViewFunction(tuple(posteriors), view.likelihood.requires_grad_(False))


def draw_observed(D, generator, *, certain):
    """Return two views of N rows at latents from the prior, with missing entries; the second row has one view only."""
    functions, X = [draw_function(D, M, generator, certain=certain) for M in WIDTHS], normal((N, D), generator)
    Ys = [
        function.linearise(X).moments.mean + 0.1**0.5 * normal((N, M), generator)
        for function, M in zip(functions, WIDTHS, strict=True)
    ]
    remove_entries(Ys)
    return list(zip(functions, Ys, strict=True))


def remove_entries(Ys):
    Ys[0][0, 1], Ys[0][1], Ys[1][2, :2] = torch.nan, torch.nan, torch.nan

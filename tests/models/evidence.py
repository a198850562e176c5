"""Log evidences of single views, and the states that they return."""

import torch

from mvlvm.models.data import ViewData
from mvlvm.models.gaussian_views import CompleteGaussianView, IncompleteGaussianView
from mvlvm.models.state import StateSettings


def suited(view, data):
    """Return the module with the same parameters for Gaussian data with or without missing entries."""
    if not view.likelihood.collapses:
        return view
    kind = CompleteGaussianView if data.missing is None else IncompleteGaussianView
    return kind(view.name, view.mixture, view.likelihood, n_points=view.n_points)


def initial_state(view, data, *, dtype=torch.float64):
    return suited(view, data).init_state(data, StateSettings(dtype))


def evaluate(view, data, X, generator, *, state=None, n_steps=1):
    """Return the log evidence and the state after `n_steps` evaluations, each from the previous state."""
    state = initial_state(view, data, dtype=X.dtype) if state is None else state
    for _ in range(n_steps):
        value, state = suited(view, data).log_evidence(data, state, X, generator)
    return value, state


def log_evidence(view, Y, X, generator, sample_weight=None):
    """Return the log evidence of an array with NaN for missing entries, from the initial state."""
    return evaluate(view, ViewData.from_array(Y, sample_weight), X, generator)[0]


def infer_weights(view, latent, Y, generator, *, n_latent_draws=1, sample_weight=None):
    data = ViewData.from_array(Y, sample_weight)
    state = initial_state(view, data, dtype=latent.mean.dtype)
    return view.infer_weights(latent, data, state, n_latent_draws=n_latent_draws, generator=generator)

"""Views: several measurements of the same samples."""

from mvlvm.io import read
from mvlvm.likelihoods import LIKELIHOODS as _REGISTRY
from mvlvm.views.layout import Layout, Views
from mvlvm.views.likelihood_inference import InferredLikelihood, infer_likelihood, resolve_likelihoods
from mvlvm.views.scaling import Scaling, fit_scaling, fit_scalings
from mvlvm.views.validation import as_views

LIKELIHOODS = tuple(_REGISTRY)
# Former names, kept for existing code.
Guess = InferredLikelihood
guess_likelihood = infer_likelihood

__all__ = [
    "LIKELIHOODS",
    "Guess",
    "InferredLikelihood",
    "Layout",
    "Scaling",
    "Views",
    "as_views",
    "fit_scaling",
    "fit_scalings",
    "guess_likelihood",
    "infer_likelihood",
    "read",
    "resolve_likelihoods",
]

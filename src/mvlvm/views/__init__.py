"""Views: several measurements of the same samples."""

from mvlvm.views.checking import as_views
from mvlvm.views.container import Views
from mvlvm.views.interop import Layout
from mvlvm.views.kinds import LIKELIHOODS, Guess, guess_likelihood
from mvlvm.views.reading import read
from mvlvm.views.resolving import resolve_likelihoods
from mvlvm.views.scaling import Scaling, fit_scaling, fit_scalings

__all__ = [
    "LIKELIHOODS",
    "Guess",
    "Layout",
    "Scaling",
    "Views",
    "as_views",
    "fit_scaling",
    "fit_scalings",
    "guess_likelihood",
    "read",
    "resolve_likelihoods",
]

"""Likelihoods p(y | f): how the entries of a view are drawn around the values of its function."""

from mvlvm.likelihoods.base import AbstractLikelihood, Response
from mvlvm.likelihoods.bernoulli import Bernoulli
from mvlvm.likelihoods.categorical import Categorical
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.likelihoods.known import LIKELIHOODS
from mvlvm.likelihoods.negative_binomial import NegativeBinomial
from mvlvm.likelihoods.poisson import Poisson
from mvlvm.likelihoods.student_t import StudentT

__all__ = [
    "LIKELIHOODS",
    "AbstractLikelihood",
    "Bernoulli",
    "Categorical",
    "Gaussian",
    "NegativeBinomial",
    "Poisson",
    "Response",
    "StudentT",
]

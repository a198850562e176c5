"""Likelihoods p(y | f) of the entries y of a view given the values f of its latent function."""

from mvlvm.likelihoods.base import AbstractLikelihood, Response, Support
from mvlvm.likelihoods.bernoulli import Bernoulli
from mvlvm.likelihoods.categorical import Categorical
from mvlvm.likelihoods.counts import NegativeBinomial, Poisson
from mvlvm.likelihoods.gaussian import Gaussian
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
    "Support",
]

# The registry of all likelihoods by name: validation, encoding and models query it.
LIKELIHOODS: dict[str, type[AbstractLikelihood]] = {
    likelihood.name: likelihood
    for likelihood in (Gaussian, StudentT, Bernoulli, Poisson, NegativeBinomial, Categorical)
}

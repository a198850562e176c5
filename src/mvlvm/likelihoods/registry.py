"""Registry of all likelihoods by name."""

from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.likelihoods.bernoulli import Bernoulli
from mvlvm.likelihoods.categorical import Categorical
from mvlvm.likelihoods.counts import NegativeBinomial, Poisson
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.likelihoods.student_t import StudentT

LIKELIHOODS: dict[str, type[AbstractLikelihood]] = {
    likelihood.name: likelihood
    for likelihood in (Gaussian, StudentT, Bernoulli, Poisson, NegativeBinomial, Categorical)
}

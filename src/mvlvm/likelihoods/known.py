"""All likelihoods by the names users give."""

from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.likelihoods.bernoulli import Bernoulli
from mvlvm.likelihoods.categorical import Categorical
from mvlvm.likelihoods.gaussian import Gaussian
from mvlvm.likelihoods.negative_binomial import NegativeBinomial
from mvlvm.likelihoods.poisson import Poisson

LIKELIHOODS: dict[str, type[AbstractLikelihood]] = {
    likelihood.name: likelihood for likelihood in (Gaussian, Bernoulli, Poisson, NegativeBinomial, Categorical)
}

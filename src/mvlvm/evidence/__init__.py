"""The log evidence of a view, the divergence of the latent, and the bound they make."""

from mvlvm.evidence.elbo import Elbo, WeightedElbo
from mvlvm.evidence.exact import exact_log_evidence
from mvlvm.evidence.latent_kl import latent_kl
from mvlvm.evidence.random_features import log_evidence

__all__ = ["Elbo", "WeightedElbo", "exact_log_evidence", "latent_kl", "log_evidence"]

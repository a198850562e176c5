"""The evidence lower bound: log evidences of views, and the KL divergence of the latent posterior from its prior."""

from mvlvm.evidence.collapsed import log_evidence
from mvlvm.evidence.elbo import Elbo, WeightedElbo, latent_kl
from mvlvm.evidence.exact import exact_log_evidence

__all__ = ["Elbo", "WeightedElbo", "exact_log_evidence", "latent_kl", "log_evidence"]

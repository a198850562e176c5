"""The log evidence of a view, the divergence of the latent, and the bound they make."""

from mvlvm.evidence.collapsed import log_evidence
from mvlvm.evidence.elbo import Elbo, WeightedElbo, latent_kl
from mvlvm.evidence.exact import exact_log_evidence

__all__ = ["Elbo", "WeightedElbo", "exact_log_evidence", "latent_kl", "log_evidence"]

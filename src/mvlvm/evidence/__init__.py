"""The evidence lower bound: log evidences of views, and the KL divergence of the latent posterior from its prior."""

from mvlvm.evidence.collapsed import exact_log_evidence, log_evidence
from mvlvm.evidence.elbo import Elbo, Objective, latent_kl

__all__ = ["Elbo", "Objective", "exact_log_evidence", "latent_kl", "log_evidence"]

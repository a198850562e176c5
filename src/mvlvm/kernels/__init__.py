"""Kernels in closed form: NG-SM, bivariate SM, stationary SM, squared exponential and Gibbs."""

from mvlvm.kernels.classical import exponential_lengthscale, gibbs_kernel, rbf_kernel, sm_kernel
from mvlvm.kernels.ngsm import bivariate_sm_kernel, ngsm_kernel

__all__ = ["bivariate_sm_kernel", "exponential_lengthscale", "gibbs_kernel", "ngsm_kernel", "rbf_kernel", "sm_kernel"]

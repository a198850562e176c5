"""The methods of the speed studies by name: estimators, their families, and descriptions of their settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from benchmarks.speed.naive import PAPER_LEARNING_RATE, NaiveNGMVLVM
from mvlvm import baselines, defaults
from mvlvm.estimators import NGMVLVM

OURS, NAIVE = "NG-MVLVM", "naive"
# Families. NG-MVLVM is claimed to be faster than Gaussian processes and factor analysis.
OUR_FAMILY, NAIVE_FAMILY, GAUSSIAN_PROCESS, FACTOR_ANALYSIS, OTHER = (
    "ours", "naive", "Gaussian process", "factor analysis", "other",
)  # fmt: skip

_NONE: Mapping[str, Any] = MappingProxyType({})
_FEW_STEPS = MappingProxyType({"max_iter": 5})
_DEFAULTS = "default parameters"
_SPARSE_GPY = "25 inducing points, at most 1,000 evaluations of the ELBO by L-BFGS"


@dataclass(frozen=True, kw_only=True)
class SpeedMethod:
    """A method of the speed studies.

    Attributes:
        family: family of models.
        settings: description of the parameters.
        uses_device: whether the estimator has a parameter `device`, and so may be measured on a GPU.
        fewest_views: minimum number of views.
        short: parameters of fits that only check that everything works.
    """

    family: str
    settings: str = _DEFAULTS
    uses_device: bool = False
    fewest_views: int = 1
    short: Mapping[str, Any] = field(default_factory=lambda: _FEW_STEPS)


METHODS: Mapping[str, SpeedMethod] = {
    OURS: SpeedMethod(family=OUR_FAMILY, uses_device=True),
    NAIVE: SpeedMethod(
        family=NAIVE_FAMILY, uses_device=True,
        settings=f"{defaults.MAX_ITER:,} steps of Adam at {PAPER_LEARNING_RATE:g}, float64, autograd",
    ),
    "MV-ARFLVM": SpeedMethod(family=OUR_FAMILY, uses_device=True),
    "MV-GPLVM": SpeedMethod(family=GAUSSIAN_PROCESS),
    "MV-NGPLVM": SpeedMethod(family=GAUSSIAN_PROCESS),
    "MV-GPLVM-SVI": SpeedMethod(family=GAUSSIAN_PROCESS),
    "MV-DGPLVM": SpeedMethod(family=GAUSSIAN_PROCESS),
    "MV-RFLVM": SpeedMethod(
        family=GAUSSIAN_PROCESS, short=MappingProxyType({"max_iter": 5, "n_points": 6, "n_samples": 2})
    ),
    "MRD": SpeedMethod(family=GAUSSIAN_PROCESS, settings=_SPARSE_GPY, fewest_views=2),
    "BGPLVM": SpeedMethod(family=GAUSSIAN_PROCESS, settings=_SPARSE_GPY),
    "GPyTorch GPLVM": SpeedMethod(
        family=GAUSSIAN_PROCESS, uses_device=True,
        settings="25 inducing points per column, batches of 100 rows, 10,000 steps of Adam at 0.01",
    ),
    "MOFA": SpeedMethod(family=FACTOR_ANALYSIS, settings="at most 1,000 iterations, fast convergence mode"),
    "GFA": SpeedMethod(family=FACTOR_ANALYSIS, fewest_views=2),
    "MVAE": SpeedMethod(family=OTHER),
    "MMVAE": SpeedMethod(family=OTHER),
    "UMAP": SpeedMethod(family=OTHER),
    "t-SNE": SpeedMethod(family=OTHER, short=MappingProxyType({"max_iter": 250})),
    "Isomap": SpeedMethod(family=OTHER, short=_NONE),
    "PCA": SpeedMethod(family=OTHER, short=_NONE),
}  # fmt: skip


def make_method(
    name: str, *, device: str, seed: int, short: bool = False, parameters: Mapping[str, Any] = _NONE
) -> Any:  # fmt: skip
    """Return the unfitted estimator of a method.

    Args:
        name: name of the method.
        device: "cpu" or "cuda"; ignored by methods that run on a CPU only.
        seed: random seed.
        short: whether to take few steps only.
        parameters: parameters that take precedence.
    """
    method = METHODS[name]
    estimator = {OURS: NGMVLVM, NAIVE: NaiveNGMVLVM}.get(name) or baselines.get(name)
    return estimator(
        **{
            "n_components": defaults.N_COMPONENTS,
            "random_state": seed,
            **({"device": device} if method.uses_device else {}),
            **(method.short if short else {}),
            **parameters,
        }
    )

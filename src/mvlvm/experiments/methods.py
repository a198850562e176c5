"""The methods of a table, ready to be fitted: ours, and those of `mvlvm.baselines`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mvlvm import baselines
from mvlvm.baselines.admitting import Kind
from mvlvm.baselines.base import AbstractBaseline
from mvlvm.estimators import NGMVLVM
from mvlvm.experiments.spec import Cell, Effort

OURS = "NG-MVLVM"
# Methods that cost N^3, or whose chains would take days: they see no more rows, and tables say so.
MOST_ROWS = {"MV-GPLVM": 1000, "MV-NGPLVM": 1000, "MV-RFLVM": 2000, "RFLVM": 2000, "BGPLVM": 3000, "GFA": 10_000,
             "Isomap": 10_000, "t-SNE": 20_000, "UMAP": 70_000, "MV-DGPLVM": 10_000, "DGPLVM": 10_000,
             "GPLVM-SVI": 10_000, "MV-GPLVM-SVI": 10_000}  # fmt: skip
# Where latents are told apart by classes the start decides more than the number of steps does.
_STARTED_BY_BOUND = (OURS, "MV-ARFLVM", "ARFLVM")
START_NOTE = """NG-MVLVM and its stationary relatives start from principal components, from an eigenmap or from a layout
of the graph of neighbours, whichever has the best bound after 100 steps (`init="auto"`)."""
# A quick cell takes fewer steps; the numbers show that everything runs, and roughly what it gives.
_QUICK_STEPS = {
    300: ("NG-MVLVM", "MV-ARFLVM", "ARFLVM", "GPLVM-SVI", "DGPLVM", "MV-GPLVM-SVI", "MV-DGPLVM"),
    500: ("VAE", "NBVAE", "DCA", "CVQ-VAE", "MVAE", "MMVAE"),
    100: ("RFLVM", "MV-RFLVM", "BGPLVM"),
    30: ("MV-GPLVM", "MV-NGPLVM"),
}
_QUICK = {name: {"max_iter": n_steps} for n_steps, names in _QUICK_STEPS.items() for name in names}
# their chains keep no more draws than they make
_QUICK |= {name: {**_QUICK[name], "n_samples": 50} for name in ("RFLVM", "MV-RFLVM")}


def estimator_for(cell: Cell, n_components: int = 2, settings: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Make the estimator of a cell.

    Args:
        cell: its method, seed and effort.
        n_components: latent dimensions, D.
        settings: parameters of the method that the experiment sets itself.
    """
    quick = _QUICK.get(cell.method, {}) if cell.effort is Effort.QUICK else {}
    return _class_of(cell.method)(n_components=n_components, random_state=cell.seed, **{**quick, **settings})


def estimator_started_by_bound(cell: Cell, n_components: int = 2) -> Any:
    """Make the estimator of a cell, ours as `START_NOTE` says; its page has that note."""
    return estimator_for(cell, n_components, {"init": "auto"} if cell.method in _STARTED_BY_BOUND else {})


def readable(method: str, views: Mapping[str, Any]) -> dict[str, Any]:
    """Give views as a method can take them: whole numbers where it models counts."""
    estimator = _class_of(method)
    if issubclass(estimator, AbstractBaseline) and estimator.kind is Kind.COUNTS:
        return {name: np.rint(np.clip(Y, 0, None)) for name, Y in views.items()}
    return dict(views)


def _class_of(method: str) -> Any:
    return NGMVLVM if method == OURS else baselines.get(method)

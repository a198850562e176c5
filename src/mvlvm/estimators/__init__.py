"""Estimators in the manner of scikit-learn."""

from mvlvm.estimators.loading import load
from mvlvm.estimators.mv_arflvm import MVARFLVM
from mvlvm.estimators.ng_mvlvm import NGMVLVM
from mvlvm.estimators.to_mudata import to_mudata

__all__ = ["MVARFLVM", "NGMVLVM", "load", "to_mudata"]

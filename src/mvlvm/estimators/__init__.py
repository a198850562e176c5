"""The estimators in scikit-learn's interface."""

import os

from mvlvm.errors import ModelFileError
from mvlvm.estimators import serialization
from mvlvm.estimators.base import AbstractMultiViewLVM, adopt
from mvlvm.estimators.mv_arflvm import MVARFLVM
from mvlvm.estimators.ng_mvlvm import NGMVLVM
from mvlvm.estimators.to_mudata import to_mudata

__all__ = ["MVARFLVM", "NGMVLVM", "load", "to_mudata"]

ESTIMATORS = {estimator.__name__: estimator for estimator in (NGMVLVM, MVARFLVM)}


def load(path: str | os.PathLike[str]) -> AbstractMultiViewLVM:
    """Load a fitted estimator that was written by `save`. Its tensors are on the CPU.

    Args:
        path: the file, or the directory it was saved into.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has another format.
    """
    saved = serialization.read(path)
    if saved.estimator not in ESTIMATORS:
        raise ModelFileError(
            f"{path} holds a {saved.estimator}, which is unknown to this version. Known are: {', '.join(ESTIMATORS)}."
        )
    try:
        estimator = ESTIMATORS[saved.estimator](**saved.parameters)
        adopt(estimator, saved.fitted, saved.record)
    except serialization.DAMAGE as error:
        raise serialization.damaged(path, error) from error
    return estimator

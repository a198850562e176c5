"""From a file back to an estimator."""

import os

from mvlvm.errors import ModelFileError
from mvlvm.estimators import serialization as storage
from mvlvm.estimators.base import AbstractMultiViewLVM
from mvlvm.estimators.mv_arflvm import MVARFLVM
from mvlvm.estimators.ng_mvlvm import NGMVLVM

ESTIMATORS = {estimator.__name__: estimator for estimator in (NGMVLVM, MVARFLVM)}


def load(path: str | os.PathLike[str]) -> AbstractMultiViewLVM:
    """Give the fitted estimator that `save` wrote. Its tensors are on the CPU.

    Args:
        path: the file, or the folder it was saved into.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has a newer format.
    """
    saved = storage.read(path)
    if saved.estimator not in ESTIMATORS:
        raise ModelFileError(
            f"{path} holds a {saved.estimator}, which this version does not know. Known are: {', '.join(ESTIMATORS)}."
        )
    try:
        estimator = ESTIMATORS[saved.estimator](**saved.parameters)
        estimator.adopt(saved.fitted, saved.record)
    except storage.DAMAGE as error:
        raise storage.damaged(path, error) from error
    return estimator

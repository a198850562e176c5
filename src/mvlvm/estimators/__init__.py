"""The estimators in scikit-learn's interface."""

import os

from mvlvm.errors import ModelFileError
from mvlvm.estimators import serialization
from mvlvm.estimators.base import AbstractMultiViewLVM, adopt
from mvlvm.estimators.mv_arflvm import MVARFLVM
from mvlvm.estimators.ng_mvlvm import NGMVLVM
from mvlvm.estimators.to_mudata import to_mudata
from mvlvm.io.model_files import ModelFile, damage_reported, read_model
from mvlvm.io.schema import check_arguments

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
    return from_file(read_model(path))


def from_file(file: ModelFile) -> AbstractMultiViewLVM:
    """Return the estimator that a file contains.

    Raises:
        ModelFileError: the file does not contain one of these estimators, or is damaged.
    """
    name = str(file.header.get("estimator"))
    if name not in ESTIMATORS:
        raise ModelFileError(
            f"{file.source} holds a {name!r:.50}, which is unknown to this version. Known are: {', '.join(ESTIMATORS)}."
        )
    with damage_reported(file.source):
        saved = serialization.unpack(file.header, file.arrays)
        check_arguments(ESTIMATORS[name].__init__, saved.parameters, "parameters")
        estimator = ESTIMATORS[name](**saved.parameters)
        adopt(estimator, saved.fitted, saved.record, with_missing=saved.with_missing)
    return estimator

"""From a file back to an estimator, whichever it holds."""

import os
from typing import Any

from mvlvm import estimators
from mvlvm.baselines import storage
from mvlvm.baselines.registry import ENTRIES
from mvlvm.errors import ModelFileError
from mvlvm.estimators.serialization import DAMAGE, damaged, read_file


def load(path: str | os.PathLike[str]) -> Any:
    """Give the fitted estimator that `save` wrote. Its tensors are on the CPU.

    Args:
        path: the file, or the folder it was saved into.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has a newer format.
    """
    header, arrays = read_file(path)
    if not storage.is_baseline(header):
        return estimators.load(path)
    known = {entry.class_name: entry for entry in ENTRIES}
    try:
        saved = storage.unpack(header, arrays)
        if saved.estimator not in known:
            raise ModelFileError(f"{path} holds a {saved.estimator}, which this version does not know.")
        estimator = known[saved.estimator].estimator(**saved.parameters)
        estimator.restore(saved.admitted, saved.state)
    except DAMAGE as error:
        raise damaged(path, error) from error
    return estimator

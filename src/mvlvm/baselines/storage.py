"""Saved baselines: arrays beside a JSON header, in the same kind of file as every other model.

From a file back to an estimator, whichever it holds.
"""

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from mvlvm import estimators
from mvlvm.baselines.registry import ENTRIES
from mvlvm.baselines.validation import ValidatedViews
from mvlvm.errors import ModelFileError
from mvlvm.estimators.serialization import DAMAGE, damaged, pack_layout, plain, read_file, unpack_layout, write_file
from mvlvm.views.encoding import encoding_from_dict, encoding_to_dict
from mvlvm.views.scaling import Scaling

KIND = "baseline"
_PARTS = ("mean", "factor", "kept", "seen")


class SavedBaseline(NamedTuple):
    """All that a file holds: the class name, its parameters, how views came in, and what was learned."""

    estimator: str
    parameters: dict[str, Any]
    admitted: ValidatedViews
    state: dict[str, np.ndarray]


def save(
    path: str | os.PathLike[str],
    estimator: str,
    parameters: Mapping[str, Any],
    admitted: ValidatedViews,
    state: Mapping[str, np.ndarray],
) -> None:
    """Write a fitted baseline. The file appears whole or not at all."""
    header = {
        "kind": KIND,
        "estimator": estimator,
        "parameters": {name: plain(name, value) for name, value in parameters.items()},
        "layout": pack_layout(admitted.layout),
        "views": [
            {"name": name, "width": width, "scale": admitted.scalings[name].scale,
             "encoding": encoding_to_dict(admitted.encodings[name])}
            for name, width in admitted.widths.items()
        ],
    }  # fmt: skip
    arrays = {f"state.{name}": np.asarray(array) for name, array in state.items()}
    for i, name in enumerate(admitted.widths):
        arrays |= {f"view.{i}.{part}": vars(admitted.scalings[name])[part] for part in _PARTS}
    write_file(path, header, arrays)


def is_baseline(header: Mapping[str, Any]) -> bool:
    """Tell whether a file holds a baseline."""
    return header.get("kind") == KIND


def unpack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SavedBaseline:
    """Put together what a file holds."""
    views = {view["name"]: (i, view) for i, view in enumerate(header["views"])}
    scalings = {
        name: Scaling(**{part: arrays[f"view.{i}.{part}"] for part in _PARTS}, scale=view["scale"])
        for name, (i, view) in views.items()
    }
    admitted = ValidatedViews(
        {},
        scalings,
        {name: encoding_from_dict(view["encoding"]) for name, (_, view) in views.items()},
        {name: view["width"] for name, (_, view) in views.items()},
        unpack_layout(header["layout"]),
    )
    state = {name.removeprefix("state."): array for name, array in arrays.items() if name.startswith("state.")}
    return SavedBaseline(header["estimator"], dict(header["parameters"]), admitted, state)


def load(path: str | os.PathLike[str]) -> Any:
    """Give the fitted estimator that `save` wrote. Its tensors are on the CPU.

    Args:
        path: the file, or the folder it was saved into.

    Raises:
        FileNotFoundError: there is no such file.
        ModelFileError: it is not a saved model, is damaged, or has a newer format.
    """
    header, arrays = read_file(path)
    if not is_baseline(header):
        return estimators.load(path)
    known = {entry.class_name: entry for entry in ENTRIES}
    try:
        saved = unpack(header, arrays)
        if saved.estimator not in known:
            raise ModelFileError(f"{path} holds a {saved.estimator}, which this version does not know.")
        estimator = known[saved.estimator].estimator(**saved.parameters)
        estimator.restore(saved.admitted, saved.state)
    except DAMAGE as error:
        raise damaged(path, error) from error
    return estimator

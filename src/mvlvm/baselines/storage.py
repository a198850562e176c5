"""Saving and loading of fitted baselines: named arrays and a JSON header, in the file format of all estimators."""

import os
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np

from mvlvm import estimators
from mvlvm.baselines.baseline_input import BaselineInput
from mvlvm.baselines.registry import ENTRIES
from mvlvm.errors import ModelFileError
from mvlvm.estimators.serialization import LayoutHeader, pack_layout, plain, unpack_layout
from mvlvm.io.model_files import ModelFile, damage_reported, read_model, write_model
from mvlvm.io.schema import check_arguments, check_type
from mvlvm.views.encoding import encoding_from_dict, encoding_to_dict
from mvlvm.views.scaling import Scaling

KIND = "baseline"
_PARTS = ("mean", "factor", "kept", "seen")


class BaselineViewHeader(TypedDict):
    """A view of a baseline."""

    name: str
    width: int
    scale: Literal["view", "column"] | None
    encoding: dict[str, Any]


class BaselineHeader(TypedDict):
    """A fitted baseline."""

    format: str
    format_version: int
    library_version: str
    kind: Literal["baseline"]
    estimator: str
    parameters: dict[str, Any]
    layout: LayoutHeader
    views: list[BaselineViewHeader]


class SavedBaseline(NamedTuple):
    """Contents of a file: class name, constructor parameters, validation of the views, and fitted state."""

    estimator: str
    parameters: dict[str, Any]
    validated: BaselineInput
    state: dict[str, np.ndarray]


def save(
    path: str | os.PathLike[str],
    estimator: str,
    parameters: Mapping[str, Any],
    validated: BaselineInput,
    state: Mapping[str, np.ndarray],
) -> None:
    """Save a fitted baseline; an interrupted write leaves no partial file."""
    header = {
        "kind": KIND,
        "estimator": estimator,
        "parameters": {name: plain(name, value) for name, value in parameters.items()},
        "layout": pack_layout(validated.layout),
        "views": [
            {"name": name, "width": width, "scale": validated.scalings[name].scale,
             "encoding": encoding_to_dict(validated.encodings[name])}
            for name, width in validated.widths.items()
        ],
    }  # fmt: skip
    arrays = {f"state.{name}": np.asarray(array) for name, array in state.items()}
    for i, name in enumerate(validated.widths):
        arrays |= {f"view.{i}.{part}": vars(validated.scalings[name])[part] for part in _PARTS}
    write_model(path, header, arrays)


def unpack(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SavedBaseline:
    """Return the contents of a file, given its header and arrays."""
    check_type(header, BaselineHeader, "header")
    views = {view["name"]: (i, view) for i, view in enumerate(header["views"])}
    scalings = {
        name: Scaling(**{part: arrays[f"view.{i}.{part}"] for part in _PARTS}, scale=view["scale"])
        for name, (i, view) in views.items()
    }
    validated = BaselineInput(
        {},
        scalings,
        {name: encoding_from_dict(view["encoding"]) for name, (_, view) in views.items()},
        {name: view["width"] for name, (_, view) in views.items()},
        unpack_layout(header["layout"]),
    )
    state = {name.removeprefix("state."): array for name, array in arrays.items() if name.startswith("state.")}
    return SavedBaseline(header["estimator"], dict(header["parameters"]), validated, state)


def load(path: str | os.PathLike[str]) -> Any:
    """Load a fitted estimator that was saved with `save`; its tensors are on the CPU.

    Args:
        path: the file, or the folder that it was saved into.

    Returns:
        The fitted baseline, or one of the estimators of `mvlvm.estimators`.

    Raises:
        FileNotFoundError: the file does not exist.
        ModelFileError: the file is not a saved model, is corrupt, or has a newer format.
    """
    file = read_model(path)
    return from_file(file) if file.header.get("kind") == KIND else estimators.from_file(file)


def from_file(file: ModelFile) -> Any:
    """Return the baseline that a file contains.

    Raises:
        ModelFileError: it is damaged, or contains a method that is unknown to this version.
    """
    with damage_reported(file.source):
        saved = unpack(file.header, file.arrays)
        entry = next((entry for entry in ENTRIES if entry.class_name == saved.estimator), None)
        if entry is None:
            raise ModelFileError(f"{file.source} holds a {saved.estimator}, which is unknown to this version.")
        check_arguments(entry.estimator.__init__, saved.parameters, "parameters")
        estimator = entry.estimator(**saved.parameters)
        estimator.restore(saved.validated, saved.state)
    return estimator

"""Data sets that come with R packages, converted to the files of the cache."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mvlvm.datasets.arrays import write_arrays

# The file numbers the classes; the names follow from the class sizes, which are all different.
CORA_CLASSES = (
    "Neural_Networks", "Rule_Learning", "Reinforcement_Learning", "Probabilistic_Methods", "Theory",
    "Genetic_Algorithms", "Case_Based",
)  # fmt: skip
# ORKM's help pages confuse the first two; shapes and first columns tell which is which.
CORA_VIEWS = {"content": "cora_view2", "citations": "cora_view1", "inbound": "cora_view3", "outbound": "cora_view4"}
_TCGA_VIEWS = ("mrna", "mirna", "protein")


def movies(raw: Mapping[str, Path], target: Path) -> None:
    """Convert keywords and actors of films, and their genres."""
    views = {"keywords": "movie_1", "actors": "movie_2"}
    arrays = {view: np.asarray(_read_object(raw, name), dtype=np.uint8) for view, name in views.items()}
    write_arrays(target, arrays | {"label": _class_numbers(_read_object(raw, "turelabel"))})


def cora(raw: Mapping[str, Path], target: Path) -> None:
    """Convert words of and links between papers, and their subjects."""
    arrays = {view: np.asarray(_read_object(raw, name), dtype=np.uint8) for view, name in CORA_VIEWS.items()}
    label = _class_numbers(_read_object(raw, "labelcora"))
    write_arrays(target, arrays | {"label": label, "label_names": np.array(CORA_CLASSES)})


def breast_tcga(raw: Mapping[str, Path], target: Path) -> None:
    """Convert three kinds of measurements of breast tumours; the test part lacks the proteins."""
    parts = [_read_object(raw, "breast.TCGA")[name] for name in ("data.train", "data.test")]
    subtypes = np.concatenate([np.asarray(part["subtype"]).astype(str) for part in parts])
    label_names, label = np.unique(subtypes, return_inverse=True)
    is_test = np.repeat([False, True], [len(part["subtype"]) for part in parts])
    arrays = {"label": label.astype(np.int16), "label_names": label_names, "is_test": is_test}
    arrays["sample"] = np.concatenate([_axis_names(part["mrna"], 0) for part in parts])
    for view in _TCGA_VIEWS:
        values = [np.asarray(part[view], dtype=np.float32) for part in parts if view in part]
        arrays[view] = np.full((len(label), values[0].shape[1]), np.nan, dtype=np.float32)
        arrays[view][: sum(map(len, values))] = np.concatenate(values)
        arrays[f"observed_{view}"] = ~np.isnan(arrays[view]).all(axis=1)
        arrays[f"{view}_names"] = _axis_names(parts[0][view], 1)
    write_arrays(target, arrays)


def _read_object(raw: Mapping[str, Path], name: str) -> Any:
    """Read the one object of `name.rda`. It is parsed, never run."""
    import rdata  # whose absence is noticed before anything is downloaded

    return rdata.read_rda(raw[f"{name}.rda"])[name]


def _class_numbers(classes: Any) -> np.ndarray:
    return np.unique(np.asarray(classes).ravel(), return_inverse=True)[1].astype(np.int16)


def _axis_names(table: Any, axis: int) -> np.ndarray:
    """Give the names of rows or columns of a data frame of pandas or, for an R matrix, an array of xarray."""
    from pandas import DataFrame

    frame = table if isinstance(table, DataFrame) else table.to_pandas()
    return frame.axes[axis].to_numpy().astype(str)

"""The folder that `mvlvm fit` writes: the model, tables of its results, and the options that repeat the fit."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import tomli_w

from mvlvm.cli.exit_handling import UsageError
from mvlvm.errors import ModelFileError
from mvlvm.io import write
from mvlvm.io.atomic import write_atomically

if TYPE_CHECKING:
    from mvlvm.estimators.base import AbstractMultiViewLVM

MODEL_FILE, OPTIONS_FILE, VIEWS_FILE = "model.safetensors", "fit.toml", "views.csv"


def write_model_folder(
    folder: Path,
    est: "AbstractMultiViewLVM",
    views: Mapping[str, pd.DataFrame],
    *,
    labels: pd.Series | None,
    options: Mapping[str, Any],
    data: bool | str,
) -> None:
    """Write a fitted model and tables of its results into an empty folder.

    Args:
        folder: the folder.
        est: the model.
        views: the training views.
        labels: labels of the training rows, for figures; None for none.
        options: the options that repeat the fit, for TOML.
        data: whether the model file contains the training rows; "predict" for those that predictions need.
    """
    est.save(folder / MODEL_FILE, data=data)
    index = next(iter(views.values())).index
    write(folder / "embedding.csv", embedding_table(est, index))
    write(folder / "relevance.csv", est.relevance().rename_axis("view"))
    write(folder / VIEWS_FILE, views_table(est, views))
    write(folder / "history.csv", pd.DataFrame(dict(est.history_)))
    if labels is not None:
        write(folder / "labels.csv", labels.to_frame())
    write_atomically(folder / OPTIONS_FILE, tomli_w.dumps(options).encode())


def embedding_table(est: "AbstractMultiViewLVM", index: pd.Index) -> pd.DataFrame:
    """Return the latents of the training rows, with those of private dimensions, and their standard deviations."""
    means = [est.embedding_, *est.private_embedding_.values()]
    stds = [est.embedding_std_, *est.private_embedding_std_.values()]
    return latent_table(np.hstack(means), np.hstack(stds), index, est.model_.dimensions.names())


def latent_table(mean: np.ndarray, std: np.ndarray, index: pd.Index, names: list[str]) -> pd.DataFrame:
    """Return latents and their standard deviations as a table."""
    columns = pd.Index([*names, *(f"{name}_std" for name in names)])
    return pd.DataFrame(np.hstack([mean, std]), index=index, columns=columns)


def views_table(est: "AbstractMultiViewLVM", views: Mapping[str, pd.DataFrame] | None) -> pd.DataFrame:
    """Return a table of the views: their size and missing entries, likelihood, noise and explained variance.

    Args:
        est: the model.
        views: the training views; None if they are not known.
    """
    rows = {}
    for name in est.view_names_:
        row: dict[str, Any] = {"columns": est.model_.views[name].n_columns}
        if views is not None:
            missing = views[name].isna().to_numpy()
            observed = ~missing.all(axis=1)
            row |= {
                "rows": int(observed.sum()),
                "missing_rows": int((~observed).sum()),
                "missing_entries": float(missing[observed].mean()) if observed.any() else 0.0,
            }
        row |= {
            "likelihood": est.likelihood_[name],
            "scale": est.scale_[name] or "none",
            "noise_std": np.sqrt(est.noise_variance_.get(name, np.nan)),
            "explained_variance": est.explained_variance_[name],
        }
        rows[name] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("view")


def load_model(path: Path) -> "AbstractMultiViewLVM":
    """Load the model in a folder or file.

    Raises:
        UsageError: there is none.
        ModelFileError: it is damaged, or not one of the estimators.
    """
    import mvlvm
    from mvlvm.estimators.base import AbstractMultiViewLVM

    try:
        est = mvlvm.load(path)
    except FileNotFoundError:
        raise UsageError(f"There is no model at {path}. Write one with: mvlvm fit ... --out {path}") from None
    if not isinstance(est, AbstractMultiViewLVM):
        raise ModelFileError(f"{path} holds a {type(est).__name__}. The commands work with NGMVLVM and MVARFLVM.")
    return est


def check_output_folder(path: Path, *, force: bool) -> None:
    """Check that a folder can be written.

    Raises:
        UsageError: it exists and may not be replaced, or the folder for it does not exist.
    """
    if not path.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {path.absolute().parent} to write {path.name} into. Create it first.")
    if not path.exists():
        return
    if not path.is_dir():
        raise UsageError(f"{path} is a file, and must be a folder. Choose another name.")
    if not any(path.iterdir()):
        return
    if not (path / MODEL_FILE).is_file():
        raise UsageError(f"{path} exists and holds other files than a model, which are never replaced. Choose another.")
    if not force:
        raise UsageError(f"{path} holds a model already. Choose another folder, or replace it with --force.")

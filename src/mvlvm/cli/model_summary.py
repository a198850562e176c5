"""The summary of a fitted model that `mvlvm show` prints."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from mvlvm.cli.model_folder import VIEWS_FILE, views_table

if TYPE_CHECKING:
    from mvlvm.estimators.base import AbstractMultiViewLVM

# Background of a cell by its value from 0 to 1, in shades of blue that are readable on dark and light terminals.
_SHADES = ("", "on grey93", "on light_sky_blue1", "on sky_blue2", "on steel_blue1", "on dodger_blue2")
_LIGHT_SHADES = 4
# Headers that fit into 80 columns.
_HEADERS = {"missing_rows": "missing rows", "missing_entries": "missing entries", "noise_std": "noise std",
            "explained_variance": "explained"}  # fmt: skip


def summary(path: Path, est: "AbstractMultiViewLVM") -> dict[str, Any]:
    """Return what is known of a model, as values for JSON.

    Args:
        path: the folder or file of the model.
        est: the model.
    """
    file = path / VIEWS_FILE
    views = pd.read_csv(file, index_col=0) if file.is_file() else views_table(est, None)
    relevance = est.relevance()
    return {
        "model": str(path),
        "estimator": type(est).__name__,
        "rows": len(est.embedding_),
        "n_components": est.n_components_,
        "elbo": est.elbo_,
        "n_iter": est.n_iter_,
        "stop_reason": est.stop_reason_,
        "init": est.init_,
        "random_state": est.get_params()["random_state"],
        "views": {str(name): row for name, row in views.to_dict(orient="index").items()},
        "relevance": {str(name): row for name, row in relevance.to_dict(orient="index").items()},
    }


def print_summary(values: Mapping[str, Any]) -> None:
    """Print a summary as tables."""
    console = Console()
    console.print(
        f"[bold]{values['estimator']}[/bold] in {values['model']}: {values['rows']:,} rows, "
        f"{len(values['views'])} views, {values['n_components']} shared dimensions",
        soft_wrap=True,
        highlight=False,
    )
    per_entry = f"bound {values['elbo']:,.1f} nats, {values['n_iter']} steps ({values['stop_reason']})"
    console.print(f"{per_entry}, initialised by {values['init']}, seed {values['random_state']}", highlight=False)
    console.print(_views_table(values["views"]))
    console.print("Relevance of the latent dimensions: share of each in the variation of a view", highlight=False)
    console.print(_relevance_table(values["relevance"]))


def _views_table(views: Mapping[str, Mapping[str, Any]]) -> Table:
    columns = {name: None for row in views.values() for name in row}
    table = Table("view", box=SIMPLE_HEAD, padding=0, show_edge=False)
    for name in columns:
        text = name in ("likelihood", "scale")
        table.add_column(_HEADERS.get(name, name), justify="left" if text else "right", no_wrap=text, overflow="fold")
    for name, row in views.items():
        table.add_row(str(name), *(_cell(column, row.get(column)) for column in columns))
    return table


def _cell(column: str, value: Any) -> str:
    if isinstance(value, float):
        shares = column in ("missing_entries", "explained_variance")
        return "" if math.isnan(value) else f"{value:.1%}" if shares else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _relevance_table(relevance: Mapping[str, Mapping[str, float]]) -> Table:
    dimensions = list(next(iter(relevance.values())))
    table = Table("view", *dimensions, box=SIMPLE_HEAD, padding=0, show_edge=False)
    for name, row in relevance.items():
        table.add_row(str(name), *(_heat_cell(row[dimension]) for dimension in dimensions))
    return table


def _heat_cell(share: float) -> Text:
    shade = min(int(share * len(_SHADES)), len(_SHADES) - 1)
    foreground = "" if shade == 0 else "black" if shade <= _LIGHT_SHADES else "white"
    return Text(f"{share:6.1%}", style=f"{foreground} {_SHADES[shade]}".strip())

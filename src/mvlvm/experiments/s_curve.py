"""The S-curve of the synthetic experiments: how much of it is drawn, and how near latents come to the truth."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from mvlvm import plots
from mvlvm.datasets import Dataset, load
from mvlvm.evaluation import affine_r2, best_affine_map
from mvlvm.experiments.found import Found
from mvlvm.experiments.spec import Cell, Effort
from mvlvm.experiments.tables import Measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The paper gives neither rows nor columns of its synthetic views.
_ROWS = {Effort.QUICK: 200, Effort.FULL: 500}
N_COLUMNS = 100
_MOST_SHOWN = 125
R2 = Measure("R2", "R²", times=1.0, digits=3)


def draw_s_curve(cell: Cell, kernels: Any, *, n_columns: int = N_COLUMNS) -> Dataset:
    """Draw the views of a cell, by its seed; quick cells have fewer rows.

    Args:
        cell: its seed and effort.
        kernels: of the views, as `load("s-curve")` takes them.
        n_columns: of every view.
    """
    n_rows = _ROWS[cell.effort]
    return load("s-curve", kernels=kernels, n_samples=n_rows, n_features=n_columns, random_state=cell.seed)


def shown_rows(n_rows: int) -> Int[np.ndarray, " K"]:
    """Give rows evenly along the curve, as many as a small figure can show."""
    return np.linspace(0, n_rows - 1, min(n_rows, _MOST_SHOWN)).astype(int)


def aligned(data: Dataset, latents: Float[np.ndarray, "N D"]) -> dict[str, np.ndarray]:
    """Give what a figure shows of latents: the rows shown, moved onto the truth as far as an affine map can."""
    rows = shown_rows(len(latents))
    return {
        "latents": best_affine_map(data.truth["latents"], latents)[rows].astype(np.float32),
        "true latents": data.truth["latents"][rows].astype(np.float32),
        "angle": data.truth["angle"][rows].astype(np.float32),
    }


def latent_r2(data: Dataset, latents: Float[np.ndarray, "N D"]) -> dict[str, float]:
    """Give R² after the best affine map, by its name in cells."""
    return {R2.number: affine_r2(data.truth["latents"], latents)}


def note_on_seed(found: Found) -> str:
    """Say which seed the figures of single fits are of."""
    return f"Latents are shown of the first seed, {_first_seed(found)}." if found.done else ""


def shown_of(found: Found, data: str) -> dict[Cell, dict[str, np.ndarray]]:
    """Give what is kept for figures of a data set's cells of the first seed, in the order of methods and axes."""
    cells = [record.cell for record in found.select(data) if record.cell.seed == _first_seed(found)]
    cells.sort(key=lambda cell: (found.methods.index(cell.method), *(value for _, value in cell.at)))
    kept = {cell: found.arrays(cell) for cell in cells}
    return {cell: arrays for cell, arrays in kept.items() if arrays}


def latent_gallery(
    found: Found, data: str, name: str, place: Callable[[Cell], tuple[str, str]]
) -> "dict[str, Figure]":  # fmt: skip
    """Draw the latents of the first seed with their R², and the truth beside them; empty if none are kept.

    Args:
        found: the results.
        data: the data set.
        name: of the figure.
        place: gives the row and the column of a cell.
    """
    kept, r2 = shown_of(found, data), {record.cell: record.numbers[R2.number] for record in found.select(data)}
    if not kept:
        return {}
    latents: dict[str, dict[str, np.ndarray]] = {}
    notes: dict[str, dict[str, str]] = {}
    for cell, arrays in kept.items():
        row, column = place(cell)
        latents.setdefault(row, {})[column] = arrays["latents"]
        notes.setdefault(row, {})[column] = f"R² {r2[cell]:.3f}"
    truth = next(iter(kept.values()))
    latents = {row: {**of_row, "truth": truth["true latents"]} for row, of_row in latents.items()}
    label = "angle along the curve (rad)"
    return {name: plots.plot_latent_gallery(latents, truth["angle"], label=label, notes=notes)}


def _first_seed(found: Found) -> int:
    return min(record.cell.seed for record in found.done)

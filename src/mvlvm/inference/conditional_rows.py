"""Predictions by the conditional layer: which rows it applies to, and the layers of all pairs that were asked for."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from mvlvm.inference.conditional import (
    MIN_ROWS,
    ConditionalLayer,
    KnownRows,
    LayerChoice,
    choose_layer,
    condition_layer,
)
from mvlvm.inference.held_out_latents import HeldOutLatents, TrainingRows
from mvlvm.inference.missing_columns import MAX_COLUMNS_WITH_GAPS
from mvlvm.lazy import Lazy
from mvlvm.likelihoods.base import AbstractLikelihood
from mvlvm.models.multiview import MultiViewLVM
from mvlvm.randomness import Stream, make_generator

LATENT, BLEND, AUTO = "latent", "blend", "auto"
CONDITIONALS = (AUTO, LATENT, BLEND)
# Layers of further pairs replace those that were not used for the longest time.
_MAX_CACHED_BYTES = 1e9

Arrays = Mapping[str, Float[np.ndarray, "N _"]]


class Pair(NamedTuple):
    """A Gaussian view and those that it is predicted from, in the order of the model."""

    given: tuple[str, ...]
    target: str


class SavedLayer(NamedTuple):
    """What has to be saved of a layer besides the training rows.

    Attributes:
        choice: what was chosen when it was fitted.
        latent: latent predictions of its training rows.
        latent_variance: their variances.
    """

    choice: LayerChoice
    latent: Float[np.ndarray, "N M"]
    latent_variance: Float[np.ndarray, "N M"]


class LayerOrReason(NamedTuple):
    """A conditional layer, or why there is none.

    Attributes:
        layer: the layer.
        reason: the reason, as the end of a sentence; empty if there is a layer.
    """

    layer: ConditionalLayer | None
    reason: str = ""


class ConditionalLayers:
    """The conditional layers of a model, each fitted on first use, once, and the folds that they share.

    Args:
        model: the trained model.
        rows: the training rows; None if they are not available.
        held_out: predictions of these rows by the latents.
        tempering: returns the exponent of the likelihood when a view is predicted from others.
        seed: of all draws.
        saved: pair -> a layer that was fitted before.
    """

    def __init__(
        self,
        model: MultiViewLVM,
        rows: Lazy[TrainingRows | None],
        held_out: Lazy[HeldOutLatents],
        tempering: Callable[[str], float],
        seed: int,
        saved: Mapping[Pair, SavedLayer] | None = None,
    ) -> None:
        self.rows, self._saved = rows, saved or {}
        self._model, self._held_out, self._tempering, self._seed = model, held_out, tempering, seed
        self._lock = threading.Lock()
        self._layers: OrderedDict[Pair, Lazy[LayerOrReason]] = OrderedDict()

    @property
    def lacks_rows(self) -> bool:
        """Whether the training rows are not available."""
        return self.rows.value is None

    def find(self, pair: Pair) -> LayerOrReason:
        """Return the layer of a pair, fitted if this is its first use."""
        with self._lock:
            layer = self._layers.setdefault(pair, Lazy(lambda: self._fit(pair)))
            self._layers.move_to_end(pair)
        found = layer.value
        self._drop_old()
        return found

    def _drop_old(self) -> None:
        """Drop the layers that were not used for the longest time, if all of them need too much memory."""
        with self._lock:
            fitted = {pair: lazy.value.layer for pair, lazy in self._layers.items() if lazy.is_computed}
            sizes = {pair: layer.n_bytes for pair, layer in fitted.items() if layer is not None}
            total = sum(sizes.values())
            for pair in list(sizes)[:-1]:
                if total > _MAX_CACHED_BYTES:
                    total -= sizes[pair]
                    del self._layers[pair]

    def _fit(self, pair: Pair) -> LayerOrReason:
        likelihoods = {name: view.likelihood for name, view in self._model.modules_by_view.items()}
        rows = self.rows.value
        if rows is None:
            return LayerOrReason(None, "the training rows are not available")
        chosen = rows.complete((*pair.given, pair.target))
        n_rows = int(chosen.sum())
        if n_rows < MIN_ROWS:
            names = ", ".join(f"'{name}'" for name in (*pair.given, pair.target))
            return LayerOrReason(None, f"{n_rows} training rows have all entries of {names}, and {MIN_ROWS} are needed")
        target = rows.entries[pair.target][chosen].double().numpy()
        entries = {name: rows.entries[name][chosen].double().numpy() for name in pair.given}
        columns, view_of = given_columns(entries, likelihoods)
        saved = self._saved.get(pair)
        if saved is None or len(saved.latent) != n_rows:
            level = self._tempering(pair.target)
            mean, variance = self._held_out.value.predict(pair.given, pair.target, chosen, tempering=level)
            # as they are saved, so that a model that is loaded makes the same predictions
            known = KnownRows(columns, mean.float().double().numpy(), variance.float().double().numpy())
            choice = choose_layer(known, view_of, target, make_generator(self._seed, Stream.CONDITIONAL))
        else:
            known, choice = KnownRows(columns, saved.latent, saved.latent_variance), saved.choice
        return LayerOrReason(condition_layer(known, target, choice))

    @property
    def saved(self) -> dict[Pair, SavedLayer]:
        """The layers that were fitted so far."""
        with self._lock:
            fitted = {pair: lazy.value.layer for pair, lazy in self._layers.items() if lazy.is_computed}
        layers = {pair: layer for pair, layer in fitted.items() if layer is not None}
        return {**self._saved, **{pair: SavedLayer(layer.choice, *layer.latent) for pair, layer in layers.items()}}


def given_columns(
    entries: Arrays, likelihoods: Mapping[str, AbstractLikelihood]
) -> tuple[Float[np.ndarray, "N C"], Int[np.ndarray, " C"]]:
    """Return the columns of given views side by side, counts as log(1 + y), and the view of every column."""
    parts = [np.log1p(Y) if likelihoods[name].log_link else Y for name, Y in entries.items()]
    return np.concatenate(parts, axis=1), np.repeat(np.arange(len(parts)), [Y.shape[1] for Y in parts])


class RowsOfLayer(NamedTuple):
    """Rows that a layer predicts.

    Attributes:
        indices: their indices.
        given: the views that they have.
        layer: the layer.
    """

    indices: Int[np.ndarray, " n"]
    given: tuple[str, ...]
    layer: ConditionalLayer


def given_patterns(scaled: Arrays, target: str) -> list[tuple[tuple[str, ...], Int[np.ndarray, " n"]]]:
    """Group rows without the target by the views that they have, at least in part.

    Rows with gaps in so many columns that filling them takes too long are left out.

    Args:
        scaled: view name -> scaled entries; NaN marks missing entries.
        target: name of the view to predict.
    """
    names = [name for name in scaled if name != target]
    if not names:
        return []
    usable = np.isnan(scaled[target]).all(axis=1) if target in scaled else np.ones(len(scaled[names[0]]), dtype=bool)
    has = np.stack([~np.isnan(scaled[name]).all(axis=1) for name in names], axis=1)
    complete = np.stack([~np.isnan(scaled[name]).any(axis=1) for name in names], axis=1)
    widths = np.array([scaled[name].shape[1] for name in names])
    usable &= has.any(axis=1) & ((has == complete).all(axis=1) | (has @ widths <= MAX_COLUMNS_WITH_GAPS))
    patterns, which = np.unique(has[usable], axis=0, return_inverse=True)
    rows = np.flatnonzero(usable)
    return [
        (tuple(name for name, given in zip(names, pattern, strict=True) if given), rows[which.ravel() == k])
        for k, pattern in enumerate(patterns)
    ]

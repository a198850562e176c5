"""Wireless channel coefficients as two views: the real and the imaginary part at every antenna."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Complex, Float, Shaped

from mvlvm.checks import check_choice
from mvlvm.datasets.dataset import Dataset, check_available, check_count

Normalise = Literal["row", "user", "raw"]

_DESCRIPTION = {
    "row": "Every complex row has unit norm, over both views together.",
    "user": "The rows of each user are scaled by one factor to a mean power of one.",
    "raw": "The coefficients are not normalised; they include path loss and shadowing.",
}
# Arrays of channel.npz that contain or identify the rows of the views; all others become ground truth, some under a
# shorter name.
_ROW_ARRAYS = ("real", "imag", "ue", "snapshot")
# Arrays read from channel.npz; the others only repeat the settings of the paper's table.
ARCHIVE: tuple[str, ...] = (
    *_ROW_ARRAYS, "ue_start_position_m", "ue_direction", "ue_is_nlos", "tx_element_position_m", "bs_position_m",
    "carrier_hz", "speed_m_s", "sample_interval_s",
)  # fmt: skip
_TRUTH_NAMES = {
    "ue_start_position_m": "start_position_m",
    "ue_direction": "direction",
    "ue_is_nlos": "is_nlos",
    "tx_element_position_m": "antenna_position_m",
}


def channel_dataset(
    coefficients: Complex[np.ndarray, "U T A"],
    *,
    normalise: Normalise = "row",
    n_snapshots: int | None = None,
    sample_interval_s: float | None = None,
) -> Dataset:
    """Convert complex channel coefficients to the views "real" and "imag", labelled by user.

    Rows are sorted by user and time. Views are float32 for complex64 coefficients, float64 otherwise.

    Args:
        coefficients: user x snapshot x antenna. NaN marks missing entries, in one part or, if the other part is zero,
            in both. Powers are averaged over the observed entries. Rows of zeros stay zero.
        normalise: "row" scales every complex row to unit norm, which retains direction and phase. "user" scales every
            user to a mean row power of one, which also retains fading along the track. "raw" does not normalise.
        n_snapshots: number of snapshots to keep per user, from the start; None keeps all.
        sample_interval_s: time between snapshots in seconds, used in row names.

    Returns:
        A data set whose two views have shape (users * snapshots, antennas).

    Raises:
        ValueError: The coefficients are not a finite or NaN complex array of three dimensions, or an option is invalid.

    Example:
        >>> data = channel_dataset(np.array([[[3 + 4j, 0], [0, 2j]]]))
        >>> data["real"].tolist(), data["imag"].tolist()
        ([[0.6, 0.0], [0.0, 0.0]], [[0.8, 0.0], [0.0, 1.0]])
        >>> data.rows, data.columns["real"]
        (('user 1, snapshot 0', 'user 1, snapshot 1'), ('antenna 0', 'antenna 1'))
    """
    check_choice(normalise, "normalise", get_args(Normalise))
    coefficients = np.asarray(coefficients)
    _check_coefficients(coefficients)
    kept = coefficients[:, : _snapshots_kept(n_snapshots, coefficients.shape[1])]
    users, snapshots, antennas = kept.shape
    parts = np.stack([np.real(kept), np.imag(kept)]).astype(np.float64)
    parts[np.isnan(parts[::-1]) & (parts == 0)] = np.nan  # h[0, 0, 0] = np.nan assigns NaN + 0i
    scaled = _normalised(parts, normalise).astype(np.float32 if kept.dtype.itemsize <= 8 else np.float64)
    step = "snapshot {}" if sample_interval_s is None else "{:.6g} s"
    times = [step.format(t * (sample_interval_s or 1)) for t in range(snapshots)]
    names = tuple(f"user {user + 1}" for user in range(users))
    return Dataset(
        views={view: part.reshape(-1, antennas) for view, part in zip(("real", "imag"), scaled, strict=True)},
        labels=np.repeat(np.arange(users), snapshots),
        label_names=names,
        rows=tuple(f"{name}, {time}" for name in names for time in times),
        columns=dict.fromkeys(("real", "imag"), tuple(f"antenna {antenna}" for antenna in range(antennas))),
        name="channel",
        description=f"Narrow-band channel coefficients of {users} users at {antennas} antennas, {snapshots} snapshots "
        f"each; the label is the user. {_DESCRIPTION[normalise]}",
    )


def from_archive(
    arrays: Mapping[str, Shaped[np.ndarray, "..."]], *, normalise: Normalise = "row", n_snapshots: int | None = None
) -> Dataset:
    """Convert an archive such as channel.npz to a data set, with additional arrays as ground truth.

    Args:
        arrays: "real" and "imag" (row x antenna), and "ue" and "snapshot" (user and snapshot index of each row, rows in
            any order). All other arrays are stored in `truth`: "ue_start_position_m", "ue_direction", "ue_is_nlos" and
            "tx_element_position_m" as "start_position_m", "direction", "is_nlos" and "antenna_position_m", the others
            under their original names.
        normalise: see `channel_dataset`.
        n_snapshots: see `channel_dataset`.

    Returns:
        A data set whose two views have shape (users * snapshots, antennas).
    """
    truth = {_TRUTH_NAMES.get(name, name): _plain(array) for name, array in arrays.items() if name not in _ROW_ARRAYS}
    if "is_nlos" in truth:
        truth["is_nlos"] = np.asarray(truth["is_nlos"]).astype(bool)
    data = channel_dataset(
        _by_user(*(np.asarray(arrays[name]) for name in _ROW_ARRAYS)),
        normalise=normalise,
        n_snapshots=n_snapshots,
        sample_interval_s=truth.get("sample_interval_s"),
    )
    return replace(data, truth=truth)


def _by_user(
    real: Float[np.ndarray, "N A"],
    imag: Float[np.ndarray, "N A"],
    user: Shaped[np.ndarray, " N"],
    snapshot: Shaped[np.ndarray, " N"],
) -> Complex[np.ndarray, "U T A"]:
    """Sort rows by user and time, and return them as user x snapshot x antenna."""
    if real.ndim != 2 or real.shape != imag.shape or not len(real) == len(user) == len(snapshot):
        shapes = [_format_shape(array.shape) for array in (real, imag, user, snapshot)]
        raise ValueError(
            "The arrays of a channel archive must have the same number of rows, and real and imag the same "
            f"number of antennas. Got {', '.join(f'{name}: {s}' for name, s in zip(_ROW_ARRAYS, shapes, strict=True))}."
        )
    counts = np.unique(user, return_counts=True)[1]
    if len(set(counts.tolist())) > 1:
        raise ValueError(
            f"All users must have the same number of snapshots. Got {counts.min()} to {counts.max()}. Truncate the "
            "longer tracks, or pad the shorter ones with NaN."
        )
    order = np.lexsort((snapshot, user))
    coefficients = np.empty(real.shape, np.result_type(real, np.complex64))
    coefficients.real, coefficients.imag = (
        real[order],
        imag[order],
    )  # real + 1j * imag would propagate NaN to both parts
    return coefficients.reshape(len(counts), -1, real.shape[1])


def _check_coefficients(coefficients: Shaped[np.ndarray, "..."]) -> None:
    described = f"{_format_shape(coefficients.shape)}, {coefficients.dtype}"
    if coefficients.ndim != 3 or not np.iscomplexobj(coefficients):
        raise ValueError(
            "Channel coefficients must be a complex array of three dimensions, user x snapshot x antenna. "
            f"Got {described}. Rearrange the axes; combine two real arrays as real + 1j * imag."
        )
    if coefficients.size == 0:
        raise ValueError(f"Channel coefficients must contain at least one user, snapshot and antenna. Got {described}.")
    if np.isinf(coefficients).any():
        raise ValueError(
            f"Channel coefficients must be finite, or NaN if missing. Got {np.isinf(coefficients).sum()} infinite "
            "entries. Replace them by NaN."
        )


def _snapshots_kept(requested: int | None, available: int) -> int:
    check_count(requested, "n_snapshots")
    kept = available if requested is None else requested
    check_available(kept, "n_snapshots", available)
    return kept


def _normalised(parts: Float[np.ndarray, "2 U T A"], normalise: Normalise) -> Float[np.ndarray, "2 U T A"]:
    """Divide by the norm of each row, by the root mean square row norm of each user, or by one."""
    if normalise == "raw":
        return parts
    axes = (0, 3) if normalise == "row" else (0, 2, 3)
    observed = np.isfinite(parts)
    peak = np.abs(np.where(observed, parts, 0.0)).max(axes, keepdims=True)
    parts = parts / np.where(peak > 0, peak, 1.0)  # so that squares neither overflow nor underflow
    power = (np.where(observed, parts, 0.0) ** 2).sum(axes, keepdims=True) / np.maximum(
        observed.sum(axes, keepdims=True), 1
    )
    norm = np.sqrt(power * 2 * parts.shape[-1])
    return parts / np.where(norm > 0, norm, 1.0)


def _plain(array: Shaped[np.ndarray, "..."]) -> Any:
    """Convert scalar arrays to Python scalars; return other arrays unchanged."""
    return array if np.ndim(array) else np.asarray(array).item()


def _format_shape(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "scalar"

"""Wireless channels as two views: the real and the imaginary part of every antenna's coefficient."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Complex, Float, Shaped

from mvlvm.checks import check_choice
from mvlvm.datasets.choosing import check_available, check_count
from mvlvm.datasets.dataset import Dataset

Normalise = Literal["row", "user", "raw"]

_DESCRIPTION = {
    "row": "Every complex row has unit length, over both views together.",
    "user": "One factor per user makes the mean power of its complex rows one.",
    "raw": "The coefficients are as they came, path loss and shadowing included.",
}
# Arrays of channel.npz that are rows of the views or say which row is which; the others are truth, some under a
# shorter name.
_ROWS = ("real", "imag", "ue", "snapshot")
# All arrays of channel.npz that are read; the others repeat the settings of the paper's table.
ARCHIVE: tuple[str, ...] = (
    *_ROWS, "ue_start_position_m", "ue_direction", "ue_is_nlos", "tx_element_position_m", "bs_position_m",
    "carrier_hz", "speed_m_s", "sample_interval_s",
)  # fmt: skip
_RENAMED = {
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
    """Make the views "real" and "imag" of complex channel coefficients, labelled by user.

    Rows go user by user, in time order. Views are float32 for complex64 coefficients, float64 otherwise.

    Args:
        coefficients: user x snapshot x antenna. NaN is missing: one part, or both where the other is zero. What is
            missing counts as the mean of what is known where a power is taken. Rows of zeros stay zero.
        normalise: "row" gives every complex row unit length, so that only its direction and phase are left. "user"
            gives every user a mean row power of one, so that fading along the way is left. "raw" changes nothing.
        n_snapshots: keep only the first so many of every user.
        sample_interval_s: seconds from one snapshot to the next, for the names of the rows.

    Example:
        >>> data = channel_dataset(np.array([[[3 + 4j, 0], [0, 2j]]]))
        >>> data["real"].tolist(), data["imag"].tolist()
        ([[0.6, 0.0], [0.0, 0.0]], [[0.8, 0.0], [0.0, 1.0]])
        >>> data.rows, data.columns["real"]
        (('user 1, snapshot 0', 'user 1, snapshot 1'), ('antenna 0', 'antenna 1'))
    """
    check_choice(normalise, "normalise", get_args(Normalise))
    coefficients = np.asarray(coefficients)
    _check(coefficients)
    kept = coefficients[:, : _snapshots_kept(n_snapshots, coefficients.shape[1])]
    users, snapshots, antennas = kept.shape
    parts = np.stack([np.real(kept), np.imag(kept)]).astype(np.float64)
    parts[np.isnan(parts[::-1]) & (parts == 0)] = np.nan  # h[0, 0, 0] = np.nan puts NaN + 0i there
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
    """Make the data set of an archive such as channel.npz, with all else that it holds as truth.

    Args:
        arrays: "real" and "imag" (row x antenna), "ue" and "snapshot" (one number per row, rows in any order), and
            any others: "ue_start_position_m", "ue_direction", "ue_is_nlos" and "tx_element_position_m" are truth under
            the names "start_position_m", "direction", "is_nlos" and "antenna_position_m", the others under their own.
        normalise: see `channel_dataset`.
        n_snapshots: see `channel_dataset`.
    """
    truth = {_RENAMED.get(name, name): _plain(array) for name, array in arrays.items() if name not in _ROWS}
    if "is_nlos" in truth:
        truth["is_nlos"] = np.asarray(truth["is_nlos"]).astype(bool)
    data = channel_dataset(
        _by_user(*(np.asarray(arrays[name]) for name in _ROWS)),
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
    """Sort rows by user and time, and stack the users."""
    if real.ndim != 2 or real.shape != imag.shape or not len(real) == len(user) == len(snapshot):
        shapes = [_times(array.shape) for array in (real, imag, user, snapshot)]
        raise ValueError(
            "The arrays of a channel archive must have a row each for the same samples, and real and imag the same "
            f"antennas. Got {', '.join(f'{name}: {shape}' for name, shape in zip(_ROWS, shapes, strict=True))}."
        )
    counts = np.unique(user, return_counts=True)[1]
    if len(set(counts.tolist())) > 1:
        raise ValueError(
            f"All users must have the same number of snapshots. Got {counts.min()} to {counts.max()}. Cut the longer "
            "tracks, or fill the shorter ones with NaN."
        )
    order = np.lexsort((snapshot, user))
    coefficients = np.empty(real.shape, np.result_type(real, np.complex64))
    coefficients.real, coefficients.imag = real[order], imag[order]  # real + 1j * imag would spread a NaN to both parts
    return coefficients.reshape(len(counts), -1, real.shape[1])


def _check(coefficients: Shaped[np.ndarray, "..."]) -> None:
    described = f"{_times(coefficients.shape)}, {coefficients.dtype}"
    if coefficients.ndim != 3 or not np.iscomplexobj(coefficients):
        raise ValueError(
            "Channel coefficients must be a complex array of three dimensions, user x snapshot x antenna. "
            f"Got {described}. Bring the axes into this order; two real parts make real + 1j * imag."
        )
    if coefficients.size == 0:
        raise ValueError(f"Channel coefficients need a user, a snapshot and an antenna. Got {described}.")
    if np.isinf(coefficients).any():
        raise ValueError(
            f"Channel coefficients must be finite, or NaN where missing. Got {np.isinf(coefficients).sum()} infinite "
            "ones. Put NaN in their place."
        )


def _snapshots_kept(asked: int | None, present: int) -> int:
    check_count(asked, "n_snapshots")
    kept = present if asked is None else asked
    check_available(kept, "n_snapshots", present)
    return kept


def _normalised(parts: Float[np.ndarray, "2 U T A"], normalise: Normalise) -> Float[np.ndarray, "2 U T A"]:
    """Divide by the length of each row, by its root mean square per user, or by nothing."""
    if normalise == "raw":
        return parts
    axes = (0, 3) if normalise == "row" else (0, 2, 3)
    known = np.isfinite(parts)
    peak = np.abs(np.where(known, parts, 0.0)).max(axes, keepdims=True)
    parts = parts / np.where(peak > 0, peak, 1.0)  # squares of what is left can neither overflow nor vanish
    power = (np.where(known, parts, 0.0) ** 2).sum(axes, keepdims=True) / np.maximum(known.sum(axes, keepdims=True), 1)
    length = np.sqrt(power * 2 * parts.shape[-1])
    return parts / np.where(length > 0, length, 1.0)


def _plain(array: Shaped[np.ndarray, "..."]) -> Any:
    """Give the number in a scalar array, and other arrays as they are."""
    return array if np.ndim(array) else np.asarray(array).item()


def _times(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape)) or "a number"

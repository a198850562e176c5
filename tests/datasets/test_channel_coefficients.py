"""Channel coefficients as views: order of rows, normalisation, missing entries, archives."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from mvlvm.datasets import channel_dataset
from mvlvm.datasets.channel_coefficients import from_archive
from mvlvm.datasets.wireless import port_positions

DOCUMENT = Path(__file__).parents[2] / "docs" / "channel.md"
ARCHIVE = Path(os.environ.get("MVLVM_DATA") or "no data") / "channel.npz"


def draw(users=3, snapshots=5, antennas=4, dtype=np.complex128, seed=0):
    rng = np.random.default_rng(seed)
    real, imag = rng.standard_normal((2, users, snapshots, antennas))
    scale = 10.0 ** -np.arange(1, users + 1)[:, None, None]  # users differ by 20 dB
    return (scale * (real + 1j * imag)).astype(dtype)


def joined(data):
    return data["real"] + 1j * data["imag"]


def archive(h, order):
    users, snapshots, antennas = h.shape
    rows = h.reshape(-1, antennas)[order]
    return {
        "real": rows.real,
        "imag": rows.imag,
        "ue": np.repeat(np.arange(users), snapshots)[order],
        "snapshot": np.tile(np.arange(snapshots), users)[order],
        "ue_start_position_m": np.zeros((users, 3)),
        "ue_direction": np.ones((users, 3)),
        "ue_is_nlos": np.array([1, 0, 1], np.int8),
        "tx_element_position_m": np.ones((antennas, 3)),
        "sample_interval_s": np.array(0.005),
    }


def test_rows_are_sorted_by_user_and_time():
    h = draw()
    data = channel_dataset(h, normalise="raw")
    for user in range(3):
        for snapshot in range(5):
            np.testing.assert_array_equal(joined(data)[5 * user + snapshot], h[user, snapshot])
            assert data.labels[5 * user + snapshot] == user
            assert data.rows[5 * user + snapshot] == f"user {user + 1}, snapshot {snapshot}"
    assert data.label_names == ("user 1", "user 2", "user 3")
    assert data.columns["imag"] == ("antenna 0", "antenna 1", "antenna 2", "antenna 3")


def test_row_normalisation_gives_unit_norm_and_keeps_direction_and_phase():
    h = draw()
    rows = joined(channel_dataset(h, normalise="row"))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
    raw = h.reshape(-1, 4)
    np.testing.assert_allclose((rows.conj() * raw).sum(axis=1), np.linalg.norm(raw, axis=1))  # positive multiple


def test_user_normalisation_gives_unit_mean_power_and_keeps_fading():
    h = draw()
    rows = joined(channel_dataset(h, normalise="user")).reshape(h.shape)
    np.testing.assert_allclose((np.abs(rows) ** 2).sum(axis=2).mean(axis=1), 1)
    ratio = rows / h
    np.testing.assert_allclose(ratio, np.broadcast_to(ratio[:, :1, :1], h.shape))
    assert np.linalg.norm(rows, axis=2).std() > 0.1


def test_raw_coefficients_are_unchanged():
    h = draw()
    np.testing.assert_array_equal(joined(channel_dataset(h, normalise="raw")).reshape(h.shape), h)


@pytest.mark.parametrize("normalise", ["row", "user", "raw"])
def test_rows_of_zeros_stay_zero(normalise):
    h = draw()
    h[1, 2] = 0
    h[2] = 0
    rows = joined(channel_dataset(h, normalise=normalise)).reshape(h.shape)
    np.testing.assert_array_equal(rows[1, 2], 0)
    np.testing.assert_array_equal(rows[2], 0)
    assert np.isfinite(rows).all()


@pytest.mark.parametrize("normalise", ["row", "user", "raw"])
def test_only_missing_entries_are_missing_after_normalisation(normalise):
    h = draw(antennas=400)
    complete = channel_dataset(h, normalise=normalise)
    h.real[0, 1, 3:203] = np.nan
    h[2, 4] = np.nan
    data = channel_dataset(h, normalise=normalise)
    missing = np.zeros((2, 3, 5, 400), bool)
    missing[0, 0, 1, 3:203] = True
    missing[:, 2, 4] = True
    for view, mask in zip(("real", "imag"), missing.reshape(2, 15, 400), strict=True):
        np.testing.assert_array_equal(np.isnan(data[view]), mask)
        # four relative standard errors of a norm estimated from 600 of 800 squares, each below sqrt(2 / 600) / 2
        np.testing.assert_allclose(data[view][~mask], complete[view][~mask], rtol=0.12)


def test_float32_for_single_precision():
    for dtype, expected in ((np.complex64, np.float32), (np.complex128, np.float64), (">c16", np.float64)):
        data = channel_dataset(draw(dtype=dtype), normalise="row")
        assert data["real"].dtype == data["imag"].dtype == expected
        np.testing.assert_allclose(np.linalg.norm(joined(data), axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize("normalise", ["row", "user"])
@pytest.mark.parametrize(("scale", "dtype"), [(1e-25, np.complex64), (1e-300, np.complex128), (1e300, np.complex128)])
def test_powers_that_overflow_or_underflow(scale, dtype, normalise):
    h = draw()
    scaled = joined(channel_dataset((scale * h).astype(dtype), normalise=normalise))
    np.testing.assert_allclose(scaled, joined(channel_dataset(h, normalise=normalise)), rtol=1e-5)


def test_n_snapshots_keeps_the_first_of_every_user():
    h = draw()
    part = channel_dataset(h, normalise="user", n_snapshots=2)
    np.testing.assert_array_equal(joined(part), joined(channel_dataset(h[:, :2], normalise="user")))
    np.testing.assert_array_equal(part.labels, [0, 0, 1, 1, 2, 2])


def test_archive_rows_may_be_in_any_order():
    h = draw().astype(np.complex64)
    order = np.random.default_rng(1).permutation(15)
    data = from_archive(archive(h, order), normalise="raw")
    np.testing.assert_array_equal(joined(data).reshape(h.shape), h)
    assert data["real"].dtype == np.float32
    np.testing.assert_array_equal(data.labels, np.repeat([0, 1, 2], 5))
    assert data.rows[6] == "user 2, 0.005 s"


def test_additional_arrays_of_the_archive_are_ground_truth():
    h = draw()
    h.real[0, 0, 0] = np.nan
    data = from_archive(archive(h, np.arange(15)), n_snapshots=2)
    assert set(data.truth) == {
        "start_position_m", "direction", "is_nlos", "antenna_position_m", "sample_interval_s",
    }  # fmt: skip
    np.testing.assert_array_equal(data.truth["is_nlos"], [True, False, True])
    assert data.truth["is_nlos"].dtype == bool
    assert data.truth["sample_interval_s"] == 0.005
    assert data["imag"].shape == (6, 4)
    assert np.isnan(data["real"][0, 0])
    assert np.isfinite(data["imag"]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normalise": "rows"}, "normalise must be one of 'row', 'user', 'raw'. Got 'rows'."),
        ({"n_snapshots": 6}, "n_snapshots must be at most 5, the number available. Got 6."),
        ({"n_snapshots": 0}, "n_snapshots must be an integer of at least 1. Got 0."),
        ({"n_snapshots": -1}, "at least 1. Got -1."),
        ({"n_snapshots": 2.5}, "at least 1. Got 2.5."),
        ({"n_snapshots": True}, "at least 1. Got True."),
        ({"coefficients": draw().real}, "complex array of three dimensions.*Got 3 x 5 x 4, float64."),
        ({"coefficients": draw()[0]}, "complex array of three dimensions.*Got 5 x 4, complex128."),
        ({"coefficients": draw()[:, :0]}, "at least one user, snapshot and antenna. Got 3 x 0 x 4"),
        ({"coefficients": np.where(draw() == draw()[0, 0, 0], np.inf, draw())}, "Got 1 infinite.*NaN"),
    ],
)
@pytest.mark.usefixtures("no_type_checks")
def test_invalid_input_is_rejected(change, message):
    with pytest.raises(ValueError, match=message):
        channel_dataset(**{"coefficients": draw(), **change})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"imag": np.zeros((15, 3))}, "real: 15 x 4, imag: 15 x 3, ue: 15, snapshot: 15"),
        ({"ue": np.zeros(14)}, "ue: 14"),
        ({"ue": np.array([0] * 4 + [1] * 11)}, "same number of snapshots. Got 4 to 11."),
    ],
)
@pytest.mark.usefixtures("no_type_checks")
def test_invalid_archive_is_rejected(change, message):
    arrays = {**archive(draw(), np.arange(15)), **change}
    with pytest.raises(ValueError, match=message):
        from_archive(arrays)


@pytest.mark.skipif(not ARCHIVE.exists(), reason="$MVLVM_DATA does not contain channel.npz")
def test_documented_snippet_reproduces_the_documented_figures():
    text = DOCUMENT.read_text()
    snippet = re.search(r"```python\n(import numpy as np\n+def figures.*?)```", text, flags=re.DOTALL)[1]
    namespace = {}
    exec(snippet, namespace)  # trusted: part of this repository
    with np.load(ARCHIVE, allow_pickle=False) as arrays:
        figures = namespace["figures"](from_archive(arrays, normalise="raw"))
    rows = [line.strip("|").split("|") for line in re.findall(r"^\|.*\|$", text, flags=re.MULTILINE)]
    documented = {cells[0].strip(): cells[1].strip() for cells in rows}
    assert figures == {name: documented[name] for name in figures}


@pytest.mark.skipif(not ARCHIVE.exists(), reason="$MVLVM_DATA does not contain channel.npz")
def test_antenna_positions_of_the_archive_match_the_simulation():
    with np.load(ARCHIVE, allow_pickle=False) as arrays:
        truth = from_archive(arrays, n_snapshots=1).truth
    np.testing.assert_allclose(truth["antenna_position_m"], port_positions(), atol=1e-6)

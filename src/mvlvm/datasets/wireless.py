"""Wireless channels by name: from files of QuaDRiGa, or simulated with Sionna. docs/channel.md compares them."""

from typing import get_args

from mvlvm.checks import check_choice
from mvlvm.datasets.channel import ARCHIVE, Normalise, from_archive
from mvlvm.datasets.channel_geometry import SPEED_KM_H
from mvlvm.datasets.choosing import check_count
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.entry import Entry, Recipe
from mvlvm.datasets.sionna_channel import SpecVersion, simulate_channel
from mvlvm.datasets.store import FileStore

_VIEWS = ("real", "imag")
_QUADRIGA = "Drawn with QuaDRiGa 2.8.1 of Fraunhofer HHI (S. Jaeckel et al.), seed 1, "
_UNIT_ROWS = "Rows are scaled to unit length by default (normalise)."
_QUADRIGA_LICENCE = "QuaDRiGa may be used for non-commercial purposes; its licence does not speak of the output."


def _quadriga(file: str) -> Recipe:
    """Give the recipe for a file of QuaDRiGa's channels."""

    def recipe(
        store: FileStore, seed: int, *, normalise: Normalise = "row", n_snapshots: int | None = None
    ) -> Dataset:  # fmt: skip
        """Give the channels of ten moving users at 32 antennas.

        Args:
            store: where files come from.
            seed: not used; nothing is drawn.
            normalise: "row" gives every complex row unit length, "user" every user a mean row power of one, "raw"
                leaves path loss and shadowing in, by which users differ by 50 dB and more.
            n_snapshots: keep the first so many of each user; None keeps all 1,000.
        """
        check_choice(normalise, "normalise", get_args(Normalise))
        check_count(n_snapshots, "n_snapshots")
        arrays = dict(zip(ARCHIVE, store.arrays(file, *ARCHIVE), strict=True))
        return from_archive(arrays, normalise=normalise, n_snapshots=n_snapshots)

    return recipe


def channel_sionna(
    store: FileStore, seed: int, *, n_users: int = 10, n_snapshots: int = 1000, normalise: Normalise = "row",
    speed_km_h: float = SPEED_KM_H, spec_version: SpecVersion = "16.1",
) -> Dataset:  # fmt: skip
    """Simulate such channels with Sionna.

    Args:
        store: not used; no file is read.
        seed: of all draws.
        n_users: how many users.
        n_snapshots: samples of each, 5 ms apart.
        normalise: "row" gives every complex row unit length, "user" every user a mean row power of one, "raw" leaves
            path loss and shadowing in.
        speed_km_h: of every user.
        spec_version: the tables of TR 38.901, "16.1" or "19.2".
    """
    return simulate_channel(
        n_users=n_users, n_snapshots=n_snapshots, normalise=normalise, speed_km_h=speed_km_h,
        spec_version=spec_version, random_state=seed,
    )  # fmt: skip


ENTRIES = {
    "channel": Entry(
        recipe=_quadriga("channel.npz"),
        files=("channel.npz",),
        views=_VIEWS,
        description=(
            "Channels between a base station with 32 antennas and ten users at 30 km/h, 1,000 samples of each; the "
            "label is the user. Path loss and angles stay along the way and only the phases turn, as the switches in "
            "the paper's table make QuaDRiGa do. The paper's own draw is not public; docs/channel.md says what "
            f"differs. {_UNIT_ROWS}"
        ),
        origin=f"{_QUADRIGA}at the settings of the paper's table.",
        licence=_QUADRIGA_LICENCE,
    ),
    "channel-drift": Entry(
        recipe=_quadriga("channel_drift.npz"),
        files=("channel_drift.npz",),
        views=_VIEWS,
        description=(
            "The users of 'channel' with spherical waves, and path loss, shadowing and angles that change along the "
            f"way, as the paper's text has it. Not the setting of its table. {_UNIT_ROWS}"
        ),
        origin=f"{_QUADRIGA}with use_3GPP_baseline = 0, which is not the setting of the paper's table.",
        licence=_QUADRIGA_LICENCE,
    ),
    "channel-sionna": Entry(
        recipe=channel_sionna,
        views=_VIEWS,
        simulated=True,
        description=(
            "Channels with the geometry of 'channel', simulated anew by random_state with Sionna's UMa model of TR "
            f"38.901. Needs the extra mvlvm[channel]; docs/channel.md says what differs from QuaDRiGa. {_UNIT_ROWS}"
        ),
        origin="Simulated with Sionna (J. Hoydis et al., NVIDIA).",
        licence="Sionna: Apache 2.0.",
    ),
}

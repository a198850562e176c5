"""Wireless channel data sets: files simulated with QuaDRiGa, and simulation with Sionna (3GPP TR 38.901).

docs/channel.md compares them.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Complex, Float
from torch import Tensor

from mvlvm.checks import check_choice, check_integer, check_number
from mvlvm.datasets.cache import FileCache
from mvlvm.datasets.channel_coefficients import ARCHIVE, Normalise, channel_dataset, from_archive
from mvlvm.datasets.dataset import Dataset, DatasetEntry, DatasetLoader, check_count
from mvlvm.randomness import RandomStateLike, seed_from

SpecVersion = Literal["16.1", "19.2"]

# QuaDRiGa settings from the table in App. D.
CARRIER_HZ = 1.84e9
SAMPLE_INTERVAL_S = 5e-3
SPEED_KM_H = 30.0
TILT_DEGREES = 7.0
PANEL_ROWS, PANEL_COLUMNS = 2, 8
ELEMENTS = 4  # vertical elements combined to one port
# Not in the table; values of the QuaDRiGa simulation described in docs/channel.md.
BASE_STATION_M = (0.0, 0.0, 30.0)
USER_HEIGHT_M = 1.5
RING_M = (35.0, 300.0)
ELEMENT_SPACING = 0.5  # in wavelengths
POLARISATIONS = 2  # +45 and -45 degrees

WAVELENGTH_M = 299_792_458.0 / CARRIER_HZ

_SIONNA_SETTINGS = {"precision": "double", "device": "cpu"}  # independent of Sionna's global settings

_VIEWS = ("real", "imag")
_QUADRIGA = "Simulated with QuaDRiGa 2.8.1 of Fraunhofer HHI (S. Jaeckel et al.), seed 1, "
_NORMALISED = "Rows are scaled to unit norm by default (normalise)."
_QUADRIGA_LICENCE = "QuaDRiGa may be used for non-commercial purposes; its licence does not mention the output."


@dataclass(frozen=True)
class Tracks:
    """Straight tracks of the U users, at constant speed.

    Attributes:
        start_m: initial positions.
        direction: unit vectors.
        speed_m_s: common speed of all users.
    """

    start_m: Float[np.ndarray, "U 3"]
    direction: Float[np.ndarray, "U 3"]
    speed_m_s: float

    @property
    def velocity_m_s(self) -> Float[np.ndarray, "U 3"]:
        """Velocity vectors of the users."""
        return self.speed_m_s * self.direction


def draw_tracks(n_users: int, speed_m_s: float, rng: np.random.Generator) -> Tracks:
    """Draw initial positions uniformly over the area of the ring around the base station, and uniform headings."""
    inner, outer = RING_M
    radius = np.sqrt(rng.uniform(inner**2, outer**2, n_users))
    bearing, heading = rng.uniform(0, 2 * np.pi, (2, n_users))
    start = np.stack([radius * np.cos(bearing), radius * np.sin(bearing), np.full(n_users, USER_HEIGHT_M)], axis=1)
    direction = np.stack([np.cos(heading), np.sin(heading), np.zeros(n_users)], axis=1)
    return Tracks(start, direction, speed_m_s)


def port_positions() -> Float[np.ndarray, "A 3"]:
    """Return the (A, 3) centres of the ports in metres; the panel faces +x.

    The port index is 4 column + 2 row + polarisation, with columns along y, rows from bottom to top, +45 degrees first.
    """
    column, row, _ = np.indices((PANEL_COLUMNS, PANEL_ROWS, POLARISATIONS)).reshape(3, -1)
    y = (column - (PANEL_COLUMNS - 1) / 2) * ELEMENT_SPACING
    z = (row - (PANEL_ROWS - 1) / 2) * ELEMENT_SPACING * ELEMENTS
    return WAVELENGTH_M * np.stack([np.zeros(len(y)), y, z], axis=1)


def tilt_weights() -> Complex[np.ndarray, " E"]:
    """Return the (E,) weights of the elements of a port, bottom to top, in phase at the electrical downtilt."""
    height = (np.arange(ELEMENTS) - (ELEMENTS - 1) / 2) * ELEMENT_SPACING
    return np.exp(2j * np.pi * height * np.sin(np.radians(TILT_DEGREES))) / np.sqrt(ELEMENTS)


@dataclass(frozen=True)
class RayDraw:
    """The R rays between the A ports of the base station and the U users.

    Attributes:
        gain: contribution of each ray to the channel at time zero, including path loss and shadowing.
        arrival: unit vector from the user in the direction of arrival of the ray.
        is_nlos: whether the line of sight to the user's building is blocked; no user has a line of sight indoors.
        path_loss_db: path loss, including building penetration loss.
        shadowing_db: shadow fading; positive values increase the channel gain.
    """

    gain: Complex[np.ndarray, "U R A"]
    arrival: Float[np.ndarray, "U R 3"]
    is_nlos: Bool[np.ndarray, " U"]
    path_loss_db: Float[np.ndarray, " U"]
    shadowing_db: Float[np.ndarray, " U"]


def simulate_channel(
    *,
    n_users: int = 10,
    n_snapshots: int = 1000,
    normalise: Normalise = "row",
    speed_km_h: float = SPEED_KM_H,
    spec_version: SpecVersion = "16.1",
    random_state: RandomStateLike = None,
) -> Dataset:
    """Simulate the paper's channel data with Sionna: UMa scenario, 32 ports, indoor users, one carrier.

    docs/channel.md lists the differences from the paper. The global random generators of torch, NumPy and Sionna are
    not modified.

    Args:
        n_users: number of users, U.
        n_snapshots: number of snapshots per user, T, 5 ms apart.
        normalise: see `channel_dataset`.
        speed_km_h: speed of all users.
        spec_version: version of the TR 38.901 parameter tables. The azimuth spread of departure in 16.1 equals that of
            the paper's 3GPP_3D_UMa (median 18 degrees); in 19.2 it is much smaller (4 degrees).
        random_state: seed. Users and rays depend on the seed only, not on the number of snapshots or the speed.

    Returns:
        A data set with the views "real" and "imag" of shape (U * T, 32), labelled by user, and ground truth on users,
        antennas and large-scale parameters.

    Raises:
        ModuleNotFoundError: Sionna is not installed.
    """
    check_integer(n_users, "n_users", at_least=1)
    check_integer(n_snapshots, "n_snapshots", at_least=1)
    check_number(speed_km_h, "speed_km_h", positive=False)
    check_choice(normalise, "normalise", get_args(Normalise))
    check_choice(spec_version, "spec_version", get_args(SpecVersion))
    rng = np.random.default_rng(seed_from(random_state))
    tracks = draw_tracks(int(n_users), speed_km_h / 3.6, rng)
    rays = draw_rays(tracks, spec_version, seed=int(rng.integers(2**63)))
    times = SAMPLE_INTERVAL_S * np.arange(n_snapshots)
    data = channel_dataset(
        coefficients_at(times, rays, tracks),
        normalise=normalise,
        sample_interval_s=SAMPLE_INTERVAL_S,
    )
    return replace(
        data,
        truth=_truth(rays, tracks),
        origin="Simulated with Sionna (J. Hoydis et al., NVIDIA): "
        f"3GPP TR 38.901 {spec_version}, UMa, outdoor to indoor.",
    )


def coefficients_at(times_s: Float[np.ndarray, " T"], rays: RayDraw, tracks: Tracks) -> Complex[np.ndarray, "U T A"]:
    r"""Compute the (U, T, A) channel coefficients at given times, eq. 7.5-22 of TR 38.901.

    $$ h_a(t) = \sum_r g_{ra} \exp(2 \pi i \, t \, \hat r_r^\top v / \lambda) $$

    The phase of each ray rotates at its Doppler frequency. The sum over all clusters is the frequency response at the
    carrier.
    """
    doppler_hz = np.einsum("urk,uk->ur", rays.arrival, tracks.velocity_m_s) / WAVELENGTH_M
    # one user at a time, since the phases of all rays at all times need more memory than the channel
    coefficients = (
        np.exp(2j * np.pi * np.outer(times_s, f)) @ gain for f, gain in zip(doppler_hz, rays.gain, strict=True)
    )
    return np.stack(list(coefficients))


def draw_rays(tracks: Tracks, spec_version: SpecVersion, *, seed: int) -> RayDraw:
    """Draw large-scale parameters, rays and initial phases with Sionna: steps 1 to 12 of TR 38.901, section 7.5."""
    with _sionna(seed) as (tr38901, generator):
        scenario = _scenario(tr38901, tracks, spec_version)
        large_scale, small_scale = tr38901.LSPGenerator(scenario), tr38901.RaysGenerator(scenario)
        large_scale.topology_updated_callback()
        small_scale.topology_updated_callback()
        lsp = large_scale()
        rays = small_scale(lsp)
        rays.phases = 2 * np.pi * torch.rand((*rays.aoa.shape, 4), dtype=torch.float64, generator=generator) - np.pi
        elements = _element_gains(tr38901, scenario, rays)
    shadowing_db = 10 * torch.log10(lsp.sf[0, 0])
    path_loss_db = lsp.pathloss[0, 0]
    amplitude = 10 ** ((shadowing_db - path_loss_db) / 20)
    zenith, azimuth = (angle[0, 0].flatten(1).numpy() for angle in (rays.zoa, rays.aoa))
    horizontal = np.sin(zenith)
    return RayDraw(
        gain=couple_elements((amplitude[:, None, None] * elements).numpy()),
        arrival=np.stack([horizontal * np.cos(azimuth), horizontal * np.sin(azimuth), np.cos(zenith)], axis=-1),
        is_nlos=~scenario.outdoor_los[0, 0].numpy(),
        path_loss_db=path_loss_db.numpy(),
        shadowing_db=shadowing_db.numpy(),
    )


def couple_elements(elements: Complex[np.ndarray, "U R E"]) -> Complex[np.ndarray, "U R A"]:
    """Combine Sionna's antenna elements to tilted ports, (U, R, A), in the order of `port_positions`."""
    panels = (PANEL_COLUMNS, PANEL_ROWS, POLARISATIONS, ELEMENTS)
    # Sionna's order of rows and elements is top to bottom, and -45 degrees first
    split = elements.reshape(*elements.shape[:2], *panels)[..., ::-1, ::-1, ::-1]
    return (split @ tilt_weights()).reshape(*elements.shape[:2], -1)


@contextmanager
def _sionna(seed: int) -> Iterator[tuple[Any, torch.Generator]]:
    """Import Sionna and seed its generator; on exit, restore the states of all random generators."""
    # importing Sionna seeds the global generators of torch
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        try:
            from sionna.phy import config
            from sionna.phy.channel import tr38901
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                'Simulating channels needs Sionna. Install it with: pip install "mvlvm[channel]"'
            ) from error
        generator = config.torch_rng("cpu")
        before = generator.get_state()
        try:
            yield tr38901, generator.manual_seed(seed)
        finally:
            generator.set_state(before)


def _scenario(tr38901: Any, tracks: Tracks, spec_version: SpecVersion) -> Any:
    """Return Sionna's UMa scenario with the base station and the users."""
    station = tr38901.PanelArray(
        num_rows_per_panel=ELEMENTS,
        num_cols_per_panel=1,
        num_rows=PANEL_ROWS,
        num_cols=PANEL_COLUMNS,
        element_vertical_spacing=ELEMENT_SPACING,
        panel_vertical_spacing=ELEMENT_SPACING * ELEMENTS,
        panel_horizontal_spacing=ELEMENT_SPACING,
        polarization="dual",
        polarization_type="cross",
        antenna_pattern="38.901",
        carrier_frequency=CARRIER_HZ,
        **_SIONNA_SETTINGS,
    )
    user = tr38901.Antenna("single", "V", "omni", CARRIER_HZ, **_SIONNA_SETTINGS)
    # below 6 GHz, the "low" and "high" penetration loss models are identical
    scenario = tr38901.UMaScenario(
        CARRIER_HZ, "low", user, station, "downlink", spec_version=spec_version, **_SIONNA_SETTINGS
    )
    start, velocity = (torch.as_tensor(array)[None] for array in (tracks.start_m, tracks.velocity_m_s))
    base_station = torch.tensor([[BASE_STATION_M]], dtype=torch.float64)
    indoors = torch.ones(start.shape[:2], dtype=torch.bool)
    scenario.set_topology(
        start, base_station, torch.zeros_like(start), torch.zeros_like(base_station), velocity, indoors
    )
    return scenario


def _element_gains(tr38901: Any, scenario: Any, rays: Any) -> Complex[Tensor, "U R E"]:
    """Compute the (U, R, E) coefficient of every ray at every antenna element at time zero."""

    # Sionna sums the rays of a cluster and sorts clusters by delay. With one ray per cluster and increasing delays, it
    # returns the individual rays in their original order. The delays have no other effect here.
    def one_per_cluster(values: Tensor) -> Tensor:
        return values.flatten(3, 4).unsqueeze(4)

    n_rays = rays.aoa.shape[-1]
    powers = (rays.powers / n_rays).repeat_interleave(n_rays, dim=-1)
    single = tr38901.Rays(
        delays=torch.arange(powers.shape[-1], dtype=powers.dtype).expand_as(powers),
        powers=powers,
        **{name: one_per_cluster(getattr(rays, name)) for name in ("aoa", "aod", "zoa", "zod", "xpr", "phases")},
    )
    los_angles = {f"los_{end}": torch.deg2rad(getattr(scenario, f"los_{end}")) for end in ("aoa", "aod", "zoa", "zod")}
    topology = tr38901.Topology(
        velocities=scenario.ut_velocities,
        moving_end="rx",
        los=scenario.los,
        distance_3d=scenario.distance_3d,
        tx_orientations=scenario.bs_orientations,
        rx_orientations=scenario.ut_orientations,
        **los_angles,
    )
    coefficients = tr38901.ChannelCoefficientsGenerator(
        CARRIER_HZ, scenario.bs_array, scenario.ut_array, subclustering=False, **_SIONNA_SETTINGS
    )
    gains, _ = coefficients(1, 1.0, torch.ones_like(scenario.distance_3d), single, topology)
    return gains[0, 0, :, :, 0, :, 0]


def _truth(rays: RayDraw, tracks: Tracks) -> dict[str, Any]:
    return {
        "start_position_m": tracks.start_m,
        "direction": tracks.direction,
        "velocity_m_s": tracks.velocity_m_s,
        "is_nlos": rays.is_nlos,
        "path_loss_db": rays.path_loss_db,
        "shadowing_db": rays.shadowing_db,
        "antenna_position_m": port_positions(),
        "bs_position_m": np.array(BASE_STATION_M),
        "carrier_hz": CARRIER_HZ,
        "speed_m_s": tracks.speed_m_s,
        "sample_interval_s": SAMPLE_INTERVAL_S,
    }


def _quadriga_loader(file: str) -> DatasetLoader:
    """Return the loader of a file of channels simulated with QuaDRiGa."""

    def load_channel(
        cache: FileCache, seed: int, *, normalise: Normalise = "row", n_snapshots: int | None = None
    ) -> Dataset:  # fmt: skip
        """Load the channels of ten moving users at 32 antennas.

        Args:
            cache: source of the data files.
            seed: unused; nothing is random.
            normalise: "row" scales every complex row to unit norm, "user" scales every user to a mean row power of one,
                "raw" retains path loss and shadowing, which differ by 50 dB and more between users.
            n_snapshots: number of snapshots to keep per user, from the start; None keeps all 1,000.
        """
        check_choice(normalise, "normalise", get_args(Normalise))
        check_count(n_snapshots, "n_snapshots")
        arrays = dict(zip(ARCHIVE, cache.arrays(file, *ARCHIVE), strict=True))
        return from_archive(arrays, normalise=normalise, n_snapshots=n_snapshots)

    return load_channel


def channel_sionna(
    cache: FileCache, seed: int, *, n_users: int = 10, n_snapshots: int = 1000, normalise: Normalise = "row",
    speed_km_h: float = SPEED_KM_H, spec_version: SpecVersion = "16.1",
) -> Dataset:  # fmt: skip
    """Simulate channels of moving users at 32 antennas with Sionna.

    Args:
        cache: unused; no file is read.
        seed: seed of the simulation.
        n_users: number of users.
        n_snapshots: number of snapshots per user, 5 ms apart.
        normalise: "row" scales every complex row to unit norm, "user" scales every user to a mean row power of one,
            "raw" retains path loss and shadowing.
        speed_km_h: speed of all users.
        spec_version: version of the TR 38.901 parameter tables, "16.1" or "19.2".
    """
    return simulate_channel(
        n_users=n_users, n_snapshots=n_snapshots, normalise=normalise, speed_km_h=speed_km_h,
        spec_version=spec_version, random_state=seed,
    )  # fmt: skip


ENTRIES = {
    "channel": DatasetEntry(
        loader=_quadriga_loader("channel.npz"),
        files=("channel.npz",),
        views=_VIEWS,
        description=(
            "Channels between a base station with 32 antennas and ten users at 30 km/h, 1,000 samples per user; the "
            "label is the user. Path loss and angles are constant along a track and only the phases rotate, which is "
            "how QuaDRiGa behaves with the settings of the paper's table. The paper's own data are not public; "
            f"docs/channel.md lists the differences. {_NORMALISED}"
        ),
        origin=f"{_QUADRIGA}with the settings of the paper's table.",
        licence=_QUADRIGA_LICENCE,
    ),
    "channel-drift": DatasetEntry(
        loader=_quadriga_loader("channel_drift.npz"),
        files=("channel_drift.npz",),
        views=_VIEWS,
        description=(
            "The users of 'channel' with spherical waves, and with path loss, shadowing and angles that change along "
            f"the track, as in the paper's text. Not the setting of the paper's table. {_NORMALISED}"
        ),
        origin=f"{_QUADRIGA}with use_3GPP_baseline = 0, which is not the setting of the paper's table.",
        licence=_QUADRIGA_LICENCE,
    ),
    "channel-sionna": DatasetEntry(
        loader=channel_sionna,
        views=_VIEWS,
        simulated=True,
        description=(
            "Channels with the geometry of 'channel', simulated on loading, depending on random_state, with Sionna's "
            "UMa model of TR 38.901. Requires the extra mvlvm[channel]; docs/channel.md lists the differences from "
            f"QuaDRiGa. {_NORMALISED}"
        ),
        origin="Simulated with Sionna (J. Hoydis et al., NVIDIA).",
        licence="Sionna: Apache 2.0.",
    ),
}

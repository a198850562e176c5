"""Channel data for people without QuaDRiGa: the paper's set-up in Sionna's model of 3GPP TR 38.901."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Complex, Float
from torch import Tensor

from mvlvm.checks import check_choice, check_integer, check_number
from mvlvm.datasets import channel_geometry as geometry
from mvlvm.datasets.channel import Normalise, channel_dataset
from mvlvm.datasets.channel_geometry import Tracks
from mvlvm.datasets.dataset import Dataset
from mvlvm.randomness import RandomStateLike, seed_from

SpecVersion = Literal["16.1", "19.2"]

_LIKE = {"precision": "double", "device": "cpu"}  # whatever Sionna's global settings are


@dataclass(frozen=True)
class RayDraw:
    """The rays R between the base station's ports A and the users U.

    Attributes:
        gain: what a ray adds to the channel at time zero, path loss and shadowing included.
        arrival: unit vector from the user to where the ray comes from.
        is_nlos: whether the way to the user's building is blocked; no user is in sight itself, as all are indoors.
        path_loss_db: penetration into the building included.
        shadowing_db: positive where the channel is better than the path loss says.
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
    speed_km_h: float = geometry.SPEED_KM_H,
    spec_version: SpecVersion = "16.1",
    random_state: RandomStateLike = None,
) -> Dataset:
    """Simulate the paper's channel data with Sionna: UMa, 32 ports, users indoors, one carrier.

    docs/channel.md says what differs from the paper. Random generators of torch, NumPy and Sionna stay as they are.

    Args:
        n_users: U.
        n_snapshots: of every user, 5 ms apart.
        normalise: see `channel_dataset`.
        speed_km_h: of every user.
        spec_version: whose tables of TR 38.901. In 16.1 rays leave the base station within angles as wide as in the
            paper's 3GPP_3D_UMa (median spread 18 degrees); in 19.2 they are much narrower (4 degrees).
        random_state: seed. The same seed gives the same users and rays for any number of snapshots and any speed.

    Raises:
        ModuleNotFoundError: Sionna is not installed.
    """
    check_integer(n_users, "n_users", at_least=1)
    check_integer(n_snapshots, "n_snapshots", at_least=1)
    check_number(speed_km_h, "speed_km_h", positive=False)
    check_choice(normalise, "normalise", get_args(Normalise))
    check_choice(spec_version, "spec_version", get_args(SpecVersion))
    rng = np.random.default_rng(seed_from(random_state))
    tracks = geometry.draw_tracks(int(n_users), speed_km_h / 3.6, rng)
    rays = draw_rays(tracks, spec_version, seed=int(rng.integers(2**63)))
    times = geometry.SAMPLE_INTERVAL_S * np.arange(n_snapshots)
    data = channel_dataset(
        coefficients_at(times, rays, tracks),
        normalise=normalise,
        sample_interval_s=geometry.SAMPLE_INTERVAL_S,
    )
    return replace(
        data,
        truth=_truth(rays, tracks),
        origin="Simulated with Sionna (J. Hoydis et al., NVIDIA): "
        f"3GPP TR 38.901 {spec_version}, UMa, outdoor to indoor.",
    )


def coefficients_at(times_s: Float[np.ndarray, " T"], rays: RayDraw, tracks: Tracks) -> Complex[np.ndarray, "U T A"]:
    r"""Give the channel at some times: rays whose phases turn at their Doppler frequencies, eq. 7.5-22 of TR 38.901.

    $$ h_a(t) = \sum_r g_{ra} \exp(2 \pi i \, t \, \hat r_r^\top v / \lambda) $$

    Summed over all clusters, as the frequency response at the carrier is.
    """
    doppler_hz = np.einsum("urk,uk->ur", rays.arrival, tracks.velocity_m_s) / geometry.WAVELENGTH_M
    # user by user, because the phases of all rays at all times take more memory than the channel
    turned = (np.exp(2j * np.pi * np.outer(times_s, f)) @ gain for f, gain in zip(doppler_hz, rays.gain, strict=True))
    return np.stack(list(turned))


def draw_rays(tracks: Tracks, spec_version: SpecVersion, *, seed: int) -> RayDraw:
    """Draw large-scale parameters, rays and phases with Sionna: steps 1 to 12 of TR 38.901, section 7.5."""
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
        gain=couple((amplitude[:, None, None] * elements).numpy()),
        arrival=np.stack([horizontal * np.cos(azimuth), horizontal * np.sin(azimuth), np.cos(zenith)], axis=-1),
        is_nlos=~scenario.outdoor_los[0, 0].numpy(),
        path_loss_db=path_loss_db.numpy(),
        shadowing_db=shadowing_db.numpy(),
    )


def couple(elements: Complex[np.ndarray, "U R E"]) -> Complex[np.ndarray, "U R A"]:
    """Combine Sionna's antenna elements into tilted ports, in the order of `port_positions`."""
    panels = (geometry.PANEL_COLUMNS, geometry.PANEL_ROWS, geometry.POLARISATIONS, geometry.ELEMENTS)
    # Sionna counts rows and elements from above, and -45 degrees first
    split = elements.reshape(*elements.shape[:2], *panels)[..., ::-1, ::-1, ::-1]
    return (split @ geometry.tilt_weights()).reshape(*elements.shape[:2], -1)


@contextmanager
def _sionna(seed: int) -> Iterator[tuple[Any, torch.Generator]]:
    """Give Sionna's channel models and its seeded generator; afterwards all generators are as they were."""
    # importing Sionna seeds torch's global generators
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
    """Set up the base station and the users."""
    station = tr38901.PanelArray(
        num_rows_per_panel=geometry.ELEMENTS,
        num_cols_per_panel=1,
        num_rows=geometry.PANEL_ROWS,
        num_cols=geometry.PANEL_COLUMNS,
        element_vertical_spacing=geometry.ELEMENT_SPACING,
        panel_vertical_spacing=geometry.ELEMENT_SPACING * geometry.ELEMENTS,
        panel_horizontal_spacing=geometry.ELEMENT_SPACING,
        polarization="dual",
        polarization_type="cross",
        antenna_pattern="38.901",
        carrier_frequency=geometry.CARRIER_HZ,
        **_LIKE,
    )
    user = tr38901.Antenna("single", "V", "omni", geometry.CARRIER_HZ, **_LIKE)
    # below 6 GHz, "low" and "high" penetration loss are the same
    scenario = tr38901.UMaScenario(
        geometry.CARRIER_HZ, "low", user, station, "downlink", spec_version=spec_version, **_LIKE
    )
    start, velocity = (torch.as_tensor(array)[None] for array in (tracks.start_m, tracks.velocity_m_s))
    place = torch.tensor([[geometry.BASE_STATION_M]], dtype=torch.float64)
    indoors = torch.ones(start.shape[:2], dtype=torch.bool)
    scenario.set_topology(start, place, torch.zeros_like(start), torch.zeros_like(place), velocity, indoors)
    return scenario


def _element_gains(tr38901: Any, scenario: Any, rays: Any) -> Complex[Tensor, "U R E"]:
    """Give every ray's coefficient at every antenna element, at time zero."""

    # Sionna sums the rays of a cluster and sorts clusters by delay. With one ray in each, and delays that count them,
    # it gives them one by one in their order. Delays do nothing else here.
    def apart(values: Tensor) -> Tensor:
        return values.flatten(3, 4).unsqueeze(4)

    n_rays = rays.aoa.shape[-1]
    powers = (rays.powers / n_rays).repeat_interleave(n_rays, dim=-1)
    single = tr38901.Rays(
        delays=torch.arange(powers.shape[-1], dtype=powers.dtype).expand_as(powers),
        powers=powers,
        **{name: apart(getattr(rays, name)) for name in ("aoa", "aod", "zoa", "zod", "xpr", "phases")},
    )
    in_sight = {f"los_{end}": torch.deg2rad(getattr(scenario, f"los_{end}")) for end in ("aoa", "aod", "zoa", "zod")}
    topology = tr38901.Topology(
        velocities=scenario.ut_velocities,
        moving_end="rx",
        los=scenario.los,
        distance_3d=scenario.distance_3d,
        tx_orientations=scenario.bs_orientations,
        rx_orientations=scenario.ut_orientations,
        **in_sight,
    )
    coefficients = tr38901.ChannelCoefficientsGenerator(
        geometry.CARRIER_HZ, scenario.bs_array, scenario.ut_array, subclustering=False, **_LIKE
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
        "antenna_position_m": geometry.port_positions(),
        "bs_position_m": np.array(geometry.BASE_STATION_M),
        "carrier_hz": geometry.CARRIER_HZ,
        "speed_m_s": tracks.speed_m_s,
        "sample_interval_s": geometry.SAMPLE_INTERVAL_S,
    }

"""The paper's base station and its moving users."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Complex, Float

# App. D, table of QuaDRiGa's settings.
CARRIER_HZ = 1.84e9
SAMPLE_INTERVAL_S = 5e-3
SPEED_KM_H = 30.0
TILT_DEGREES = 7.0
PANEL_ROWS, PANEL_COLUMNS = 2, 8
ELEMENTS = 4  # stacked above each other and coupled to one port
# Not in the table; chosen as in the QuaDRiGa file that docs/channel.md describes.
BASE_STATION_M = (0.0, 0.0, 30.0)
USER_HEIGHT_M = 1.5
RING_M = (35.0, 300.0)
ELEMENT_SPACING = 0.5  # in wavelengths
POLARISATIONS = 2  # +45 and -45 degrees

WAVELENGTH_M = 299_792_458.0 / CARRIER_HZ


@dataclass(frozen=True)
class Tracks:
    """Straight ways of users U at one speed.

    Attributes:
        start_m: first positions.
        direction: unit vectors.
        speed_m_s: the same for all.
    """

    start_m: Float[np.ndarray, "U 3"]
    direction: Float[np.ndarray, "U 3"]
    speed_m_s: float

    @property
    def velocity_m_s(self) -> Float[np.ndarray, "U 3"]:
        """Give every user's velocity."""
        return self.speed_m_s * self.direction


def draw_tracks(n_users: int, speed_m_s: float, rng: np.random.Generator) -> Tracks:
    """Place users uniformly over the area of the ring around the base station, with uniform headings."""
    inner, outer = RING_M
    radius = np.sqrt(rng.uniform(inner**2, outer**2, n_users))
    bearing, heading = rng.uniform(0, 2 * np.pi, (2, n_users))
    start = np.stack([radius * np.cos(bearing), radius * np.sin(bearing), np.full(n_users, USER_HEIGHT_M)], axis=1)
    direction = np.stack([np.cos(heading), np.sin(heading), np.zeros(n_users)], axis=1)
    return Tracks(start, direction, speed_m_s)


def port_positions() -> Float[np.ndarray, "A 3"]:
    """Give the middles of the ports in metres; the panel faces +x.

    Port 4 column + 2 row + polarisation, with columns along y, rows from below and +45 degrees first.
    """
    column, row, _ = np.indices((PANEL_COLUMNS, PANEL_ROWS, POLARISATIONS)).reshape(3, -1)
    y = (column - (PANEL_COLUMNS - 1) / 2) * ELEMENT_SPACING
    z = (row - (PANEL_ROWS - 1) / 2) * ELEMENT_SPACING * ELEMENTS
    return WAVELENGTH_M * np.stack([np.zeros(len(y)), y, z], axis=1)


def tilt_weights() -> Complex[np.ndarray, " E"]:
    """Give the weights of a port's elements from the lowest up: in phase at the electrical tilt below the horizon."""
    height = (np.arange(ELEMENTS) - (ELEMENTS - 1) / 2) * ELEMENT_SPACING
    return np.exp(2j * np.pi * height * np.sin(np.radians(TILT_DEGREES))) / np.sqrt(ELEMENTS)

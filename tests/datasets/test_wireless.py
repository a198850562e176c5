"""Channels simulated with Sionna: agreement with Sionna's own models, geometry, randomness and options."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import kstest

from mvlvm.datasets import simulate_channel, wireless
from mvlvm.datasets.wireless import coefficients_at, couple_elements, draw_rays

SMALL = {"n_users": 3, "n_snapshots": 20}


def coefficients(data):
    users = len(data.label_names)
    return (data["real"] + 1j * data["imag"]).reshape(users, -1, data["real"].shape[1])


def lag_1(h):
    products = (h[:, :-1].conj() * h[:, 1:]).sum(axis=(1, 2))
    powers = [(np.abs(part) ** 2).sum(axis=(1, 2)) for part in (h[:, :-1], h[:, 1:])]
    return np.abs(products) / np.sqrt(powers[0] * powers[1])


def test_shapes_names_and_truth():
    data = simulate_channel(**SMALL, random_state=0)
    assert data["real"].shape == data["imag"].shape == (60, 32)
    assert data["real"].dtype == np.float64
    assert data.rows[21] == "user 2, 0.005 s"
    np.testing.assert_array_equal(np.bincount(data.labels), [20, 20, 20])
    np.testing.assert_allclose(np.linalg.norm(data.truth["velocity_m_s"], axis=1), 30 / 3.6)
    np.testing.assert_array_equal(data.truth["start_position_m"][:, 2], 1.5)
    assert data.truth["is_nlos"].shape == data.truth["path_loss_db"].shape == (3,)


def test_seed_determines_the_simulation():
    first, again, other = (simulate_channel(**SMALL, random_state=seed)["real"] for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.1
    fresh = [simulate_channel(**SMALL)["real"] for _ in range(2)]
    assert np.abs(fresh[0] - fresh[1]).max() > 0.1


def test_more_snapshots_extend_the_same_tracks():
    short, long = (simulate_channel(n_users=2, n_snapshots=n, normalise="raw", random_state=0) for n in (5, 9))
    np.testing.assert_allclose(coefficients(short), coefficients(long)[:, :5], rtol=1e-12)


def test_global_random_generators_are_not_modified():
    from sionna.phy import config

    def states():
        return [torch.get_rng_state(), config.torch_rng("cpu").get_state()]

    numpys, before = np.random.get_state(), states()
    settings = (config.seed, config.precision, config.device)
    simulate_channel(**SMALL, random_state=0)
    for old, new in zip(before, states(), strict=True):
        assert torch.equal(old, new)
    np.testing.assert_array_equal(numpys[1], np.random.get_state()[1])
    assert settings == (config.seed, config.precision, config.device)
    config.torch_rng("cpu").manual_seed(5)  # the result does not depend on the state of the generator
    np.testing.assert_array_equal(
        simulate_channel(**SMALL, random_state=3)["real"], simulate_channel(**SMALL, random_state=3)["real"]
    )


def test_first_import_of_sionna_does_not_modify_global_generators():
    program = """
import random, numpy, torch
from mvlvm.datasets import simulate_channel
torch.manual_seed(3); numpy.random.seed(3); random.seed(3)
before = torch.get_rng_state(), numpy.random.get_state()[1].tolist(), random.getstate()
import sys; assert "sionna" not in sys.modules
simulate_channel(n_users=1, n_snapshots=2, random_state=0)
after = torch.get_rng_state(), numpy.random.get_state()[1].tolist(), random.getstate()
assert torch.equal(before[0], after[0]) and before[1:] == after[1:]
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_missing_sionna(monkeypatch):
    monkeypatch.setitem(sys.modules, "sionna.phy", None)
    with pytest.raises(ModuleNotFoundError, match=r'needs Sionna. Install it with: pip install "mvlvm\[channel\]"'):
        simulate_channel(**SMALL)


def test_sum_of_individual_rays_equals_sionnas_channel():
    """Oracle: Sionna's UMa model, which sums rays and applies Doppler shifts itself, with the same random numbers."""
    from sionna.phy import config
    from sionna.phy.channel import tr38901

    tracks = wireless.draw_tracks(4, 30 / 3.6, np.random.default_rng(0))
    ours = coefficients_at(wireless.SAMPLE_INTERVAL_S * np.arange(6), draw_rays(tracks, "16.1", seed=7), tracks)
    settings = {"carrier_frequency": wireless.CARRIER_HZ, "precision": "double", "device": "cpu"}
    panels = {"num_rows_per_panel": 4, "num_cols_per_panel": 1, "num_rows": 2, "num_cols": 8}
    station = tr38901.PanelArray(
        **panels, polarization="dual", polarization_type="cross", antenna_pattern="38.901", **settings
    )
    user = tr38901.Antenna(polarization="single", polarization_type="V", antenna_pattern="omni", **settings)
    start, velocity = (torch.as_tensor(array)[None] for array in (tracks.start_m, tracks.velocity_m_s))
    base_station = torch.tensor([[[0.0, 0.0, 30.0]]], dtype=torch.float64)
    generator = config.torch_rng("cpu")
    before = generator.get_state()
    generator.manual_seed(7)
    model = tr38901.UMa(o2i_model="low", ut_array=user, bs_array=station, direction="downlink",
                        spec_version="16.1", **settings)  # fmt: skip
    model.set_topology(start, base_station, 0 * start, 0 * base_station, velocity, torch.ones(1, 4, dtype=torch.bool))
    paths, _ = model(6, 1 / wireless.SAMPLE_INTERVAL_S)
    generator.set_state(before)
    theirs = couple_elements(paths[0, :, 0, 0].sum(dim=2).mT.numpy())
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * np.abs(theirs).max(axis=(1, 2)).min())


def test_ports_are_centred_on_sionnas_elements():
    from sionna.phy.channel import tr38901

    array = tr38901.PanelArray(
        num_rows_per_panel=4, num_cols_per_panel=1, num_rows=2, num_cols=8, polarization="dual",
        polarization_type="cross", antenna_pattern="38.901", carrier_frequency=wireless.CARRIER_HZ, precision="double",
        device="cpu",
    )  # fmt: skip
    weights = couple_elements(np.eye(128, dtype=complex)[None])[0]
    power = np.abs(weights.T) ** 2
    np.testing.assert_allclose(power[power > 0], 1 / 4)  # four elements per port, each element in one port
    np.testing.assert_array_equal((power > 0).sum(axis=0), 1)
    np.testing.assert_allclose(power @ array.ant_pos.numpy(), wireless.port_positions(), atol=1e-12)
    slant = np.zeros(128)
    for indices, element in ((array.ant_ind_pol1, array.ant_pol1), (array.ant_ind_pol2, array.ant_pol2)):
        slant[indices] = np.degrees(element.slant_angle.item())
    np.testing.assert_allclose(power @ slant, np.tile([45, -45], 16))
    # the weights compensate the phases of a wave seven degrees below the horizon
    wave = np.exp(-2j * np.pi * array.ant_pos.numpy()[:, 2] * np.sin(np.radians(7)) / wireless.WAVELENGTH_M)
    np.testing.assert_allclose(np.abs(weights.T @ wave), 2)


def test_port_beam_has_a_downtilt_of_seven_degrees():
    elevation = np.radians(np.arange(-60, 60.5, 0.5))
    heights = wireless.ELEMENT_SPACING * np.arange(-1.5, 2)
    response = np.exp(2j * np.pi * np.outer(np.sin(elevation), heights)) @ wireless.tilt_weights()
    assert np.degrees(elevation[np.abs(response).argmax()]) == pytest.approx(-7)
    assert np.abs(response).max() ** 2 == pytest.approx(4)  # array gain of four elements with unit total power


def test_ray_phase_rotates_at_its_doppler_frequency():
    tracks = wireless.draw_tracks(2, 10.0, np.random.default_rng(0))
    rays = draw_rays(tracks, "16.1", seed=0)
    arrival = np.zeros_like(rays.arrival)
    arrival[0], arrival[1] = tracks.direction[0], -tracks.direction[1]  # from ahead and from behind
    static = rays.gain.sum(axis=1)
    times = np.array([0.0, 0.001, 0.1])
    moving = coefficients_at(times, replace(rays, arrival=arrival), tracks)
    rotation = np.exp(2j * np.pi * 10.0 * times / wireless.WAVELENGTH_M)
    np.testing.assert_allclose(moving[0], rotation[:, None] * static[0], rtol=1e-9)
    np.testing.assert_allclose(moving[1], rotation.conj()[:, None] * static[1], rtol=1e-9)


def test_temporal_correlation_decreases_with_speed():
    # same users and rays; only the Doppler frequencies differ
    steps = [
        lag_1(coefficients(simulate_channel(n_users=6, n_snapshots=200, speed_km_h=speed, random_state=0)))
        for speed in (0.0, 3.0, 10.0, 30.0)
    ]
    np.testing.assert_allclose(steps[0], 1)
    assert (np.diff(steps, axis=0) < 0).all()
    # at 3 km/h a phase rotates by at most 2 pi 0.0256 per step, whose cosine bounds the correlation from below
    assert steps[1].min() > np.cos(2 * np.pi * 3 / 3.6 * 0.005 / wireless.WAVELENGTH_M)


def test_gain_is_path_loss_and_shadowing_times_the_antenna_pattern():
    data = simulate_channel(n_users=40, n_snapshots=100, normalise="raw", random_state=0)
    gain_db = 10 * np.log10((np.abs(coefficients(data)) ** 2).mean(axis=(1, 2)))
    pattern_db = gain_db + data.truth["path_loss_db"] - data.truth["shadowing_db"]
    # element gain 8 dB plus array gain 6 dB, halved by polarisation; 30 dB less behind the panel
    assert pattern_db.max() < 14
    assert pattern_db.min() > 8 - 30 - 30  # and a null of the port's beam
    x, y = data.truth["start_position_m"][:, :2].T
    ahead = np.abs(np.arctan2(y, x)) < np.pi / 3
    assert pattern_db[ahead].mean() > pattern_db[~ahead].mean() + 5


def test_normalisations_scale_the_same_channel():
    raw, row, user = (
        coefficients(simulate_channel(**SMALL, normalise=normalise, random_state=0))
        for normalise in ("raw", "row", "user")
    )
    length = np.linalg.norm(raw, axis=2, keepdims=True)
    np.testing.assert_allclose(row, raw / length)
    np.testing.assert_allclose(user, raw / np.sqrt((length**2).mean(axis=1, keepdims=True)))


def test_users_are_uniform_over_the_ring():
    tracks = wireless.draw_tracks(2000, 1.0, np.random.default_rng(0))
    x, y, z = tracks.start_m.T
    share = (x**2 + y**2 - 35**2) / (300**2 - 35**2)
    bearing, heading = (np.arctan2(*pair) / (2 * np.pi) + 0.5 for pair in ((y, x), tracks.direction[:, 1::-1].T))
    for uniform in (share, bearing, heading):
        assert kstest(uniform, "uniform").pvalue > 1e-3
    np.testing.assert_allclose(np.linalg.norm(tracks.direction, axis=1), 1)
    assert set(z) == {1.5}


def test_azimuth_spread_is_larger_in_the_older_tables():
    # number of dimensions for 90 % of the energy; the median azimuth spread of departure is 18 and 4 degrees
    def dimensions(spec_version):
        h = coefficients(simulate_channel(n_users=12, n_snapshots=100, spec_version=spec_version, random_state=0))
        energy = np.linalg.svd(h, compute_uv=False) ** 2
        return ((energy.cumsum(axis=1) / energy.sum(axis=1, keepdims=True)) < 0.9).sum(axis=1) + 1

    assert dimensions("16.1").mean() > dimensions("19.2").mean() + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_users": 0}, "n_users must be an integer of at least 1. Got 0."),
        ({"n_snapshots": 2.5}, "n_snapshots must be an integer of at least 1. Got 2.5."),
        ({"n_snapshots": True}, "n_snapshots must be an integer of at least 1. Got True."),
        ({"speed_km_h": -1.0}, "speed_km_h must be a non-negative number. Got -1.0."),
        ({"speed_km_h": float("nan")}, "speed_km_h must be a non-negative number. Got nan."),
        ({"spec_version": "18"}, "spec_version must be one of '16.1', '19.2'. Got '18'."),
        ({"normalise": "rows"}, "normalise must be one of"),
        ({"random_state": -1}, "random_state must be an integer from 0"),
    ],
)
@pytest.mark.usefixtures("no_type_checks")
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(ValueError, match=message):
        simulate_channel(**{**SMALL, **options})

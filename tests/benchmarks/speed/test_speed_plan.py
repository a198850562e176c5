import pytest

from benchmarks.speed.benchmark_data import LOW_RANK, MNIST, R_MNIST
from benchmarks.speed.methods import METHODS, NAIVE, OURS
from benchmarks.speed.speed_page import SPEED
from benchmarks.speed.speed_plan import (
    CPU,
    CUDA,
    DEVICES,
    GROWTH,
    PARTS,
    PEERS,
    QUALITY,
    STEPS,
    Sizes,
    checkpoints_of,
    growth_axis,
    n_steps_of,
    speed_cells,
)


@pytest.mark.parametrize("device", DEVICES)
def test_growth_varies_one_size_at_a_time(device):
    axes = ("N", *CPU.growth)
    for axis in axes:
        cells = growth_axis(axis, device)
        sizes = [vars(Sizes.of(cell)) for cell in cells.values()]
        assert [size[axis] for size in sizes] == list(cells)
        assert len({cell.data for cell in cells.values()}) == 1
        for other in axes:
            assert (len({size[other] for size in sizes}) == 1) == (other != axis)


def test_sizes_that_axes_share_are_measured_once():
    reference = [cell for cell in speed_cells(0, False) if cell.settings == {"part": GROWTH}]
    assert [(cell.device, cell.data) for cell in reference] == [("cpu", LOW_RANK), ("cuda", LOW_RANK)]
    for axis in CPU.growth:
        assert reference[0] in growth_axis(axis, "cpu").values()


@pytest.mark.parametrize("quick", [False, True])
def test_cells_are_unique_and_name_their_part_and_device(quick):
    cells = SPEED.all_cells(quick=quick)
    assert len({cell.label for cell in cells}) == len(cells)
    assert {cell.settings["part"] for cell in cells} == set(PARTS)
    assert {cell.device for cell in cells} <= set(DEVICES)
    assert "cpu" in {cell.device for cell in cells}
    assert {cell.is_quick for cell in cells} == {quick}


def test_settings_contain_only_what_differs_from_the_defaults():
    for cell in speed_cells(0, False):
        given = {name: value for name, value in cell.settings.items() if name in vars(Sizes())}
        defaults = vars(Sizes.of(type(cell)(**{**cell.as_json(), "settings": {}})))
        assert all(defaults[name] != value for name, value in given.items()), cell.label
        assert len(cell.settings) <= 4, cell.label


def test_only_step_times_are_repeated_and_the_methods_alternate():
    cells = speed_cells(1, False)
    assert {(cell.settings["part"], cell.device, cell.seed) for cell in cells} == {(STEPS, "cpu", 1)}
    assert [cell.method for cell in cells] == [OURS, NAIVE] * 3
    assert len(speed_cells(2, False)) == 6
    assert speed_cells(3, False) == []


def test_methods_are_compared_on_data_with_enough_views_and_on_a_device_that_they_use():
    peers = [cell for cell in speed_cells(0, False) if cell.settings["part"] == PEERS]
    assert "GFA" not in {cell.method for cell in peers if cell.data == R_MNIST}
    assert "GFA" in {cell.method for cell in peers}
    assert all(METHODS[cell.method].uses_device for cell in peers if cell.device == "cuda")


@pytest.mark.parametrize("quick", [False, True])
def test_every_cell_has_steps_or_checkpoints(quick):
    for cell in SPEED.all_cells(quick=quick):
        if cell.settings["part"] == QUALITY:
            assert len(checkpoints_of(cell)) > 0
        elif cell.settings["part"] != PEERS:
            assert n_steps_of(cell) >= 6


def test_steps_and_checkpoints_depend_on_device_method_and_initialisation():
    steps = {(cell.device, cell.method): n_steps_of(cell) for cell in speed_cells(0, False)
             if cell.settings["part"] == STEPS and cell.settings["N"] == 1000}  # fmt: skip
    assert steps == {("cpu", OURS): 120, ("cpu", NAIVE): 60, ("cuda", OURS): 600, ("cuda", NAIVE): 200}
    curves = [cell for cell in speed_cells(0, False) if cell.settings["part"] == QUALITY and cell.device == "cpu"]
    ours, auto = (checkpoints_of(cell) for cell in curves if cell.data == R_MNIST)
    assert ours != auto
    (naive,) = (checkpoints_of(cell) for cell in curves if cell.method == NAIVE)
    assert naive[0] == 10
    assert naive[-1] == 10_000
    assert {cell.data for cell in curves if cell.method == NAIVE} == {MNIST}
    assert CUDA.n_rounds == 1

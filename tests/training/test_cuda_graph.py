import pytest
import torch
from torch import nn

from mvlvm.errors import NumericalError
from mvlvm.training.loop import train
from mvlvm.training.schedule import TrainConfig
from tests.gpu import needs_gpu
from tests.training.bounds import StubBound

pytestmark = needs_gpu


@pytest.fixture
def generator():
    return torch.Generator("cuda").manual_seed(0)


class Slope:
    """A concave bound on a GPU, with a draw in every step; NaN once it has been raised above a height."""

    def __init__(self, breaks_at=float("inf")):
        self.place = nn.Parameter(torch.zeros(3, device="cuda"))
        self.breaks_at = breaks_at
        self.calls = 0

    def __call__(self, generator):
        self.calls += 1
        eps = torch.randn(3, generator=generator, device="cuda")
        value = -(self.place - 3 - 0.1 * eps).square().sum().double()
        return StubBound(torch.where(value > self.breaks_at, torch.nan, value))


def run(slope, generator, *, settle, max_iter=120):
    config = TrainConfig(max_iter=max_iter, learning_rate=0.1, tol=0.0)
    return train([slope.place], slope, config, generator, settle=settle)


def test_recorded_steps_are_the_steps_one_by_one(generator):
    recorded, one_by_one = Slope(), Slope()
    first = run(recorded, generator, settle=lambda n: "same")
    second = run(one_by_one, torch.Generator("cuda").manual_seed(0), settle=lambda n: None)
    assert recorded.calls < 10 < one_by_one.calls == 120
    torch.testing.assert_close(torch.tensor(first.bound), torch.tensor(second.bound), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(recorded.place, one_by_one.place, rtol=1e-5, atol=1e-5)
    assert first.learning_rate == second.learning_rate
    assert first.parts["double"] == pytest.approx([2 * bound for bound in first.bound])
    assert first.seconds == sorted(first.seconds)


def test_draws_differ_at_every_repetition(generator):
    history = run(Slope(), generator, settle=lambda n: "same")
    assert len(set(history.bound)) == 120


def test_a_step_is_recorded_anew_when_its_setting_changes(generator):
    slope = Slope()
    run(slope, generator, settle=lambda n: n // 50)
    assert slope.calls == 3 + 3  # three to warm up, and a recording for each of three settings


def test_a_recording_that_breaks_goes_on_step_by_step_from_the_last_good_place(generator):
    slope = Slope(breaks_at=-0.3)
    with pytest.raises(NumericalError, match="must stay finite"):
        run(slope, generator, settle=lambda n: "same")
    assert torch.isfinite(slope.place).all()
    assert slope.place.mean() > 2  # it had climbed nearly to the top


def test_what_cannot_be_recorded_is_done_step_by_step(generator):
    slope, looked_at = Slope(), []

    def looking(generator):
        bound = slope(generator)
        looked_at.append(bound.value.item())  # no recording survives a look
        return bound

    config = TrainConfig(max_iter=60, learning_rate=0.1, tol=0.0)
    with pytest.warns(RuntimeWarning, match="cannot be recorded"):
        history = train([slope.place], looking, config, generator, settle=lambda n: "same")
    assert history.bound == looked_at
    assert len(looked_at) == 60

import pytest
import torch
from torch import nn

from mvlvm.errors import NumericalError
from mvlvm.training.loop import TrainConfig, train
from mvlvm.training.steps import by_autograd, init_train_state
from tests.gpu import GPU_MARKS
from tests.training.bounds import StubBound

pytestmark = GPU_MARKS


@pytest.fixture
def generator():
    return torch.Generator("cuda").manual_seed(0)


class GpuBound:
    """A concave bound on a GPU, with a draw in every step; NaN above a threshold."""

    def __init__(self, breaks_at=float("inf")):
        self.place = nn.Parameter(torch.zeros(3, device="cuda"))
        self.breaks_at = breaks_at
        self.calls = 0

    def __call__(self, generator):
        self.calls += 1
        eps = torch.randn(3, generator=generator, device="cuda")
        value = -(self.place - 3 - 0.1 * eps).square().sum().double()
        return StubBound(torch.where(value > self.breaks_at, torch.nan, value))


def run(bound, generator, *, graph_key, objective=None, max_iter=120):
    config = TrainConfig(max_iter=max_iter, learning_rate=0.1, tol=0.0)
    evaluate = objective or bound
    state = init_train_state([bound.place], generator)
    train(
        state,
        by_autograd(lambda states, draws: (evaluate(draws), states), [bound.place]),
        config,
        graph_key=lambda states: graph_key(state.step),
    )
    return state.history


def test_recorded_steps_are_the_steps_one_by_one(generator):
    recorded, one_by_one = GpuBound(), GpuBound()
    first = run(recorded, generator, graph_key=lambda n: "same")
    second = run(one_by_one, torch.Generator("cuda").manual_seed(0), graph_key=lambda n: None)
    assert recorded.calls < 10 < one_by_one.calls == 120
    torch.testing.assert_close(torch.tensor(first.bound), torch.tensor(second.bound), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(recorded.place, one_by_one.place, rtol=1e-5, atol=1e-5)
    assert first.learning_rate == second.learning_rate
    assert first.parts["double"] == pytest.approx([2 * bound for bound in first.bound])
    assert first.seconds == sorted(first.seconds)


def test_draws_differ_at_every_replay(generator):
    history = run(GpuBound(), generator, graph_key=lambda n: "same")
    assert len(set(history.bound)) == 120


def test_a_step_is_recorded_again_when_its_key_changes(generator):
    bound = GpuBound()
    run(bound, generator, graph_key=lambda n: n // 50)
    assert bound.calls == 3 + 3  # three to warm up, and a recording for each of three settings


def test_a_replay_that_is_not_finite_continues_step_by_step_from_the_last_good_parameters(generator):
    bound = GpuBound(breaks_at=-0.3)
    with pytest.raises(NumericalError, match="must stay finite"):
        run(bound, generator, graph_key=lambda n: "same")
    assert torch.isfinite(bound.place).all()
    assert bound.place.mean() > 2  # close to the maximum


def test_steps_that_cannot_be_recorded_are_taken_one_by_one(generator):
    bound, values = GpuBound(), []

    def synchronising(generator):
        estimate = bound(generator)
        values.append(estimate.value.item())  # synchronises, which a recording does not allow
        return estimate

    with pytest.warns(RuntimeWarning, match="cannot be recorded"):
        history = run(bound, generator, graph_key=lambda n: "same", objective=synchronising, max_iter=60)
    assert history.bound == values
    assert len(values) == 60

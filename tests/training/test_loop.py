import itertools
import math

import pytest
import torch
from torch import nn

from mvlvm.errors import NumericalError
from mvlvm.training.history import StopReason
from mvlvm.training.interrupts import Interrupts
from mvlvm.training.loop import TrainConfig, cosine_decay, rise_between_windows, train
from mvlvm.training.steps import Adam, ParameterVector, by_autograd, init_train_state
from tests.training.bounds import ConcaveBound, StubBound


def run(parameter, bound, config, generator, **callbacks):
    """Train one parameter on a bound without view states, and return the history."""
    state = init_train_state([parameter], generator)
    objective = by_autograd(lambda states, draws: (bound(draws), states), [parameter])
    assert train(state, objective, config, **callbacks) is state
    assert state.step == len(state.history.bound)
    return state.history


def maximise(objective, generator, **settings):
    return run(objective.place, objective, TrainConfig(learning_rate=0.2, **settings), generator)


def test_concave_bound_is_maximised(generator):
    concave = ConcaveBound()
    history = maximise(concave, generator, max_iter=300)
    torch.testing.assert_close(concave.place.data, concave.top, rtol=0.0, atol=1e-3)
    assert history.bound[0] == 5.0 - 10.0
    assert history.bound[-1] == pytest.approx(5.0, abs=1e-5)


def test_history_has_one_entry_per_step(generator):
    history = maximise(ConcaveBound(), generator, max_iter=7)
    assert history.parts["double"] == [2 * bound for bound in history.bound]
    assert history.learning_rate == [0.2] * 4 + [0.2 * cosine_decay(step / 3) for step in range(3)]
    assert history.seconds == sorted(history.seconds)
    assert [len(column) for column in history.as_arrays().values()] == [7] * 4


def test_the_learning_rate_is_constant_until_convergence_and_then_decays(generator):
    history = maximise(ConcaveBound(), generator, max_iter=1000, tol=1e-3, window=20, decay_steps=30)
    assert history.stop_reason is StopReason.CONVERGED
    n_held = len(history.bound) - 30
    assert 40 <= n_held < 900
    assert n_held % 20 == 0
    assert history.learning_rate[:n_held] == [0.2] * n_held
    assert history.learning_rate[n_held:] == pytest.approx([0.2 * cosine_decay(step / 30) for step in range(30)])
    assert history.last_rise < 1e-3
    assert history.bound[-1] == pytest.approx(5.0, abs=1e-2)


def test_a_bound_that_still_rises_leaves_enough_steps_for_the_decay(generator):
    slope = nn.Parameter(torch.zeros(()))
    config = TrainConfig(max_iter=100, learning_rate=0.2, tol=1e-3, window=20, decay_steps=30)
    history = run(slope, lambda _: StubBound(3 * slope), config, generator)
    assert history.stop_reason is StopReason.MAX_ITER
    assert history.learning_rate == pytest.approx([0.2] * 70 + [0.2 * cosine_decay(step / 30) for step in range(30)])


def test_convergence_during_the_decay_does_not_end_training_early(generator):
    history = maximise(
        ConcaveBound(), generator, max_iter=60, tol=1e9, window=20, decay_steps=30
    )  # two windows are 40 steps
    assert history.stop_reason is StopReason.MAX_ITER
    assert len(history.bound) == 60


@pytest.mark.parametrize("fall", [0.0, 0.1], ids=["flat", "falling"])
def test_zero_tolerance_never_stops_early(fall, generator):
    concave, steps = ConcaveBound(), itertools.count()
    concave.place.data = concave.top.clone()
    config = TrainConfig(max_iter=100, tol=0.0, window=10)
    history = run(concave.place, lambda g: StubBound(concave(g).value - fall * next(steps)), config, generator)
    assert history.stop_reason is StopReason.MAX_ITER
    assert len(history.bound) == 100


def test_the_last_rise_compares_the_last_two_windows_before_the_decay(generator):
    slope = nn.Parameter(torch.zeros(()))
    config = TrainConfig(max_iter=75, learning_rate=0.2, tol=1e-3, window=20, decay_steps=15)
    history = run(slope, lambda _: StubBound(3 * slope), config, generator)
    assert history.stop_reason is StopReason.MAX_ITER
    last, before = history.bound[40:60], history.bound[20:40]
    assert history.last_rise == pytest.approx((sum(last) - sum(before)) / 20)


def test_a_run_shorter_than_two_windows_is_judged_by_its_halves(generator):
    slope = torch.nn.Parameter(torch.zeros((), dtype=torch.float64))
    config = TrainConfig(max_iter=60, learning_rate=0.2, tol=1e-3, window=100)
    history = run(slope, lambda _: StubBound(3 * slope), config, generator)
    assert history.last_rise == pytest.approx((sum(history.bound[15:30]) - sum(history.bound[:15])) / 15)


def test_the_rise_of_a_run_of_few_steps_is_unknown(generator):
    assert maximise(ConcaveBound(), generator, max_iter=3).last_rise == float("inf")


@pytest.mark.parametrize("step", [1, 4])
def test_interrupt_keeps_the_parameters(step, generator):
    concave, undisturbed = ConcaveBound(), ConcaveBound()
    places = [undisturbed.place.detach().clone()]
    config = TrainConfig(max_iter=10, learning_rate=0.2)
    expected = run(
        undisturbed.place, undisturbed, config, generator,
        callbacks=[lambda _: places.append(undisturbed.place.detach().clone())],
    )  # fmt: skip
    history = run(concave.place, interrupted_at(step, concave), config, generator)
    assert history.stop_reason is StopReason.INTERRUPTED
    assert history.bound == expected.bound[:step]
    assert torch.equal(concave.place, places[step])


def test_an_interrupt_of_the_first_step_is_raised(generator):
    concave = ConcaveBound()
    with pytest.raises(KeyboardInterrupt):
        run(concave.place, interrupted_at(0, concave), TrainConfig(max_iter=10), generator)


def test_a_requested_stop_ends_training_after_the_step(generator):
    concave, interrupts = ConcaveBound(), Interrupts()

    def request(state):
        interrupts.requested = state.step == 3

    history = run(
        concave.place, concave, TrainConfig(max_iter=10), generator, callbacks=[request], interrupts=interrupts
    )
    assert history.stop_reason is StopReason.INTERRUPTED
    assert len(history.bound) == 3


def interrupted_at(step, objective):
    steps = itertools.count()

    def interrupted(generator):
        if next(steps) == step:
            raise KeyboardInterrupt
        return objective(generator)

    return interrupted


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_bound_that_is_not_finite_fails_with_the_step_and_advice(bad, generator):
    concave = ConcaveBound()

    disturbances = iter([0.0, 0.0, 0.0, bad])

    def breaks(generator):
        return StubBound(concave(generator).value + next(disturbances))

    with pytest.raises(NumericalError, match=f"The bound is {bad} at step 3.*Lower learning_rate"):
        run(concave.place, breaks, TrainConfig(max_iter=10), generator)


def test_same_seed_gives_the_same_history():
    one, same, other = (
        maximise(ConcaveBound(noise=1.0), torch.Generator().manual_seed(seed), max_iter=20).bound for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other


def test_global_generator_is_left_alone(generator):
    before = torch.random.get_rng_state()
    maximise(ConcaveBound(noise=1.0), generator, max_iter=20)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_callback_sees_every_step_with_its_bound(generator):
    concave, seen = ConcaveBound(), []

    def note(state):
        seen.append((state.step, state.history.bound[-1]))

    history = run(concave.place, concave, TrainConfig(max_iter=5), generator, callbacks=[note])
    assert seen == list(enumerate(history.bound, start=1))


def test_the_learning_rate_decays_to_a_twentieth():
    shares = [cosine_decay(progress / 10) for progress in range(11)]
    assert shares[0] == 1.0
    assert shares[5] == pytest.approx(0.525)
    assert shares[10] == pytest.approx(0.05)
    assert shares == sorted(shares, reverse=True)


def test_view_states_are_passed_from_step_to_step_and_refreshed_every_fifty(generator):
    concave, config, refreshed = ConcaveBound(), TrainConfig(max_iter=120, learning_rate=0.2), []

    def objective(states, draws):
        return concave(draws), {"view": states["view"] + 1}

    def refresh(states, n_steps):
        refreshed.append((states["view"], n_steps))
        return {"view": states["view"] + 1000}

    state = init_train_state([concave.place], generator, {"view": 0})
    train(state, by_autograd(objective, [concave.place]), config, refresh=refresh)
    assert refreshed == [(0, 0), (1050, 50), (2100, 100)]
    assert state.view_states == {"view": 3120}


def test_adam_has_the_documented_betas(generator):
    """The second moment forgets after 100 steps, not after 1000 as with the defaults of torch."""
    assert init_train_state([nn.Parameter(torch.zeros(3))], generator).optimizer.betas == (0.9, 0.99)


def test_the_rise_is_unknown_before_two_windows_have_passed():
    assert rise_between_windows([0.0] * 19, window=10) == math.inf


def test_the_rise_is_unknown_for_windows_too_short_to_average():
    assert rise_between_windows([0.0, 1.0], window=1) == math.inf


def test_rise_of_a_noiseless_bound_is_exact():
    assert rise_between_windows([9.0] * 5 + [1.0] * 10 + [1.5] * 10, window=10) == 0.5


def test_parameters_in_one_vector_are_updated_as_by_adam_on_each_of_them(generator):
    values = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((3, 5), (), (17,))]
    ours, reference = ([nn.Parameter(value.clone()) for value in values] for _ in range(2))
    vector = ParameterVector(ours)
    assert all(torch.equal(parameter, value) for parameter, value in zip(ours, values, strict=True))
    adam = Adam(vector.vector, (0.9, 0.999))
    expected = torch.optim.Adam(reference, lr=0.1, maximize=True)
    for step in range(3):
        gradients = [torch.randn(value.shape, generator=generator, dtype=torch.float64) for value in values[:2]]
        vector.set_gradients(dict(zip(ours[:2], gradients, strict=True)))  # none for the third
        for parameter, gradient in zip(reference, [*gradients, torch.zeros(17).double()], strict=True):
            parameter.grad = gradient
        adam.ascend(vector, adam.step_size(step, 0.1))
        expected.step()
    for parameter, other in zip(ours, reference, strict=True):
        torch.testing.assert_close(parameter, other, rtol=1e-14, atol=0.0)
        assert parameter.data_ptr() % 64 == vector.vector.data_ptr() % 64

import numpy as np

from mvlvm.training.history import History, StopReason


def test_columns_are_named_arrays_in_the_order_of_the_steps():
    history = History()
    history.record(-3.0, {"latent_kl": 1.0}, seconds=0.1, learning_rate=0.02)
    history.record(-2.0, {"latent_kl": 2.0}, seconds=0.2, learning_rate=0.01)
    columns = history.as_arrays()
    expected = {
        "objective": [-3.0, -2.0],
        "latent_kl": [1.0, 2.0],
        "seconds": [0.1, 0.2],
        "learning_rate": [0.02, 0.01],
    }
    assert columns.keys() == expected.keys()
    assert all(np.array_equal(columns[name], expected[name]) for name in expected)


def test_histories_do_not_share_their_lists():
    one, other = History(), History()
    one.record(-3.0, {"latent_kl": 1.0}, seconds=0.1, learning_rate=0.02)
    assert other.bound == []
    assert other.parts == {}


def test_a_continued_run_is_one_history():
    first, second = History(), History()
    first.record(-3.0, {"latent_kl": 1.0}, seconds=0.5, learning_rate=0.02)
    second.record(-2.0, {"latent_kl": 2.0}, seconds=0.25, learning_rate=0.01)
    second.stop_reason, second.last_rise = StopReason.CONVERGED, 0.125
    first.extend(second)
    columns = first.as_arrays()
    expected = {
        "objective": [-3.0, -2.0],
        "latent_kl": [1.0, 2.0],
        "seconds": [0.5, 0.75],
        "learning_rate": [0.02, 0.01],
    }
    assert all(np.array_equal(columns[name], expected[name]) for name in expected)
    assert first.stop_reason is StopReason.CONVERGED
    assert first.last_rise == 0.125

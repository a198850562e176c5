import inspect

import numpy as np
import pytest
import torch

from mvlvm.randomness import Stream, make_generator, seed_from


@pytest.mark.parametrize("seed", [0, 7, 2**40, np.int64(7)])
def test_an_integer_is_used_as_the_seed(seed):
    assert seed_from(seed) == seed


def test_none_draws_new_seeds_that_torch_accepts():
    seeds = {seed_from(None) for _ in range(20)}
    assert len(seeds) == 20
    assert all(make_generator(seed, Stream.TRAINING).initial_seed() == seed for seed in seeds)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_equal_numpy_generators_yield_equal_sequences_of_seeds(make):
    one, other = make(3), make(3)
    first, second = seed_from(one), seed_from(one)
    assert (first, second) == (seed_from(other), seed_from(other))
    assert first != second


@pytest.mark.parametrize("seed", [-1, 2**63])
def test_seed_out_of_range_raises_an_error(seed):
    with pytest.raises(ValueError, match=rf"from 0 to 2\*\*63 - 1\. Got {seed}"):
        seed_from(seed)


@pytest.mark.parametrize(("wrong", "kind"), [(True, "bool"), ("seven", "str"), (1.5, "float"), (np.random, "module")])
def test_wrong_type_raises_an_error_that_names_it(wrong, kind):
    unchecked = inspect.unwrap(seed_from)  # without the run-time type checks of the tests
    with pytest.raises(ValueError, match=f"random_state must be .* Got {kind}"):
        unchecked(wrong)


def test_draws_depend_only_on_the_seed():
    draws = [torch.randn(5, generator=make_generator(seed, Stream.TRAINING)) for seed in (1, 1, 2)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1])
def test_streams_of_the_same_seed_are_uncorrelated(seed):
    draws = torch.stack([torch.randn(10_000, generator=make_generator(seed, stream)) for stream in Stream])
    correlations = torch.corrcoef(draws).triu(diagonal=1)
    assert correlations.abs().max() < 4 / 100  # four standard errors


def test_global_generators_are_not_modified():
    torch_before, numpy_before = torch.random.get_rng_state(), np.random.get_state()[1].copy()
    seed_from(None)
    make_generator(seed_from(np.random.default_rng(0)), Stream.TRAINING)
    assert torch.equal(torch.random.get_rng_state(), torch_before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)

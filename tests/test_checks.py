"""Validation of parameter values, and import of optional dependencies."""

import sys
import warnings

import numpy as np
import pytest

from mvlvm.checks import (
    check_choice,
    check_flag,
    check_integer,
    check_number,
    check_probability,
    is_number,
    listed,
    require,
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return the name of a package that disables warnings on import and has one module."""
    folder = tmp_path / "quiet_package"
    folder.mkdir()
    folder.joinpath("__init__.py").write_text("import warnings\nwarnings.filterwarnings('ignore')\n")
    folder.joinpath("inside.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "quiet_package"
    for name in ("quiet_package", "quiet_package.inside"):
        sys.modules.pop(name, None)


def test_valid_values_are_converted_to_python_types():
    assert type(check_integer(np.int8(3), "n", at_least=3)) is int
    assert type(check_number(np.float32(0.5), "tol", positive=True)) is float
    assert check_number(0, "tol", positive=False) == 0.0
    assert check_probability(0.5, "level") == 0.5
    assert check_flag(np.True_, "verbose") is True
    assert check_choice(None, "scale", ("view", None)) is None


@pytest.mark.parametrize("value", [2, 3.0, True, "3", None])
def test_values_that_are_not_integers_of_at_least_the_minimum_are_rejected(value):
    with pytest.raises(ValueError, match=f"^n must be an integer of at least 3. Got {value!r}.$"):
        check_integer(value, "n", at_least=3)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), 10**400, True, "1"])
@pytest.mark.parametrize(("positive", "word"), [(True, "positive"), (False, "non-negative")])
def test_values_that_are_not_finite_numbers_of_the_required_sign_are_rejected(value, positive, word):
    with pytest.raises(ValueError, match=f"^tol must be a {word} number. Got {value!r}.$"):
        check_number(value, "tol", positive=positive)


def test_zero_is_not_positive():
    with pytest.raises(ValueError, match="^tol must be a positive number. Got 0.$"):
        check_number(0, "tol", positive=True)


@pytest.mark.parametrize("value", [0, 1, float("nan"), True, "0.5"])
def test_values_that_are_not_probabilities_are_rejected(value):
    with pytest.raises(ValueError, match=f"^level must be a number above 0 and below 1. Got {value!r}.$"):
        check_probability(value, "level")


@pytest.mark.parametrize("value", [0, 1, "True", None])
def test_values_that_are_not_booleans_are_rejected(value):
    with pytest.raises(ValueError, match=f"^verbose must be True or False. Got {value!r}.$"):
        check_flag(value, "verbose")


@pytest.mark.parametrize("value", ["column", 1, np.zeros(2)])
def test_values_that_are_not_among_the_choices_are_rejected(value):
    with pytest.raises(ValueError, match="^scale must be one of 'view', None. Got "):
        check_choice(value, "scale", ("view", None))


def test_numbers_are_recognised_in_text():
    assert [is_number(entry) for entry in ("1e3", " -2 ", "nan", 5, "x", "", None)] == [True] * 4 + [False] * 3


def test_long_lists_are_shortened_and_only_text_is_quoted():
    assert listed([1, "a", 2.5]) == "1, 'a', 2.5"
    assert listed(list(range(6))) == "0, 1, 2, 3, 4, ..."


def test_importing_a_package_that_disables_warnings_keeps_the_filters(package):
    before = list(warnings.filters)
    assert require(package, "A test").__name__ == package
    assert warnings.filters == before


def test_a_submodule_can_be_required(package):
    assert require(f"{package}.inside", "A test").answer == 42


def test_a_missing_package_is_named_without_its_submodule():
    with pytest.raises(ModuleNotFoundError, match=r'A test needs no_such_package,.*pip install "mvlvm\[files\]"'):
        require("no_such_package.inside", "A test")


def test_a_missing_dependency_of_a_package_is_reported_by_its_own_name(package, tmp_path):
    tmp_path.joinpath(package, "inside.py").write_text("import no_such_package\n")
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_package'"):
        require(f"{package}.inside", "A test")

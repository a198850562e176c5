import inspect
import os
import subprocess
import sys

import pytest

from mvlvm import NGMVLVM
from mvlvm.cli.exit_handling import UsageError
from mvlvm.cli.model_options import MODEL_OPTIONS, for_views, parse_options


def test_every_parameter_of_the_estimator_is_an_option_with_its_default():
    parameters = dict(inspect.signature(NGMVLVM).parameters)
    assert set(MODEL_OPTIONS) == set(parameters) - {"verbose"}
    for name, option in MODEL_OPTIONS.items():
        if name != "random_state":  # the same command gives the same result
            assert option.default == parameters[name].default, name


def test_values_per_view_complete_the_default_or_the_common_value():
    per_view = {"kernel": ["rna=sm"], "likelihood": ["auto", "protein=poisson"], "n_private": ["rna=2"]}
    others = {"view_weights": ["rna=0.5"], "n_mixtures": ["3"], "max_iter": "7", "tol": "1e-4"}
    options = parse_options(per_view | others)
    parameters = for_views(options, ["rna", "protein"])
    assert parameters["kernel"] == {"rna": "sm", "protein": "ngsm"}
    assert parameters["likelihood"] == {"rna": "auto", "protein": "poisson"}
    assert parameters["n_private"] == {"rna": 2}
    assert parameters["view_weights"] == {"rna": 0.5, "protein": 1.0}
    assert (parameters["n_mixtures"], parameters["max_iter"], parameters["tol"]) == (3, 7, 1e-4)
    assert parameters["n_components"] == 2


def test_none_and_words_are_passed_on():
    options = parse_options({"scale": ["none", "rna=column"], "compress": "none", "n_components": "auto"})
    parameters = for_views(options, ["rna", "protein"])
    assert parameters["scale"] == {"rna": "column", "protein": None}
    assert (parameters["compress"], parameters["n_components"]) == (None, "auto")


def test_unknown_views_are_named_with_the_closest_one():
    with pytest.raises(UsageError, match="--view-weights: there is no view 'rns'. Did you mean 'rna'?"):
        for_views(parse_options({"view_weights": ["rns=1"]}), ["rna", "protein"])


def test_the_command_line_starts_without_torch():
    call = "from mvlvm.cli.main import app; app(['fit', '--help'], standalone_mode=False)"
    code = f"import sys; {call}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_shell_completes_commands_and_options():
    for words, expected in (("mvlvm tr", "transform"), ("mvlvm fit --n-comp", "--n-components")):
        environment = os.environ | {
            "_MVLVM_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        script = "import sys; sys.argv = ['mvlvm']; from mvlvm.cli.main import app; app(prog_name='mvlvm')"
        shown = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
        )
        assert expected in shown.stdout

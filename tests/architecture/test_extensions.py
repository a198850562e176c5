"""New likelihoods, kernels, initialisations and terms of the objective are one class or function and one entry."""

import ast
import inspect
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest

from mvlvm import NGMVLVM, load
from mvlvm.estimators.objective_terms import TERMS
from mvlvm.init.initializations import INITIALIZATIONS
from mvlvm.likelihoods import LIKELIHOODS
from mvlvm.models.spectral_mixture import MIXTURES

EXAMPLES = Path(__file__).parents[2] / "examples"
REGISTRIES = {"LIKELIHOODS": LIKELIHOODS, "MIXTURES": MIXTURES, "INITIALIZATIONS": INITIALIZATIONS, "TERMS": TERMS}
# Example -> parameters of an estimator that uses what it adds.
PARAMETERS = {
    "new_likelihood": {"likelihood": "exponential"},
    "new_kernel": {"kernel": {"a": "rbf", "b": "ngsm"}},
    "new_initialization": {"init": "cosine"},
    "new_term": {},
}
MAX_LINES = 40


@pytest.fixture(autouse=True)
def registries():
    """Restore the registries after a test."""
    before = {name: dict(registry) for name, registry in REGISTRIES.items()}
    yield
    for name, registry in REGISTRIES.items():
        registry.clear()
        registry.update(before[name])


def entries(tree):
    """Return the assignments to an item of a registry at the top level of a module."""
    targets = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
    return [target.value.id for target in targets if isinstance(target, ast.Subscript)]


def test_every_example_is_tested():
    assert {path.stem for path in EXAMPLES.glob("new_*.py")} == set(PARAMETERS)


@pytest.mark.parametrize("example", PARAMETERS)
def test_an_extension_is_short_and_has_one_line_of_registration(example):
    text = (EXAMPLES / f"{example}.py").read_text()
    assert len([line for line in text.splitlines() if line.strip()]) <= MAX_LINES
    assert len(entries(ast.parse(text))) == 1
    assert entries(ast.parse(text))[0] in REGISTRIES


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize("example", PARAMETERS)
def test_an_example_runs(example, monkeypatch, capsys):
    monkeypatch.setitem(inspect.unwrap(NGMVLVM.__init__).__kwdefaults__, "max_iter", 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="__main__")
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.filterwarnings("ignore::mvlvm.ConvergenceWarning")
@pytest.mark.parametrize("example", PARAMETERS)
def test_an_extension_works_in_every_method_and_in_saved_models(example, tmp_path):
    runpy.run_path(str(EXAMPLES / f"{example}.py"))
    rng = np.random.default_rng(0)
    f = np.sin(rng.standard_normal((60, 2)) @ rng.standard_normal((2, 9)))
    views = {"a": rng.exponential(np.exp(f[:, :5])), "b": rng.exponential(np.exp(f[:, 5:]))}
    views["a"][3, 2], views["b"][7] = np.nan, np.nan
    est = NGMVLVM(n_points=6, max_iter=30, random_state=0, **PARAMETERS[example]).fit(views)
    est.save(tmp_path / "model.safetensors", data="predict")
    again = load(tmp_path / "model.safetensors")
    new = {"a": views["a"][:5]}
    for mean, std in (est.predict(new, target="b", return_std=True), est.transform(new, return_std=True)):
        assert np.isfinite(mean).all()
        assert (std > 0).all()
    np.testing.assert_allclose(again.predict(new, target="b"), est.predict(new, target="b"))
    assert np.isfinite(est.score(views))
    assert all(np.isfinite(Y).all() for Y in est.sample(3, random_state=0).values())
    if example == "new_term":
        assert len(est.history_["smoothness"]) == est.n_iter_
    if example == "new_likelihood":
        assert (est.predict(new, target="b") > 0).all()
        with pytest.raises(ValueError, match=r"positive numbers to be exponential. Got 1 entries that are not.*row 2"):
            est.transform({"a": np.where(np.arange(25).reshape(5, 5) == 12, -1.0, 1.0)})

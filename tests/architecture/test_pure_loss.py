"""The loss has no side effects: the training loop owns all state."""

import ast
import inspect
import sys
import textwrap
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest
import torch

import mvlvm
from mvlvm.likelihoods import Bernoulli, Categorical, Gaussian, NegativeBinomial, Poisson, StudentT
from mvlvm.models.multiview import ViewPlan, build_model, refreshed_states, with_states
from tests.mixtures import normal
from tests.models.model_views import model_views

SOURCE = Path(mvlvm.__file__).parent
N = 40
# Only scratch memory, whose contents are undefined between calls, may be kept.
ALLOWED = {("linalg/cuda.py", "take")}
CONSTRUCTORS = ("__init__", "__post_init__", "__setattr__")


def make_model_and_views(generator):
    """Return a model and views of every type: complete, with missing entries and rows, and of every likelihood."""
    X = normal((N, 2), generator)
    wide = torch.sin(X @ normal((2, 60), generator)) + 0.1 * normal((N, 60), generator)
    missing = torch.sin(X @ normal((2, 5), generator))
    missing[3], missing[7, 2] = torch.nan, torch.nan
    classes = torch.nn.functional.one_hot((X[:, 0] > 0).long() + (X[:, 1] > 0).long()).double()
    counts = torch.poisson(X[:, :1].exp().expand(N, 4), generator=generator)
    counts[2, 1] = torch.nan
    arrays = {
        "complete": (wide, Gaussian(0.1)),
        "missing": (missing, Gaussian(0.1)),
        "heavy-tailed": (normal((N, 3), generator), StudentT(0.5, 4.0)),
        "binary": ((X > 0).double(), Bernoulli()),
        "counts": (counts, Poisson()),
        "overdispersed": (counts.nan_to_num(nan=1.0), NegativeBinomial(torch.ones(4))),
        "classes": (classes, Categorical()),
    }
    kernels = dict.fromkeys(arrays, "ngsm") | {"binary": "sm"}
    plans = {
        name: ViewPlan(kernels[name], 2, likelihood, not torch.isnan(Y).any())
        for name, (Y, likelihood) in arrays.items()
    }
    return build_model(X, plans, n_points=4, generator=generator), [Y for Y, _ in arrays.values()]


@pytest.fixture(params=["ones", "sample weights"])
def problem(request, generator):
    model, arrays = make_model_and_views(generator)
    weight = (
        0.5 + torch.rand(N, generator=generator, dtype=torch.float64) if request.param == "sample weights" else None
    )
    model.latent.set_sample_weight(weight)
    views = model_views(model, arrays, max_energy_share=0.1, sample_weight=weight)
    views = with_states(views, refreshed_states(views, 0))
    _, states = model.elbo(views, generator)  # states as during training
    return model, with_states(views, states)


def tensors_in(value, path="", found=None):
    """Return all tensors in nested dataclasses and tuples by path, without scratch memory."""
    found = {} if found is None else found
    if isinstance(value, torch.Tensor):
        found[path] = value
    elif is_dataclass(value):
        for field in fields(value):
            if field.name != "workspace":
                tensors_in(getattr(value, field.name), f"{path}.{field.name}", found)
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            tensors_in(item, f"{path}[{i}]", found)
    return found


def snapshot(model, views):
    return {
        **{f"model.{name}": tensor.detach().clone() for name, tensor in model.state_dict().items()},
        **{
            f"{name}{path}": tensor.detach().clone()
            for name, view in views.items()
            for path, tensor in tensors_in((view.data, view.state)).items()
        },
    }


def assert_identical(first, second):
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        torch.testing.assert_close(tensor, second[name], rtol=0.0, atol=0.0, equal_nan=True, msg=name)


def evaluate(model, views, seed=3):
    model.zero_grad()
    elbo, after = model.elbo(views, torch.Generator().manual_seed(seed), n_draws=2)
    elbo.value.backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters()}
    return elbo.reconstruction.detach(), gradients, tensors_in(list(after.values()), "after")


def executed_functions(call):
    """Return the file, name and first line of every function of the package that a call executes."""
    found = set()

    def note(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(str(SOURCE)):
            found.add((path, frame.f_code.co_name, frame.f_code.co_firstlineno))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def assignments(function):
    """Yield assignments to attributes, or to items of attributes, of any object: self, arguments or modules."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                for part in ast.walk(target):
                    stored = part.value if isinstance(part, ast.Subscript) else part
                    if isinstance(stored, ast.Attribute) and isinstance(part.ctx, ast.Store):
                        yield f"line {node.lineno}: {ast.unparse(target)}"


def test_the_loss_is_deterministic_and_does_not_modify_its_arguments(problem):
    model, views = problem
    before = snapshot(model, views)
    first, second = evaluate(model, views), evaluate(model, views)
    assert torch.equal(first[0], second[0])
    assert_identical(first[1], second[1])
    assert_identical(first[2], second[2])
    assert_identical(before, snapshot(model, views))


def test_no_function_reachable_from_the_loss_assigns_to_an_attribute(problem):
    model, views = problem
    reached = executed_functions(lambda: evaluate(model, views))
    names = {name for _, name, _ in reached}
    assert {"elbo", "log_evidence", "sample", "natural_gradient_step"} <= names
    violations = []
    for path in {path for path, _, _ in reached}:
        tree, file = ast.parse(Path(path).read_text()), Path(path).relative_to(SOURCE).as_posix()
        called = {(name, line) for where, name, line in reached if where == path}
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name not in CONSTRUCTORS:
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if (node.name, first) in called and (file, node.name) not in ALLOWED:
                    violations += [f"{file}, {node.name}, {violation}" for violation in assignments(node)]
    assert violations == []


def test_assignments_to_attributes_are_detected():
    def impure(view, state):
        view.weights = state
        view.cache["state"] = state
        view.count += 1

    tree = ast.parse(textwrap.dedent(inspect.getsource(impure)))
    assert len(list(assignments(tree))) == 3


def test_states_are_immutable(problem):
    _, views = problem
    for value in (*views.values(), *(part for view in views.values() for part in (view.data, view.state))):
        with pytest.raises(AttributeError, match="cannot assign"):
            value.Y = None

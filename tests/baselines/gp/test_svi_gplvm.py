"""The ELBO of GPLVM-SVI and DGPLVM: minibatches, layers and gradients."""

import numpy as np
import pytest
import torch

from mvlvm import datasets
from mvlvm.baselines.gp.sparse_gp import independent_noise
from mvlvm.baselines.gp.svi_gplvm import DGPLVM, GPLVMSVI, MVDGPLVM, MVGPLVMSVI, VariationalGPLVM
from mvlvm.baselines.linear.projections import PCA
from mvlvm.evaluation import nearest_neighbour_accuracy
from mvlvm.parameters import raw_positive

N, WIDTHS = 16, (4, 3)
ALL = torch.arange(N)


def draws():
    return torch.Generator().manual_seed(5)


def make_model(n_layers):
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.normal(size=(N, 2)))
    model = VariationalGPLVM(X, X[:6] + 0.1, WIDTHS, n_layers)
    for stack in model.processes:
        stack.last.mean.data.copy_(torch.from_numpy(rng.normal(size=stack.last.mean.shape)))
    return model


@pytest.fixture(name="Ys")
def views():
    rng = np.random.default_rng(1)
    return [torch.from_numpy(rng.normal(size=(N, width))) for width in WIDTHS]


def test_deep_model_with_identity_layer_equals_shallow_model(Ys):
    shallow, deep = make_model(1), make_model(2)
    for stack in deep.processes:
        stack.inner[0].kernel.raw_variance.data.fill_(raw_positive(1e-24))
    of_inner = sum(stack.inner[0].kl() for stack in deep.processes)
    found = deep.elbo(Ys, ALL, draws()) + of_inner
    # the first layer adds a standard deviation of at most 1e-8, and the gradient of the ELBO is in the hundreds
    assert found.item() == pytest.approx(shallow.elbo(Ys, ALL, draws()).item(), abs=1e-3)
    untouched = make_model(2).elbo(Ys, ALL, draws()) + of_inner
    assert abs(untouched.item() - found.item()) > 1.0


def test_samples_of_first_layer_have_its_mean_and_variance():
    stack = make_model(2).processes[0]
    stack.inner[0].mean.data.normal_(generator=draws())
    stack.inner[0].set_factor(torch.eye(6, dtype=torch.float64).expand(2, 6, 6))
    X = torch.tensor([[0.3, -0.4]], dtype=torch.float64).expand(20_000, 2)
    mean, variance = stack.inner[0](X[:1])
    drawn = stack._sample_inner(X, independent_noise(draws())) - X
    error = (variance[0] / len(X)).sqrt()
    assert ((drawn.mean(dim=0) - mean[0]).abs() < 4 * error).all()
    # the variance of the sample variance of a normal variable is 2 v^2 / n
    assert ((drawn.var(dim=0) - variance[0]).abs() < 4 * variance[0] * (2 / len(X)) ** 0.5).all()


@pytest.mark.parametrize("n_layers", [1, 2])
def test_mean_elbo_of_minibatches_equals_full_elbo(Ys, n_layers):
    model = make_model(n_layers)
    model.latent.raw_std.data.fill_(raw_positive(1e-12))
    for stack in model.processes:
        for layer in stack.inner:
            layer.kernel.raw_variance.data.fill_(raw_positive(1e-20))
    halves = [model.elbo(Ys, rows, draws()).item() for rows in (ALL[::2], ALL[1::2])]
    assert np.mean(halves) == pytest.approx(model.elbo(Ys, ALL, draws()).item(), rel=1e-6)


@pytest.mark.parametrize("n_layers", [1, 2])
def test_every_parameter_has_finite_gradient(Ys, n_layers):
    model = make_model(n_layers)
    model.elbo(Ys, ALL, draws()).backward()
    for name, parameter in model.named_parameters():
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 0, name


@pytest.mark.parametrize("method", [GPLVMSVI, MVGPLVMSVI, DGPLVM, MVDGPLVM])
def test_digits_are_separated_and_transform_recovers_training_latents(method):
    data = datasets.load("digits-halves", random_state=0)
    views, labels = {name: Y[:300] for name, Y in data.views.items()}, data.labels[:300]
    start = nearest_neighbour_accuracy(PCA(random_state=0).fit_transform(views), labels)
    est = method(n_inducing=20, max_iter=100, random_state=0).fit(views)
    assert nearest_neighbour_accuracy(est.embedding_, labels) > start + 0.05
    again = est.transform({name: Y[:40] for name, Y in views.items()})
    typical = np.linalg.norm(est.embedding_ - est.embedding_.mean(axis=0), axis=1).mean()
    assert np.median(np.linalg.norm(again - est.embedding_[:40], axis=1)) < 0.2 * typical


@pytest.mark.parametrize("parameter", ["n_inducing", "batch_size", "max_iter"])
def test_invalid_parameters_are_rejected(parameter):
    with pytest.raises(ValueError, match=f"{parameter} must be an integer of at least 1"):
        GPLVMSVI(**{parameter: 0}).fit(np.eye(5))


@pytest.mark.slow
def test_accuracy_on_handwritten_digits_matches_paper():
    data = datasets.load("r-mnist", random_state=0)
    est = GPLVMSVI(random_state=0).fit(data.views)
    assert nearest_neighbour_accuracy(est.embedding_, data.labels) > 0.3441 - 0.05


@pytest.mark.parametrize("estimator", [GPLVMSVI, MVDGPLVM])
def test_latent_of_new_row_does_not_depend_on_other_rows(Ys, estimator):
    est = estimator(n_components=2, n_inducing=5, max_iter=20, random_state=0).fit([Y.numpy() for Y in Ys])
    together = est.transform([Y.numpy()[:6] for Y in Ys])
    alone = [est.transform([Y.numpy()[n : n + 1] for Y in Ys])[0] for n in range(6)]
    np.testing.assert_allclose(alone, together, atol=1e-6)

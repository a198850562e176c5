import copy

import pytest
import torch

from mvlvm.likelihoods import Gaussian
from mvlvm.models.multiview import ViewPlan, build_model, refreshed_states, with_states
from tests.gpu import GPU_MARKS
from tests.mixtures import normal
from tests.models.model_views import model_views

pytestmark = GPU_MARKS


@pytest.fixture(params=[700, 30], ids=["F < N", "F > N"])
def problem(request, generator):
    N = request.param
    X = normal((N, 2), generator)
    Ys = [torch.sin(X @ normal((2, M), generator)) + 0.3 * normal((N, M), generator) for M in (40, 5)]
    plans = {"a": ViewPlan("ngsm", 2, Gaussian(0.1)), "b": ViewPlan("sm", 1, Gaussian(0.1))}
    return build_model(X.float(), plans, n_points=20, generator=generator), Ys


@pytest.mark.parametrize("share", [None, 0.05])
def test_bound_and_gradient_agree_on_cpu_and_gpu(problem, share):
    model, Ys = problem
    bounds, gradients = [], []
    for device in ("cpu", "cuda"):
        on_device = copy.deepcopy(model).to(device)
        views = model_views(on_device, [Y.to(device) for Y in Ys], max_energy_share=share)
        views = with_states(views, refreshed_states(views, 0))
        # a generator of the CPU, so that both devices use the same draws
        value = on_device.elbo(views, torch.Generator().manual_seed(3))[0].value
        value.backward()
        bounds.append(value.item())
        gradients.append(torch.cat([p.grad.flatten().cpu().double() for p in on_device.parameters()]))
    assert bounds[1] == pytest.approx(bounds[0], rel=1e-4)
    assert torch.linalg.vector_norm(gradients[1] - gradients[0]) < 0.02 * torch.linalg.vector_norm(gradients[0])

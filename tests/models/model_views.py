"""Views of models for tests: modules with data and initial states."""

from mvlvm.likelihoods import Gaussian
from mvlvm.models.data import ViewData
from mvlvm.models.gaussian_views import CompleteGaussianView, IncompleteGaussianView
from mvlvm.models.multiview import init_states
from mvlvm.models.state import StateSettings
from mvlvm.models.views import ModelView


def gaussian_view(name, mixture, *, n_points, noise_variance=0.1, complete=True):
    """Return a Gaussian view module."""
    kind = CompleteGaussianView if complete else IncompleteGaussianView
    return kind(name, mixture, Gaussian(noise_variance), n_points=n_points)


def model_views(model, data, *, weights=None, max_energy_share=None, sample_weight=None):
    """Return the views of a model, in its order, with their initial states.

    Args:
        model: the model.
        data: arrays with NaN for missing entries, or `ViewData`.
        weights: of the views; None stands for ones.
        max_energy_share: of compression.
        sample_weight: of the rows, for arrays.
    """
    modules = model.modules_by_view
    assert len(modules) == len(data)
    observed = [Y if isinstance(Y, ViewData) else ViewData.from_array(Y, sample_weight) for Y in data]
    weights = [1.0] * len(observed) if weights is None else weights
    views = {
        name: ModelView(module, Y, weight=weight)
        for (name, module), Y, weight in zip(modules.items(), observed, weights, strict=True)
    }
    return init_states(views, StateSettings(model.latent.mean.dtype, max_energy_share))

"""Our training alone, without what a fit does before and after it, for those who take a step apart."""

from collections.abc import Callable

from mvlvm.benchmarks.fitted import ViewArrays
from mvlvm.benchmarks.own import estimator, quietly
from mvlvm.benchmarks.task import Task
from mvlvm.estimators import NGMVLVM
from mvlvm.estimators.assembling import Assembly, assemble, scale_views
from mvlvm.estimators.options import check_fit_options, check_view_options
from mvlvm.estimators.preprocessing import prepare_views
from mvlvm.estimators.train import train_model
from mvlvm.randomness import Stream, make_generator, seed_from
from mvlvm.training.history import History


def untrained(est: NGMVLVM, views: ViewArrays) -> tuple[Assembly, Callable[[int], History]]:
    """Put a model together as `fit` does; give it, and what trains it on by a number of steps."""
    parameters = est.get_params(deep=False)
    options = check_fit_options(parameters)
    prepared = prepare_views(views, parameters["likelihood"])
    view_options = check_view_options(parameters, parameters["kernel"], prepared.data.names)
    generator = make_generator(seed_from(parameters["random_state"]), Stream.TRAINING, options.device)
    with quietly():
        scaled = scale_views(prepared, view_options, None, options)
        assembly = assemble(scaled, parameters, options, view_options, generator)

    def train(n_steps: int) -> History:
        wanted = check_fit_options({**parameters, "max_iter": n_steps})
        return train_model(assembly.model, assembly.training, wanted, view_options, generator)

    return assembly, train


def ready_to_train(views: ViewArrays, task: Task) -> tuple[Assembly, Callable[[int], History]]:
    """Give the model of a task, and what trains it on by a number of steps."""
    return untrained(estimator(task, 1), views)

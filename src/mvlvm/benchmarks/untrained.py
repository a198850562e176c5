"""Our training alone, without what a fit does before and after it, for those who take a step apart."""

from collections.abc import Callable

from mvlvm.benchmarks.fitted import ViewArrays
from mvlvm.benchmarks.own import estimator, quietly
from mvlvm.benchmarks.task import Task
from mvlvm.estimators.assembling import assemble, scale_views
from mvlvm.estimators.fitting import train_model
from mvlvm.estimators.options import check_fit_options, check_view_options
from mvlvm.estimators.preparing import prepare_views
from mvlvm.randomness import Stream, make_generator
from mvlvm.training.history import History


def ready_to_train(views: ViewArrays, task: Task) -> Callable[[int], History]:
    """Put a model together as `fit` does, and give what trains it on by a number of steps."""
    parameters = estimator(task, 1).get_params(deep=False)
    options = check_fit_options(parameters)
    prepared = prepare_views(views, parameters["likelihood"])
    view_options = check_view_options(parameters, parameters["kernel"], prepared.data.names)
    generator = make_generator(task.seed, Stream.TRAINING, options.device)
    with quietly():
        scaled = scale_views(prepared, view_options, None, options.device)
        untrained = assemble(scaled, parameters, options, view_options, generator)

    def train(n_steps: int) -> History:
        wanted = check_fit_options({**parameters, "max_iter": n_steps})
        return train_model(untrained.model, untrained.seen, wanted, view_options, generator)

    return train

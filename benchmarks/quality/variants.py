"""Variants of NG-MVLVM on the paper's data: view weights, initialisation, scaling, likelihood and latent dimension.

The tables of the paper use one setting for all data sets. The cells of this study change one setting at a time, and
show how much of a difference from the paper it explains.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Int

from benchmarks.cells import Cell, Measurement
from benchmarks.paper.paper_data import load_paper_data
from benchmarks.paper.paper_methods import LABEL, OURS, FittedLatents, held_out_accuracies, paper_accuracies
from benchmarks.results import Ranking, Results, mean_std, rank
from benchmarks.study import PagePart, Study
from benchmarks.tables import Measure, ResultTable, marked
from mvlvm import baselines
from mvlvm.datasets import Dataset, load
from mvlvm.estimators import NGMVLVM

_NAME, _VARIANT = "variants", "variant"
_QUICK = {"max_iter": 20}
_QUICK_ROWS = 150
_LONG = {"max_iter": 4000, "tol": 0.0}
_BOUND = Measure("bound", "ELBO, nats per row", scale=1.0, digits=1)
_KNN = Measure("KNN", "1-NN, %")


@dataclass(frozen=True)
class Variant:
    """Settings of a fit.

    Attributes:
        parameters: parameters of `NGMVLVM` that differ from the defaults.
        first: parameters of an earlier fit whose latents initialise this one; None for none.
        method: "NG-MVLVM", or the name of a baseline.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    first: Mapping[str, Any] | None = None
    method: str = OURS


@dataclass(frozen=True)
class VariantTask:
    """Variants on one data set.

    Attributes:
        paper_data: name of the data set in the paper.
        variants: name -> variant.
        text: what the variants show.
        measures: columns of the table.
        label_view: whether the labels are a view.
        held_out: whether accuracy is that on rows whose labels are missing during fitting.
        large: whether a fit takes many minutes on a CPU, so that only the first seed is run.
        original_order: variants for which the rows of the data set are not shuffled.
    """

    paper_data: str
    variants: Mapping[str, Variant]
    text: str
    measures: Sequence[Measure] = (_BOUND, _KNN)
    label_view: bool = False
    held_out: bool = False
    large: bool = False
    original_order: Sequence[str] = ()


# Both views of MNIST-SVHN count equally if a view is weighted by the inverse of its number of pixels.
_EQUAL_PIXELS = {"view_weights": {"mnist": 1.0, "svhn": 784 / 3072}}
_STRONG_LABELS = {"view_weights": {"image": 1.0, LABEL: 10.0}}
_SCALES = {
    'scale="view"': Variant({"scale": "view"}),
    'scale="column"': Variant({"scale": "column"}),
}
_SCALE_TEXT = """The paper does not specify the scaling of pixels: one factor for all pixels of a view, or one per
pixel. Two latent dimensions, labels are not a view, initialised by PCA."""

TASKS = {
    "CIFAR with labels": VariantTask(
        "CIFAR",
        {
            "initialised by PCA": Variant(),
            "weight 10 on the labels": Variant(_STRONG_LABELS),
            "initialised by the latents of weight 10": Variant(first=_STRONG_LABELS),
            "initialised by PCA, 4,000 steps": Variant(_LONG),
        },
        """The labels are a view, as in the paper's multi-view table: 400 pixels against 10 label columns. Latents that
        represent the labels result from view weights or from an initialisation that uses the labels; if their ELBO
        without the weights is lower, the model prefers latents that explain the pixels. The ELBO of a weighted fit
        includes the weights.""",
        label_view=True, large=True,
    ),
    "MNIST with labels": VariantTask(
        "MNIST",
        {"initialised by PCA": Variant()},
        """The labels are a view, as in the paper's multi-view table, in which the initialisation with the best ELBO is
        chosen. A k-nearest-neighbour graph also uses the labels, whereas PCA hardly does.""",
        label_view=True, large=True,
    ),
    "MNIST-SVHN": VariantTask(
        "MNIST-SVHN",
        {
            "initialised by PCA": Variant(),
            "view weights inverse to the number of pixels": Variant(_EQUAL_PIXELS),
            "initialised by the latents of these weights": Variant(first=_EQUAL_PIXELS),
            'init="auto", as in the table of the paper': Variant({"init": "auto"}),
            "initialised by PCA, 4,000 steps": Variant(_LONG),
        },
        """The views have 784 and 3,072 pixels, so the colours of the SVHN images dominate two shared dimensions. The
        paper states neither the latent dimension nor view weights for its table. The ELBO of a weighted fit includes
        the weights.""",
        large=True,
    ),
    "MOVIES": VariantTask(
        "MOVIES",
        {f"D = {d}": Variant({"n_components": d, "init": "auto"}) for d in (2, 5, 10, 20)},
        "Accuracy of three classifiers on the latents, by five-fold cross-validation, as in the paper's table.",
        (_KNN, Measure("NN", "neural network, %"), Measure("LR", "logistic regression, %")),
    ),
    "R-CIFAR": VariantTask("R-CIFAR", _SCALES, _SCALE_TEXT),
    "YALE": VariantTask("YALE", _SCALES, _SCALE_TEXT),
    "R-MNIST": VariantTask("R-MNIST", _SCALES, _SCALE_TEXT),
    "NEWSGROUPS": VariantTask(
        "NEWSGROUPS",
        {
            "NG-MVLVM, Gaussian likelihood": Variant({"init": "auto"}),
            "NG-MVLVM, negative binomial likelihood": Variant({"likelihood": "negative-binomial", "init": "auto"}),
            "UMAP, rows shuffled": Variant(method="UMAP"),
            "UMAP, rows in their original order": Variant(method="UMAP"),
        },
        """Word counts without labels. Half of the posts are duplicates of others in the twenty words, and the original
        order is sorted by class: methods that break ties of distances by row index then reveal the class.""",
        (_KNN,), original_order=("UMAP, rows in their original order",),
    ),
    "BRIDGES with held-out labels": VariantTask(
        "BRIDGES",
        {
            "data only": Variant({"init": "auto"}),
            "labels with a Gaussian likelihood": Variant({"init": "auto"}),
            "labels with a Bernoulli likelihood": Variant(
                {"init": "auto", "likelihood": {"counts": "gaussian", LABEL: "bernoulli"}}
            ),
            "labels with a Gaussian likelihood and weight 0.1": Variant(
                {"init": "auto", "view_weights": {"counts": 1.0, LABEL: 0.1}}
            ),
        },
        """The labels of the test rows of a fold are missing during fitting. Labels are two columns, the data four: with
        a Gaussian likelihood the labels are fitted so closely that rows with and without labels can be separated.""",
        (_KNN, Measure("predicted", "predicted by the model, %")), label_view=True, held_out=True,
    ),
}  # fmt: skip
_WITHOUT_LABELS = "data only"


def cells(seed: int, quick: bool) -> list[Cell]:
    """Return the cells of a seed; large data sets have one seed and no quick cells."""
    size = {"quick": True} if quick else {}
    return [
        Cell(study=_NAME, method=variant.method, data=name, seed=seed, settings={_VARIANT: key, **size})
        for name, task in TASKS.items()
        if not task.large or (seed == 0 and not quick)
        for key, variant in task.variants.items()
    ]


def measure(cell: Cell) -> Measurement:
    """Fit a variant, and classify its latents."""
    task = TASKS[cell.data]
    data = _load(cell, task)
    assert data.labels is not None
    if task.held_out:
        return Measurement(_held_out(cell, data, data.labels))
    fitted = _fit(cell, task, dict(data.views))
    classifiers = [measure_.metric for measure_ in task.measures if measure_ is not _BOUND]
    metrics = paper_accuracies(fitted.embedding_, data.labels, classifiers, seed=cell.seed)
    if cell.method == OURS:
        metrics["bound"] = fitted.elbo_ / len(data.labels)
    return Measurement({**metrics, "rows": len(data.labels)})


def _load(cell: Cell, task: VariantTask) -> Dataset:
    if cell.settings[_VARIANT] in task.original_order and not cell.is_quick:
        return load("newsgroups", random_state=cell.seed, vocabulary_split="train")
    max_rows = _QUICK_ROWS if cell.is_quick else None
    return load_paper_data(
        task.paper_data, seed=cell.seed, quick=cell.is_quick, max_rows=max_rows, label_view=task.label_view
    )


def _fit(cell: Cell, task: VariantTask, views: dict[str, Any]) -> Any:
    variant = task.variants[cell.settings[_VARIANT]]
    if variant.method != OURS:
        return baselines.get(variant.method)(n_components=2, random_state=cell.seed).fit(views)
    size = _QUICK if cell.is_quick else {}
    parameters = {**variant.parameters, **size}
    if variant.first is not None:
        first = NGMVLVM(random_state=cell.seed, **{**variant.first, **size}).fit(views)
        parameters["init"] = first.embedding_
    return NGMVLVM(random_state=cell.seed, **parameters).fit(views)


def _held_out(cell: Cell, data: Dataset, labels: Int[np.ndarray, " N"]) -> dict[str, float]:
    task, key = TASKS[cell.data], cell.settings[_VARIANT]
    views = {name: Y for name, Y in data.views.items() if name != LABEL or key != _WITHOUT_LABELS}

    def fit(of_fold: dict[str, Any]) -> FittedLatents:
        estimator = _fit(cell, task, of_fold)
        return FittedLatents(estimator.embedding_, estimator.reconstruct)

    return held_out_accuracies(fit, views, labels, seed=cell.seed, n_folds=2 if cell.is_quick else 5)


def page(results: Results) -> list[PagePart]:
    """Return a section with a table for every data set."""
    parts: list[PagePart] = []
    for name in results.data:
        task = TASKS[name]
        parts += [f"## {name}", task.text, _table(results, name, task)]
    return parts


def _table(results: Results, name: str, task: VariantTask) -> ResultTable:
    """Return a row for every variant; the ELBO is not ranked, because weighted bounds are not comparable."""
    columns = [_column(results, name, task, measure_) for measure_ in task.measures]
    head = ["variant", *(measure_.column for measure_ in task.measures)]
    rows = [[key, *(column[key] for column in columns)] for key in task.variants]
    return ResultTable(f"{_NAME}-{'-'.join(name.lower().split())}", "", [head, *rows])


def _column(results: Results, name: str, task: VariantTask, measure_: Measure) -> dict[str, str]:
    values = {
        key: results.by_seed(measure_.metric, name, variant.method, {_VARIANT: key})
        for key, variant in task.variants.items()
    }
    ranking = Ranking() if measure_ is _BOUND else rank(values)
    texts = {key: measure_.text(mean_std(list(seeds.values())) if seeds else None) for key, seeds in values.items()}
    return {key: marked(text, key, ranking) for key, text in texts.items()}


VARIANTS = Study(
    name=_NAME,
    title="Variants of NG-MVLVM on the paper's data",
    what="""Settings other than those of the paper's tables, one at a time: view weights, initialisation, number of
    steps, scaling, likelihood and latent dimension. NG-MVLVM with two latent dimensions and defaults unless stated;
    accuracies are those of five-fold cross-validation on the latents of all rows unless stated.""",
    group="quality",
    cells=cells,
    measure=measure,
    page=page,
    limit=7200.0,
)

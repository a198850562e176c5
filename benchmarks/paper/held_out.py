"""Classification of rows whose labels are missing during fitting."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.cells import Cell, Grid, Measurement
from benchmarks.paper.paper_data import data_note, load_paper_data
from benchmarks.paper.paper_methods import (
    INITIALISATION_NOTE,
    MAX_ROWS,
    OURS,
    FittedLatents,
    compatible_views,
    estimator_initialised_by_bound,
    held_out_accuracies,
)
from benchmarks.paper.paper_tables import (
    LEAD_STATUSES,
    Lead,
    accuracy_figure,
    comparison,
    lead_over_best,
    row_count_note,
    verdict_on_leads,
)
from benchmarks.results import Results, difference
from benchmarks.study import Claim, PagePart, Study, Verdict, cells_of_grids
from benchmarks.tables import Measure
from mvlvm.datasets import Dataset

_DATA = ("BRIDGES", "R-CIFAR", "R-MNIST", "NEWSGROUPS", "YALE", "MNIST-SVHN", "MOVIES", "CORA")
_RAW = ("1-NN on the data", "logistic regression on the data")
_LATENT = (OURS, "MV-ARFLVM", "MV-GPLVM-SVI", "MV-DGPLVM", "MVAE", "MMVAE", "MOFA", "PCA")
_MAPS = ("UMAP", "t-SNE")
# The suffix is part of stored cells.
_LABELLED = " with labels"
# Latent variable models that can be fitted to a view with missing rows.
_WITH_LABELS = tuple(f"{method}{_LABELLED}" for method in (OURS, "MV-ARFLVM", "MOFA"))
_ACCURACY, _PREDICTED = Measure("KNN", "accuracy"), Measure("predicted", "predicted by the model")
_N_FOLDS, _N_QUICK_FOLDS = 5, 2
# Some methods are fitted once per fold, so the number of rows is limited for all methods.
_MAX_ROWS = 4000


def measure(cell: Cell) -> Measurement:
    """Classify every row by rows of other folds; the labels of its own fold are missing during fitting."""
    method = cell.method.removesuffix(_LABELLED)
    max_rows = min(_MAX_ROWS, MAX_ROWS.get(method, _MAX_ROWS))
    with_classes = method != cell.method
    data = load_paper_data(cell.data, seed=cell.seed, quick=cell.is_quick, max_rows=max_rows, label_view=with_classes)
    begin, n_folds = time.perf_counter(), _N_QUICK_FOLDS if cell.is_quick else _N_FOLDS
    accuracies = _raw(cell, data, n_folds) if method in _RAW else _latent(replace(cell, method=method), data, n_folds)
    return Measurement({**accuracies, "seconds": time.perf_counter() - begin, "rows": len(_labels(data))})


def _latent(cell: Cell, data: Dataset, n_folds: int) -> dict[str, float]:
    def fit(views: dict[str, Any]) -> FittedLatents:
        estimator = estimator_initialised_by_bound(cell)
        return FittedLatents(
            estimator.fit_transform(compatible_views(cell.method, views)), lambda: estimator.reconstruct()
        )

    return held_out_accuracies(fit, dict(data.views), _labels(data), seed=cell.seed, n_folds=n_folds)


def _raw(cell: Cell, data: Dataset, n_folds: int) -> dict[str, float]:
    """Return the accuracy of a classifier on the columns of all views, each centred and scaled to unit norm."""
    columns = np.hstack([_unit_norm(np.asarray(Y, dtype=float)) for Y in data.views.values()])
    regression = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=cell.seed)
    model = KNeighborsClassifier(1) if cell.method == _RAW[0] else regression
    predicted = cross_val_predict(model, columns, _labels(data), cv=folds)
    return {"KNN": float(np.mean(predicted == _labels(data)))}


def _unit_norm(Y: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N M"]:
    centred = Y - Y.mean(axis=0)
    return centred / np.linalg.norm(centred)


def _labels(data: Dataset) -> np.ndarray:
    assert data.labels is not None
    return data.labels


def page(results: Results) -> list[PagePart]:
    """Return the ranking of our model among the latent variable models, and one table for every data set."""
    bars = accuracy_figure(results, _ACCURACY, what="held-out accuracy")
    tables = [comparison(results, data, (_ACCURACY, _PREDICTED)) for data in results.data]
    findings = [
        _ranking(results, "each on the data only or with labels, whichever is better", ["", _LABELLED]),
        _ranking(results, "all on the data only", [""]),
        _gain_from_labels(results),
    ]
    notes = [_NOTE, row_count_note(results), INITIALISATION_NOTE, data_note(results.data)]
    return ["## Protocol", *notes, "## Results", *findings, *bars, *tables]


_NOTE = f"""No method has access to the label of a test row. Most methods are fitted to the data only: one fit for all
rows, classified by the nearest neighbour among the latents of other folds. These are the fits and the evaluation of the
single-view table and of MNIST-SVHN (here with fewer rows), MOVIES and CORA, with additional methods. Methods
"{_LABELLED.strip()}" have the labels as an additional view, in which the test rows of the fold are missing, and are
fitted once per fold; they can also predict that view. UMAP and t-SNE are neighbour embeddings and not latent variable
models: they do not reconstruct the views, and scikit-learn's implementation of t-SNE does not embed new rows (openTSNE
and UMAP do). The last two rows of the tables are classifiers on the columns of all views; all other methods have two
dimensions."""


def _ranking(results: Results, what: str, forms: Sequence[str]) -> str:
    """Return sentences on the data sets on which our model is ahead, tied or behind.

    Args:
        results: results of the study.
        what: description of the variants that are compared.
        forms: suffixes of the names of these variants.
    """
    leads = {data: lead for data in results.data if (lead := _lead(results, data, forms)) is not None}
    if not leads:
        return ""
    ahead, tied, behind = (
        [f"{data} ({_lead_text(lead)})" for data, lead in leads.items() if lead.status == status]
        for status in LEAD_STATUSES
    )
    text = f"Of the latent variable models, {what}, {OURS} is the best on {len(ahead)} of {len(leads)} data sets"
    sentences = [
        f"{text}: {'; '.join(ahead)}." if ahead else f"{text}.",
        f"It is tied with another model on {'; '.join(tied)}." if tied else "",
        f"It is behind on {'; '.join(behind)}." if behind else "",
    ]
    return " ".join(filter(None, sentences))


def _lead(results: Results, data: str, forms: Sequence[str], models: Sequence[str] = _LATENT) -> Lead | None:
    """Compare our best variant with the best other latent variable model."""
    values = {
        f"{method}{form}": results.by_seed(_ACCURACY.metric, data, f"{method}{form}")
        for method in models
        for form in forms
    }
    return lead_over_best(values, [f"{OURS}{form}" for form in forms])


def _lead_text(lead: Lead) -> str:
    """Return the difference in points with its standard error: "with labels 2.1 ± 0.4 points ahead of PCA"."""
    gap = lead.difference
    form = f"{_LABELLED.strip()} " if lead.ours.endswith(_LABELLED) else ""
    error = "" if isnan(gap.standard_error) else f" ± {100 * gap.standard_error:.1f}"
    side = "ahead of" if gap.mean > 0 else "behind" if gap.mean < 0 else "from"
    return f"{form}{100 * abs(gap.mean):.1f}{error} points {side} {lead.rival}"


def _gain_from_labels(results: Results) -> str:
    """Return a sentence on what the labels of training rows add, by 1-NN and by the model's prediction."""
    gains = []
    for data in results.data:
        alone = results.by_seed(_ACCURACY.metric, data, OURS)
        labelled = [results.by_seed(what.metric, data, f"{OURS}{_LABELLED}") for what in (_ACCURACY, _PREDICTED)]
        found = [difference(_common(values, alone), _common(alone, values)) for values in labelled]
        if all(gap is not None for gap in found):
            gains.append(f"{data} {' and '.join(f'{100 * gap.mean:+.1f}' for gap in found if gap is not None)}")
    text = f"Points gained by {OURS} from training labels over 1-NN on the data only, by 1-NN and by its prediction:"
    return f"{text} {'; '.join(gains)}." if gains else ""


def _common(values: Mapping[int, float], others: Mapping[int, float]) -> dict[int, float]:
    return {seed: value for seed, value in values.items() if seed in others}


def _claim(statement: str, forms: Sequence[str], models: Sequence[str] = _LATENT) -> Claim:
    def judge(results: Results) -> Verdict | None:
        return verdict_on_leads({data: _lead(results, data, forms, models) for data in results.data})

    return Claim(statement, judge)


HELD_OUT = Study(
    name="held-out",
    title="Classification with held-out labels",
    what="""Not in the paper, in whose multi-view table the test labels influence the latents: accuracy in percent of
    1-NN from training to test rows in two latent dimensions.""",
    group="paper",
    cells=cells_of_grids("held-out", [Grid(_DATA, (*_LATENT, *_WITH_LABELS, *_MAPS, *_RAW))]),
    measure=measure,
    page=page,
    claims=[
        _claim(f"{OURS} is ahead of every other latent variable model, all on the data only", [""]),
        _claim(
            f"{OURS} is ahead of every latent variable model but its stationary variant, all on the data only",
            [""],
            [method for method in _LATENT if method != "MV-ARFLVM"],
        ),
        _claim(
            f"{OURS} is ahead of every other latent variable model, each with training labels if they help",
            ["", _LABELLED],
        ),
    ],
)

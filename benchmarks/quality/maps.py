"""Two-dimensional maps: NG-MVLVM with the neighbour term, without it, t-SNE and UMAP."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int
from sklearn.manifold import TSNE
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.cells import Cell, Measurement
from benchmarks.quality.fit_comparison import load_rows
from benchmarks.quality.prediction_scores import QUICK_STEPS, ColumnUnits, Metrics, rmse
from benchmarks.results import Difference, Results, difference
from benchmarks.study import NO, YES, Claim, PageFigure, PagePart, Study, Verdict, within
from benchmarks.tables import NOTHING, Measure, ResultTable
from mvlvm import defaults
from mvlvm.datasets import Dataset
from mvlvm.estimators import NGMVLVM
from mvlvm.estimators.preprocessing import preprocess, validate
from mvlvm.evaluation import coverage, nearest_neighbour_accuracy
from mvlvm.init.initializations import InitViews
from mvlvm.init.pca import values_for_init
from mvlvm.models.multiview import Dimensions
from mvlvm.randomness import Stream, make_generator
from mvlvm.views.balance import balance_views

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Data set -> options of `load`; "rows" is the largest number of rows, drawn by the seed.
MAP_SETS: Mapping[str, Mapping[str, Any]] = {
    "r-mnist": {}, "r-cifar": {}, "newsgroups": {"rows": 1500}, "yale": {}, "coil20": {}, "digits-halves": {},
    "cora": {"dense": True}, "movies": {}, "mfeat": {}, "bbcsport": {}, "mnist-svhn": {"rows": 2000},
    "bdgp": {"rows": 1500}, "breast-tcga": {}, "nutrimouse": {}, "bridges": {},
}  # fmt: skip
N_SEEDS = 3
# Sets of earlier experiments with weights of 30 and 100, after which 100 was chosen.
CHOICE_SETS = (
    "r-mnist", "r-cifar", "newsgroups", "yale", "coil20", "digits-halves", "mfeat", "bbcsport", "movies", "cora",
    "mnist-svhn",
)  # fmt: skip
MAP, WITHOUT, TSNE_NAME, UMAP_NAME = "map", "no neighbour term", "t-SNE", "UMAP"
METHODS = (MAP, WITHOUT, TSNE_NAME, UMAP_NAME)
ACCURACY = Measure("accuracy", "1-NN, %")
# The maps of the first seed that are drawn.
_DRAWN = ("r-mnist", "coil20", "bbcsport")
# Share of the rows that are not fitted, and of their entries that are hidden.
_NEW_SHARE, _HIDDEN_SHARE = 0.2, 0.2
# Imputing the entries of wide views takes long.
_MAX_IMPUTED_ROWS = 30
_LEAST_GAIN, _LARGEST_LOSS = 1.0, -1.5
_LEGEND = f"""
Data sets with an asterisk are those of earlier experiments, after which the weight {defaults.NEIGHBOR_WEIGHT:g} of the
term was chosen. {MAP} is `NGMVLVM.map`, {WITHOUT} the same with `neighbor_weight=0`. t-SNE and UMAP have the same
balanced columns, and their default settings (scikit-learn, umap-learn)."""
_COVERAGE = (0.92, 0.97)


def cells(seed: int, is_quick: bool) -> list[Cell]:
    """Return the cells of a seed."""
    if is_quick:
        return [_cell(method, "digits-halves", seed, {"quick": True}) for method in (MAP, WITHOUT, TSNE_NAME)]
    return [_cell(method, data, seed, {}) for data in MAP_SETS for method in METHODS]


def _cell(method: str, data: str, seed: int, settings: Mapping[str, Any]) -> Cell:
    return Cell(study="maps", method=method, data=data, seed=seed, settings=settings)


def measure(cell: Cell) -> Measurement:
    """Compute a map of all rows; of models also one of four fifths of the rows, with predictions of the others."""
    data = load_rows(cell, MAP_SETS)
    views = {name: np.asarray(Y, dtype=float) for name, Y in data.items()}
    if cell.method in (TSNE_NAME, UMAP_NAME):
        Z = weighted_columns(views, cell.seed)
        begin = time.perf_counter()
        layout = _layout(cell, Z)
        metrics: Metrics = {"accuracy": accuracy_of(layout, data), "seconds": time.perf_counter() - begin}
        return Measurement(metrics, _drawn(cell, layout, data))
    begin = time.perf_counter()
    est = _fit(cell, views)
    seconds = time.perf_counter() - begin
    metrics = {"accuracy": accuracy_of(est.embedding_, data), "seconds": seconds, "steps": est.n_iter_}
    metrics["bound per row"] = est.elbo_ / len(est.embedding_)
    metrics |= new_row_quality(cell, views, data)
    return Measurement(metrics, _drawn(cell, est.embedding_, data))


def _drawn(cell: Cell, X: Float[np.ndarray, "N D"], data: Dataset) -> dict[str, np.ndarray]:
    """Return the arrays of a figure, for cells of one."""
    if cell.seed or cell.data not in _DRAWN or cell.coordinates:
        return {}
    return {"latents": np.asarray(X, dtype=np.float32), "labels": labels_of(data).astype(np.int16)}


def _fit(cell: Cell, views: Mapping[str, Any]) -> NGMVLVM:
    weight = defaults.NEIGHBOR_WEIGHT if cell.method == MAP else 0.0
    settings = defaults.MAP_SETTINGS | {"neighbor_weight": weight}
    steps: dict[str, Any] = {"max_iter": QUICK_STEPS} if cell.is_quick else {}
    return NGMVLVM(device=cell.device, random_state=cell.seed, **settings, **steps).fit(views)


def weighted_columns(views: Mapping[str, Any], seed: int) -> Float[np.ndarray, "N M"]:
    """Return the columns that maps compare rows by: balanced views side by side, missing entries completed."""
    options, validated = validate(NGMVLVM(**defaults.MAP_SETTINGS).get_params(deep=False), views)
    scaled = preprocess(validated, options)
    values = {name: values_for_init(Y, scaled.likelihoods[name]) for name, Y in scaled.arrays.items()}
    _, norms = balance_views(values, scaled.likelihoods, make_generator(seed, Stream.BALANCE))
    return InitViews(values, Dimensions(2), seed, norms).graph.matrix.double().numpy()


def _layout(cell: Cell, Z: Float[np.ndarray, "N M"]) -> Float[np.ndarray, "N D"]:
    if cell.method == TSNE_NAME:
        return TSNE(random_state=cell.seed).fit_transform(Z)
    from umap import UMAP  # pyright: ignore[reportMissingImports]

    return np.asarray(UMAP(random_state=cell.seed).fit_transform(Z))


def accuracy_of(X: Float[np.ndarray, "N D"], data: Dataset) -> float:
    """Return the five-fold 1-NN accuracy of the rows whose label is known."""
    labels = labels_of(data)
    known = labels >= 0
    return nearest_neighbour_accuracy(np.asarray(X, dtype=float)[known], labels[known])


def labels_of(data: Dataset) -> Int[np.ndarray, " N"]:
    """Return the labels of a data set that has some."""
    assert data.labels is not None
    return data.labels


def new_row_quality(cell: Cell, views: Mapping[str, Any], data: Dataset) -> Metrics:
    """Fit four fifths of the rows; return 1-NN accuracies of the others, and errors of their hidden entries."""
    generator, labels = np.random.default_rng(cell.seed + 1), labels_of(data)
    order = generator.permutation(len(labels))
    new, old = np.split(order, [int(_NEW_SHARE * len(order))])
    est = _fit(cell, {name: Y[old] for name, Y in views.items()})
    new_views = {name: Y[new] for name, Y in views.items()}
    known_new, known_old = labels[new] >= 0, labels[old] >= 0
    nearest = KNeighborsClassifier(1).fit(est.embedding_[known_old], labels[old][known_old])
    latents = est.transform(new_views)
    part = Dataset({name: Y[old] for name, Y in views.items()}, labels[old], name=data.name)
    return {
        "accuracy of new rows": float(nearest.score(latents[known_new], labels[new][known_new])),
        "accuracy of fitted rows": accuracy_of(est.embedding_, part),
        **hidden_entry_quality(est, views, old, new[:_MAX_IMPUTED_ROWS], generator),
    }


def hidden_entry_quality(
    est: NGMVLVM, views: Mapping[str, Any], old: Int[np.ndarray, " R"], new: Int[np.ndarray, " K"],
    generator: np.random.Generator,
) -> Metrics:  # fmt: skip
    """Hide a fifth of the entries of new rows; return RMSE and coverage of their imputations, in column units."""
    hidden = {name: generator.random(Y[new].shape) < _HIDDEN_SHARE for name, Y in views.items()}
    given = {name: np.where(hidden[name], np.nan, Y[new]) for name, Y in views.items()}
    imputed, stds = est.impute(given, return_std=True)
    errors, covered = [], []
    for name, Y in views.items():
        units = ColumnUnits.of(Y[old])
        truth, mean = (
            units.apply(np.asarray(part)) for part in (np.where(hidden[name], Y[new], np.nan), imputed[name])
        )
        chosen = ~np.isnan(truth)
        errors.append(rmse(truth[chosen], mean[chosen]))
        covered.append(coverage(truth, mean, units.apply_to_std(np.asarray(stds[name])), level=0.95))
    return {"RMSE": float(np.mean(errors)), "coverage": float(np.mean(covered))}


def page(results: Results) -> list[PagePart]:
    """Return the tables of accuracies, of the cost of the term, and of the choice of its weight."""
    rows = [["data", *METHODS, "map - t-SNE, points"]]
    drawn = any(results.select(data, MAP) for data in _DRAWN)
    for data in results.data:
        texts = [ACCURACY.text(results.mean_std("accuracy", data, method)) for method in METHODS]
        gain = _gain(results, data, TSNE_NAME)
        rows.append([_marked(data), *texts, _text(gain)])
    return [
        ResultTable("maps-accuracy", "1-NN accuracy in two dimensions", rows),
        _LEGEND,
        *([PageFigure("drawn", "Maps of three data sets, coloured by class", lambda: _draw(results))] if drawn else []),
        ResultTable("maps-cost", "The cost of the term", _cost_rows(results)),
        f"""RMSE and coverage are those of a fifth of the entries of {_MAX_IMPUTED_ROWS} rows, which are not fitted,
        given the others. Accuracies of new rows are those of `transform`, next to those of the fitted rows.""",
    ]  # fmt: skip


def _draw(results: Results) -> "Figure":
    from mvlvm.plots import plot_latent_gallery

    latents: dict[str, dict[str, np.ndarray]] = {}
    notes: dict[str, dict[str, str]] = {}
    classes: dict[str, np.ndarray] = {}
    for method in results.methods:
        for record in results.select(method=method):
            arrays, data = results.store.arrays(record.cell), record.cell.data
            if arrays:
                latents.setdefault(method, {})[data] = arrays["latents"]
                notes.setdefault(method, {})[data] = f"1-NN {100 * record.metrics['accuracy']:.1f} %"
                classes[data] = arrays["labels"]
    return plot_latent_gallery(latents, classes, notes=notes)


def _marked(data: str) -> str:
    return f"{data}*" if data in CHOICE_SETS else data


def _gain(results: Results, data: str, reference: str, metric: str = "accuracy") -> Difference | None:
    values = [results.by_seed(metric, data, method) for method in (MAP, reference)]
    return difference(*values)


def _text(gain: Difference | None, scale: float = 100.0) -> str:
    if gain is None:
        return NOTHING
    error = "" if np.isnan(gain.standard_error) else f" ± {scale * gain.standard_error:.1f}"
    return f"{scale * gain.mean:+.1f}{error}"


def _cost_rows(results: Results) -> list[list[str]]:
    head = ["bound per row", "without", "RMSE", "without", "coverage", "without", "1-NN of new rows", "of fitted rows"]
    rows = [["data", *head]]
    pairs = [("bound per row", 1.0, 1), ("RMSE", 1.0, 3), ("coverage", 1.0, 3)]
    for data in results.data:
        row = [data]
        for metric, scale, digits in pairs:
            measure_ = Measure(metric, metric, scale, digits)
            row += [measure_.text(results.mean_std(metric, data, method)) for method in (MAP, WITHOUT)]
        for metric in ("accuracy of new rows", "accuracy of fitted rows"):
            row.append(Measure(metric, metric).text(results.mean_std(metric, data, MAP)))
        rows.append(row)
    return rows


def gains_over_tsne(results: Results) -> Verdict | None:
    """Judge the mean gain of maps over t-SNE, and the largest loss."""
    gains = {data: gap.mean * 100 for data in results.data if (gap := _gain(results, data, TSNE_NAME)) is not None}
    if not gains:
        return None
    worst, mean = min(gains, key=lambda data: gains[data]), float(np.mean(list(gains.values())))
    holds = mean >= _LEAST_GAIN and gains[worst] >= _LARGEST_LOSS
    text = f"mean of {len(gains)} sets {mean:+.1f} points, worst {gains[worst]:+.1f} ({worst})"
    return Verdict(text, YES if holds else NO)


def predictions_are_kept(results: Results) -> Verdict | None:
    """Judge whether the term changes the errors of hidden entries by at most one percent."""
    ratios = {}
    for data in results.data:
        values = [results.mean_std("RMSE", data, method) for method in (MAP, WITHOUT)]
        if None not in values:
            ratios[data] = values[0].mean / values[1].mean - 1  # pyright: ignore[reportOptionalMemberAccess]
    if not ratios:
        return None
    good = sum(ratio <= 0.01 for ratio in ratios.values())
    worst = max(ratios, key=lambda data: ratios[data])
    text = f"{good} of {len(ratios)} sets within 1 %; worst {100 * ratios[worst]:+.1f} % ({worst})"
    return Verdict(text, YES if good >= 9 / 11 * len(ratios) else NO)


def intervals_are_calibrated(results: Results) -> Verdict | None:
    """Judge the coverage of intervals with the term."""
    values = {data: results.mean_std("coverage", data, MAP) for data in results.data}
    found = {data: value.mean for data, value in values.items() if value is not None}
    if not found:
        return None
    low, high = min(found, key=lambda data: found[data]), max(found, key=lambda data: found[data])
    text = f"{found[low]:.3f} ({low}) to {found[high]:.3f} ({high})"
    return Verdict(text, YES if _COVERAGE[0] <= found[low] and found[high] <= _COVERAGE[1] else NO)


def new_rows_are_placed_well(results: Results) -> Verdict | None:
    """Judge the mean difference of the accuracies of new and of fitted rows."""
    gaps = []
    for data in results.data:
        values = [results.mean_std(f"accuracy of {kind} rows", data, MAP) for kind in ("new", "fitted")]
        if None not in values:
            gaps.append(100 * (values[0].mean - values[1].mean))  # pyright: ignore[reportOptionalMemberAccess]
    if not gaps:
        return None
    error = float(np.std(gaps, ddof=1) / len(gaps) ** 0.5) if len(gaps) > 1 else 0.0
    mean = float(np.mean(gaps))
    return within(mean, f"{mean:+.1f} points on average, worst {min(gaps):+.1f}", lowest=-2.0, standard_error=error)


MAPS = Study(
    name="maps",
    title="Maps",
    what="""
Two-dimensional maps with labels that no method was given: 1-NN accuracy, and what the neighbour term of the objective
costs. The rows of large data sets are drawn by the seed.""",
    group="quality",
    cells=cells,
    measure=measure,
    page=page,
    n_seeds=N_SEEDS,
    claims=(
        Claim(f"maps are at least {_LEAST_GAIN:g} point ahead of t-SNE on average, and never more than "
              f"{-_LARGEST_LOSS:g} behind", gains_over_tsne),
        Claim("the term changes the RMSE of hidden entries by at most 1 % on nine of eleven sets",
              predictions_are_kept),
        Claim(f"95 % intervals cover {_COVERAGE[0]} to {_COVERAGE[1]}", intervals_are_calibrated),
        Claim("new rows are as close to their class as fitted rows, within two points", new_rows_are_placed_well),
    ),
    marks=False,
)  # fmt: skip

"""Short fits whose results are hashed bit for bit; `python -m tests.architecture.golden` records them.

The hashes are valid for one set of numerical libraries on one type of processor. `environment` is the hash of a few
basic operations: if it differs from the recorded one, different hashes of the fits do not imply that the code differs.
`compare_bits.py` compares two commits on any machine instead.
"""

import hashlib
import inspect
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import scipy.linalg
import torch
from safetensors import safe_open

from mvlvm import NGMVLVM, defaults

RECORDED = Path(__file__).with_name("golden.json")
DTYPES = ("auto", "float64")
# Predictions by the latents alone; sources that are compared may be older than the argument.
BY_LATENTS = {"conditional": "latent"} if "conditional" in inspect.signature(NGMVLVM.predict).parameters else {}
# Wall time differs from run to run, and versions from commit to commit; columns of the history are compared as arrays.
VOLATILE = ("history.seconds", "history", "library_version", "format_version", "sha256")


def _two_views(n_samples=150, widths=(12, 30), seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 2))
    return {
        name: np.sin(X @ rng.standard_normal((2, width))) + 0.2 * rng.standard_normal((n_samples, width))
        for name, width in zip(("left", "right"), widths, strict=True)
    }


def _complete():
    return NGMVLVM(n_points=10, max_iter=130), _two_views(), {}


def _missing_entries():
    views, rng = _two_views(), np.random.default_rng(1)
    views["right"][rng.random(views["right"].shape) < 0.15] = np.nan
    return NGMVLVM(n_points=10, max_iter=60), views, {}


def _missing_rows():
    views = _two_views()
    views["left"][::5] = np.nan
    views["right"][3::7] = np.nan
    views["left"][3], views["right"][3] = np.nan, np.nan
    views["left"][4, 2] = np.nan
    return NGMVLVM(n_points=10, max_iter=60), views, {}


def _counts_and_labels():
    views = _two_views(n_samples=90, widths=(6, 10))
    views["counts"] = np.round(np.exp(views.pop("right") + 1))
    views["counts"][5, 1] = np.nan
    views["yes"] = (views["left"][:, :3] > 0).astype(float)
    labels = np.array(["a", "b", "c"], dtype=object)[(views["left"][:, 0] > 0).astype(int) + (views["left"][:, 1] > 1)]
    labels[4] = None
    views["kind"] = list(labels)
    likelihood = {"left": "student-t", "counts": "negative-binomial", "yes": "bernoulli", "kind": "categorical"}
    return NGMVLVM(n_points=6, max_iter=40, likelihood=likelihood), views, {}


def _zero_sample_weights():
    weight = np.ones(150)
    weight[::10], weight[1::10] = 0.0, 2.0
    return (
        NGMVLVM(n_points=10, max_iter=60, view_weights={"left": 0.0, "right": 1.0}),
        _two_views(),
        {"sample_weight": weight},
    )


def _private_dimensions():
    kernel = {"left": "sm", "right": "ngsm"}
    est = NGMVLVM(n_components=3, n_private={"right": 1}, n_points=10, n_draws=2, max_iter=60, kernel=kernel)
    return est, _two_views(), {}


def _pruned_dimensions():
    return NGMVLVM(n_components="auto", max_components=4, n_points=10, max_iter=110), _two_views(), {}


def _init_auto():
    views = _two_views(n_samples=120)
    views["left"][:6] = np.nan
    return NGMVLVM(n_points=8, max_iter=110, init="auto"), views, {}


def _more_features_than_rows():
    return NGMVLVM(n_points=30, max_iter=110), _two_views(n_samples=70, widths=(100, 20)), {}


def _schedule_of_points():
    est = NGMVLVM(schedule="coarse-to-fine", n_points=30, max_iter=400, tol=0.01, n_components="auto", max_components=3)
    views = _counts_and_labels()[1]
    likelihood = {"left": "gaussian", "counts": "poisson", "yes": "bernoulli", "kind": "categorical"}
    return est.set_params(likelihood=likelihood), views, {}


def _neighbour_term():
    views = _two_views(n_samples=120)
    views["right"][::9] = np.nan
    return NGMVLVM(n_points=8, max_iter=60, init="tsne", view_weights="balanced", neighbor_weight="auto"), views, {}


CASES = {
    "complete": _complete,
    "missing-entries": _missing_entries,
    "missing-rows": _missing_rows,
    "counts-and-labels": _counts_and_labels,
    "zero-sample-weights": _zero_sample_weights,
    "private-dimensions": _private_dimensions,
    "pruned-dimensions": _pruned_dimensions,
    "init-auto": _init_auto,
    "more-features-than-rows": _more_features_than_rows,
    "schedule-of-points": _schedule_of_points,
    "neighbour-term": _neighbour_term,
}


def digest(value):
    """Return the hash of arrays, by dtype, shape and bytes, or of nested containers of them."""
    sha = hashlib.sha256()

    def add(part):
        if isinstance(part, dict):
            for name in sorted(part):
                sha.update(repr(name).encode())
                add(part[name])
        elif isinstance(part, list | tuple):
            for item in part:
                add(item)
        elif isinstance(part, np.ndarray) and part.dtype != object:
            sha.update(f"{part.dtype}{part.shape}".encode())
            sha.update(np.ascontiguousarray(part).tobytes())
        elif isinstance(part, np.ndarray):
            add(part.tolist())
        else:
            sha.update(repr(part).encode())

    add(value)
    return sha.hexdigest()


def environment():
    """Return the hash of basic operations, whose results depend on the processor and the numerical libraries."""
    generator = torch.Generator().manual_seed(0)
    results = []
    for dtype in (torch.float32, torch.float64):
        A = torch.randn((150, 40), generator=generator, dtype=dtype)
        gram = A.T @ A + torch.eye(40, dtype=dtype)
        results += [A.cos(), A.exp(), gram, torch.linalg.cholesky(gram), torch.linalg.eigh(gram)[0], A.sum(dim=0)]
    results.append(torch.as_tensor(scipy.linalg.eigh(results[-3].numpy())[1]))
    return digest([result.numpy() for result in results])


def tolerance(est):
    """Return zero, unless a case has a tolerance of its own."""
    return 0.0 if est.tol == defaults.TOL else est.tol


def saved_parts(est):
    """Return the header and the arrays of a saved model, without volatile entries."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        est.save(path)
        with safe_open(path, framework="numpy") as file:
            header = json.loads(file.metadata()["mvlvm"])
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    return [{name: part for name, part in parts.items() if name not in VOLATILE} for parts in (header, arrays)]


def results(case, dtype, *, fit=lambda est, views, **arguments: est.fit(views, **arguments), prepare=lambda est: est):
    """Fit one case, and return the results of the estimator by name.

    Args:
        case: name of the case.
        dtype: of the fit.
        fit: fits the estimator to the views.
        prepare: called with the fitted estimator before it is asked for anything; returns the estimator to ask.
    """
    est, views, arguments = CASES[case]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(est.set_params(dtype=dtype, tol=tolerance(est), random_state=3), views, **arguments)
        est = prepare(est)
        new = {name: values[:7] for name, values in views.items() if name != "left"}
        found = {
            "embedding_": est.embedding_,
            "embedding_std_": est.embedding_std_,
            "history_": {name: column for name, column in est.history_.items() if name != "seconds"},
            "transform": est.transform(new, return_std=True),
            "predict": est.predict(new, target="left", return_std=True, **BY_LATENTS),
            "score_target": est.score(
                {name: values[7:14] for name, values in views.items()}, target="left", **BY_LATENTS
            ),
            "elbo_": est.elbo_,
            "relevance_": est.relevance_,
            "explained_variance_": est.explained_variance_,
            "explained_variance_per_dimension_": est.explained_variance_per_dimension_,
            "noise_variance_": est.noise_variance_,
            "reconstruct": est.reconstruct(return_std=True),
            "impute": est.impute({name: values[:9] for name, values in views.items()}, return_std=True, **BY_LATENTS),
            "sample": est.sample(4, random_state=1),
            "score": est.score(new),
            "kernel_matrix": est.kernel_matrix(est.view_names_[0], n_draws=2),
        }
        found["saved_header"], found["saved_arrays"] = saved_parts(est)
    return found


def hashes(case, dtype):
    """Fit one case, and return the hashes of all results of the estimator."""
    return {name: digest(result) for name, result in results(case, dtype).items()}


def record():
    """Write the hashes of all cases, and where they are valid."""
    torch.set_num_threads(1)
    table = {f"{case} {dtype}": hashes(case, dtype) for case in CASES for dtype in DTYPES}
    RECORDED.write_text(json.dumps({"environment": environment(), "hashes": table}, indent=1) + "\n")


if __name__ == "__main__":
    record()

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from mvlvm import NGMVLVM, row_blocks
from mvlvm.estimators.memory import MemoryEstimate, ViewSize, total_bytes, view_sizes

requires_linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux reports the peak memory of a process"
)
# The peak is measured in a separate process, relative to its memory after the data were created.
_PROGRAM = r"""
import json, re, sys, warnings
from pathlib import Path
import numpy as np, torch
from mvlvm import NGMVLVM
warnings.simplefilter("ignore")
torch.set_num_threads(1)
N, M, dtype, method = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
rng = np.random.default_rng(0)
Z = rng.standard_normal((N, 5), dtype=np.float32)
views = {"image": (np.tanh(Z) @ rng.standard_normal((5, M), dtype=np.float32)).astype(dtype),
         "label": np.eye(10, dtype=dtype)[rng.integers(0, 10, N)]}
for name in views:
    views[name] += rng.random(views[name].shape, dtype=np.float32).astype(dtype)
def memory(which): return 1024 * int(re.search(which + r":\s+(\d+)", Path("/proc/self/status").read_text())[1])
Path("/proc/self/clear_refs").write_text("5")  # reset the peak
before = memory("VmRSS")
init = method if method in ('tsne', 'covariance') else 'pca'
est = NGMVLVM(max_iter=3, tol=0, init=init, random_state=0)
estimated = est.estimate_memory(views).total
est.fit(views)
if method == "predictions":
    est.reconstruct(return_std=True)
    est.predict({"image": views["image"][:1500]}, target="label")
    est.transform({"image": views["image"][:1500]})
    est.sample(N)
print(json.dumps({"peak": memory("VmHWM") - before, "estimated": estimated}))
"""
METHODS = {
    "reconstruct": lambda est, new: est.reconstruct(return_std=True),
    "means": lambda est, new: est.reconstruct(),
    "sample": lambda est, new: est.sample(100, random_state=3),
    "predict": lambda est, new: est.predict({"a": new["a"]}, target="b", return_std=True),
    "score": lambda est, new: (est.score(new), est.score(new, target="b")),
    "impute": lambda est, new: est.impute(new, return_std=True),
}


def measure(N, M, dtype, method="nothing"):
    process = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(N), str(M), dtype, method],
        env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(process.stdout)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(150, 2))
    views = {"a": np.tanh(Z @ rng.normal(size=(2, 6))), "b": np.sin(Z @ rng.normal(size=(2, 4)))}
    return {name: Y + 0.1 * rng.normal(size=Y.shape) for name, Y in views.items()}


def quick_fit(views, weight=None):
    est = NGMVLVM(max_iter=30, tol=0.0, n_points=5, random_state=0, dtype="float64")
    return est.fit(views, sample_weight=weight)


@pytest.fixture(scope="module")
def fitted(data):
    return quick_fit(data)


def flatten(result):
    """Concatenate all numbers of a result."""
    if isinstance(result, dict):
        result = tuple(result.values())
    return np.concatenate([flatten(part) for part in result]) if isinstance(result, tuple) else np.ravel(result)


@requires_linux
@pytest.mark.parametrize(
    ("N", "M", "dtype"),
    [(3000, 200, "float64"), pytest.param(20_000, 500, "float32", marks=pytest.mark.slow)],
)
def test_peak_memory_of_a_fit_is_close_to_the_estimate(N, M, dtype):
    measured = measure(N, M, dtype)
    assert 0.6 < measured["estimated"] / measured["peak"] < 1.6


@requires_linux
@pytest.mark.parametrize("init", ["tsne", "covariance"])
def test_peak_memory_of_initial_latents_is_close_to_the_estimate(init):
    measured = measure(4000, 200, "float64", init)
    assert 0.6 < measured["estimated"] / measured["peak"] < 1.6


@requires_linux
@pytest.mark.slow
def test_fits_and_predictions_do_not_allocate_arrays_of_rows_by_rows():
    N, M = 20_000, 40
    assert measure(N, M, "float64", "predictions")["peak"] < 0.2 * 8 * N**2


def test_estimate_includes_a_float64_copy_only_of_other_dtypes():
    """Views in float64 are not copied, so the estimate for them lacks exactly this part."""
    kinds = (np.float32, np.float64)
    from_float32, from_float64 = (NGMVLVM().estimate_memory(np.zeros((50_000, 1000), dtype=kind)) for kind in kinds)
    assert from_float32.parts["views as float64"] == from_float32.parts["scaled views"] == 8 * 50_000 * 1000
    assert from_float64.total < from_float32.total


def test_estimate_is_printed_as_a_sentence():
    estimate = MemoryEstimate({"scaled views": 0.44e9, "features": 0.1e9, "next to nothing": 10.0})
    assert str(estimate) == "fit needs about 0.54 GB: scaled views 0.44, features 0.1"
    assert estimate.total == pytest.approx(0.54e9 + 10)


def test_estimate_increases_with_every_size():
    Y, est = np.zeros((5000, 20)), NGMVLVM(likelihood="gaussian")
    least = est.estimate_memory({"a": Y}).total
    assert est.estimate_memory({"a": np.zeros((50_000, 20))}).total > least
    assert est.estimate_memory({"a": np.zeros((5000, 200))}).total > least
    assert NGMVLVM(n_points=500).estimate_memory({"a": Y}).total > least
    assert NGMVLVM(n_mixtures={"a": 9}).estimate_memory({"a": Y}).total > least
    assert NGMVLVM(likelihood="poisson").estimate_memory({"a": Y}).total > least
    assert NGMVLVM(n_points=500, memory_budget=1e6).estimate_memory({"a": Y}).total <= least  # not 60 MB more


@pytest.mark.parametrize(("verbose", "printed"), [(1, False), (2, True)])
def test_verbose_two_prints_the_estimate_before_a_fit(verbose, printed, capsys):
    Y = np.random.default_rng(0).normal(size=(20, 4))
    NGMVLVM(max_iter=1, tol=0.0, verbose=verbose).fit(Y)
    assert ("fit needs about" in capsys.readouterr().out) is printed


def test_sizes_of_arrays_lists_and_labels():
    sizes = view_sizes({"a": np.zeros((6, 3), dtype=np.uint8), "b": np.zeros((6, 4)), "y": list("aabbcc")})
    assert sizes == {"a": ViewSize(6, 3, 1), "b": ViewSize(6, 4, 0), "y": ViewSize(6, 1, 1)}
    assert total_bytes(sizes) == 8 * 6 * (3 + 4 + 1)
    assert view_sizes([np.zeros((2, 3)), [[1, 2], [3, 4]]]) == {"view0": ViewSize(2, 3, 0), "view1": ViewSize(2, 2, 1)}


def test_sizes_of_dataframes_and_sparse_matrices():
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    frame = pandas.DataFrame(np.zeros((5, 2)), columns=["a", "b"])
    assert view_sizes(frame) == {"view0": ViewSize(5, 2, 0)}
    assert view_sizes(frame.assign(c=1))["view0"] == ViewSize(5, 3, 1)
    assert view_sizes(sparse.csr_matrix((10**6, 10**6)))["view0"] == ViewSize(10**6, 10**6, 2)  # far too large to read


def test_sizes_of_annotated_data():
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    from mvlvm.views.interop import suppress_anndata_warnings

    with suppress_anndata_warnings():
        rna, protein = (anndata.AnnData(np.zeros((4, M), dtype=np.float32)) for M in (7, 2))
        assert view_sizes(rna) == {"view0": ViewSize(4, 7, 2)}
        together = mudata.MuData({"rna": rna, "protein": protein})
    assert view_sizes(together) == {"rna": ViewSize(4, 7, 2), "protein": ViewSize(4, 2, 2)}


@pytest.mark.parametrize("method", METHODS)
def test_results_do_not_depend_on_the_block_size(method, data, fitted, monkeypatch):
    new = {name: np.where(np.arange(Y.size).reshape(Y.shape) % 7, Y, np.nan) for name, Y in data.items()}
    at_once = flatten(METHODS[method](fitted, new))
    monkeypatch.setattr(row_blocks, "NUMBERS_PER_BLOCK", 300)
    in_blocks = flatten(METHODS[method](fitted, new))
    assert at_once.std() > 0
    np.testing.assert_allclose(in_blocks, at_once, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("kind", ["complete", "missing", "weights"])
def test_fits_do_not_depend_on_the_block_size(kind, data, monkeypatch):
    views, weight = data, None
    if kind == "missing":
        views = {name: np.where(np.arange(Y.size).reshape(Y.shape) % 11, Y, np.nan) for name, Y in data.items()}
        views["b"][20:40] = np.nan
    if kind == "weights":
        weight = np.arange(150) % 4
    at_once = quick_fit(views, weight)
    monkeypatch.setattr(row_blocks, "NUMBERS_PER_BLOCK", 300)
    in_blocks = quick_fit(views, weight)
    for name in ("embedding_", "relevance_", "explained_variance_per_dimension_"):
        np.testing.assert_allclose(getattr(in_blocks, name), getattr(at_once, name), rtol=0.0, atol=1e-7)
    assert in_blocks.elbo_ == pytest.approx(at_once.elbo_, rel=1e-9)
    np.testing.assert_allclose(flatten(in_blocks.reconstruct()), flatten(at_once.reconstruct()), rtol=0.0, atol=1e-6)


def test_views_with_missing_entries_are_copied(data):
    views = {name: Y.copy() for name, Y in data.items()}
    views["a"][3, 2] = np.nan
    est = quick_fit(views)
    first = est.impute()["a"]
    views["a"][:] = 0.0  # the user modifies the array after the fit
    np.testing.assert_array_equal(est.impute()["a"], first)

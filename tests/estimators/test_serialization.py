import copy
import math
import pickle
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch

import mvlvm
from mvlvm import MVARFLVM, NGMVLVM, ModelFileError
from mvlvm.inference.tempering import Tempering
from mvlvm.io.model_files import read_model, write_model
from tests.estimators.tempering import with_tempering


def drop(container, key):
    """Return a copy of a dict without one key."""
    return {name: value for name, value in container.items() if name != key}


DAMAGE = {
    "a missing array": lambda header, arrays: (header, drop(arrays, "view.0.mean")),
    "a missing weight": lambda header, arrays: (header, drop(arrays, "model.latent.mean")),
    "a missing entry": lambda header, arrays: (drop(header, "layout"), arrays),
    "an unknown entry": lambda header, arrays: (header | {"colour": "red"}, arrays),
    "no views": lambda header, arrays: (header | {"views": []}, arrays),
    "an unknown parameter": lambda header, arrays: (
        header | {"parameters": header["parameters"] | {"colour": "red"}}, arrays),
    "a parameter of another type": lambda header, arrays: (
        header | {"parameters": header["parameters"] | {"max_iter": "many"}}, arrays),
    "another shape": lambda header, arrays: (header, arrays | {"view.0.draw.0.mean": np.zeros((3, 3))}),
    "another data type": lambda header, arrays: (header, arrays | {"view.0.kept": arrays["view.0.kept"] * 1.0}),
    "a value that is not finite": lambda header, arrays: (
        header, arrays | {"model.latent.mean": np.full_like(arrays["model.latent.mean"], np.nan)}),
    "a negative scale": lambda header, arrays: (header, arrays | {"view.0.factor": -arrays["view.0.factor"]}),
    "rows without names": lambda header, arrays: (
        header | {"layout": header["layout"] | {"index": ["a", "b"]}}, arrays),
    "another number of points": lambda header, arrays: (
        header | {"views": [view | {"n_points": 10**8} for view in header["views"]]}, arrays),
    "another number of draws": lambda header, arrays: (
        header | {"views": [view | {"n_draws": 10**9} for view in header["views"]]}, arrays),
    "a negative tempering": lambda header, arrays: (
        header | {"views": [view | {"tempering": {"from_others": -1, "from_itself": 1}} for view in header["views"]]},
        arrays),
}  # fmt: skip


@pytest.fixture
def parts(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    return read_model(tmp_path / "m")


def test_a_model_loaded_in_a_new_process_gives_identical_arrays(fitted, tmp_path):
    path = tmp_path / "with space" / "model.safetensors"
    path.parent.mkdir()
    fitted.save(path)
    code = (
        "import sys, numpy as np, torch, mvlvm; torch.set_num_threads(1); est = mvlvm.load(sys.argv[1]);"
        "mean, std = est.reconstruct(return_std=True);"
        "np.savez(sys.argv[2], **{f'mean_{k}': v for k, v in mean.items()}, **{f'std_{k}': v for k, v in std.items()},"
        " sample=est.sample(3)['rbf'], embedding=est.embedding_, relevance=est.relevance_)"
    )
    subprocess.run([sys.executable, "-c", code, str(path), str(tmp_path / "out.npz")], check=True)
    in_new_process = np.load(tmp_path / "out.npz")
    mean, std = fitted.reconstruct(return_std=True)
    for name in fitted.view_names_:
        np.testing.assert_array_equal(in_new_process[f"mean_{name}"], mean[name])
        np.testing.assert_array_equal(in_new_process[f"std_{name}"], std[name])
    np.testing.assert_array_equal(in_new_process["sample"], fitted.sample(3)["rbf"])
    np.testing.assert_array_equal(in_new_process["embedding"], fitted.embedding_)
    np.testing.assert_array_equal(in_new_process["relevance"], fitted.relevance_)


def test_a_loaded_model_of_wide_views_gives_identical_arrays(tmp_path):
    # with more columns than rows, the SVD returns the initial latents in column-major order
    Y = np.random.default_rng(0).normal(size=(60, 150))
    est = NGMVLVM(n_components=5, max_iter=5, tol=0.0, random_state=0).fit(Y)
    est.save(tmp_path)
    loaded = mvlvm.load(tmp_path)
    np.testing.assert_array_equal(loaded.embedding_std_, est.embedding_std_)
    np.testing.assert_array_equal(loaded.reconstruct(), est.reconstruct())


def test_tempering_is_saved(fitted, tmp_path):
    levels = {name: Tempering(0.1, 0.5) for name in fitted.view_names_}
    with_tempering(fitted, **levels).save(tmp_path)
    assert mvlvm.load(tmp_path).model_.predictor.tempering == levels


def test_fitted_attributes_are_saved(fitted, tmp_path):
    fitted.save(tmp_path)
    loaded = mvlvm.load(tmp_path)
    assert type(loaded) is NGMVLVM
    assert loaded.get_params() == fitted.get_params()
    for attribute in ("elbo_", "n_iter_", "stop_reason_", "noise_variance_", "explained_variance_", "scale_",
                      "view_names_", "n_features_in_"):  # fmt: skip
        assert getattr(loaded, attribute) == getattr(fitted, attribute)
    np.testing.assert_equal(loaded.history_, fitted.history_)
    np.testing.assert_array_equal(loaded.kernel_matrix("gibbs"), fitted.kernel_matrix("gibbs"))


def test_labels_parameters_and_the_class_of_the_estimator_are_saved(tmp_path):
    frame = pd.DataFrame(
        np.random.default_rng(0).normal(size=(20, 3)), columns=list("xyz"), index=pd.RangeIndex(5, 25, name="cell")
    )
    est = MVARFLVM(n_mixtures={"a": 1}, init=np.zeros((20, 2)) + frame.to_numpy()[:, :2], max_iter=3, tol=0.0)
    est.fit({"a": frame}).save(tmp_path / "m")
    loaded = mvlvm.load(tmp_path / "m")
    assert type(loaded) is MVARFLVM
    assert loaded.n_mixtures == {"a": 1}
    np.testing.assert_array_equal(loaded.init, est.init)
    pd.testing.assert_frame_equal(loaded.reconstruct()["a"], est.reconstruct()["a"])


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize("damage", DAMAGE)
def test_inconsistent_files_are_reported_as_damaged(parts, tmp_path, damage):
    write_model(tmp_path / "bad", *DAMAGE[damage](parts.header, parts.arrays))
    with pytest.raises(ModelFileError, match="bad is damaged"):
        mvlvm.load(tmp_path / "bad")


def test_a_file_of_an_unknown_estimator_is_rejected(parts, tmp_path):
    write_model(tmp_path / "other", parts.header | {"estimator": "Oracle"}, parts.arrays)
    with pytest.raises(ModelFileError, match="holds a 'Oracle', which is unknown to this version. Known are: NGMVLVM"):
        mvlvm.load(tmp_path / "other")


@pytest.mark.usefixtures("no_type_checks")
def test_any_change_of_the_header_is_rejected_or_without_consequences(mixed, tmp_path):
    """A file whose digest is right can still have been written by another program."""
    est, use = mixed
    est.save(tmp_path / "m", data=True)
    file = read_model(tmp_path / "m")
    outcomes = Counter()
    for header in changed_headers(drop_marks(file.header)):
        write_model(tmp_path / "changed", header, file.arrays)
        try:
            loaded = mvlvm.load(tmp_path / "changed")
        except ModelFileError:
            outcomes["rejected"] += 1
            continue
        try:
            use(loaded)
            outcomes["used"] += 1
        except mvlvm.ViewError:  # other names of columns or classes
            outcomes["other names"] += 1
    assert outcomes["rejected"] > outcomes["used"] > 0


def drop_marks(header):
    return {name: value for name, value in header.items() if "format" not in name and name != "library_version"}


def changed_headers(header):
    """Yield copies of a header in which one value, at any depth, was replaced by one of another type or size."""
    for path in paths(header):
        for value in (None, "x", -1, 10**9, 1.5, [], {"a": 1}, math.nan):
            changed = copy.deepcopy(header)
            parent = changed
            for key in path[:-1]:
                parent = parent[key]
            parent[path[-1]] = value
            yield changed


def paths(value, path=()):
    """Yield the keys of all values in nested containers; of long lists only those of the first two."""
    if path:
        yield path
    if isinstance(value, dict):
        entries = value.items()
    else:
        entries = list(enumerate(value))[:2] if isinstance(value, list) else ()
    for key, entry in entries:
        yield from paths(entry, (*path, key))


@pytest.fixture
def mixed():
    """A model with all kinds of entries in its header, and a function that uses its methods."""
    rng = np.random.default_rng(0)
    X, index = rng.normal(size=(20, 2)), [f"r{i}" for i in range(20)]
    views = {
        "real": pd.DataFrame(np.sin(X @ rng.normal(size=(2, 3))), columns=list("abc"), index=index),
        "kind": pd.Series(np.where(X[:, 0] > 0, "u", "v"), index=index),
    }
    views["real"].iloc[3, 2] = np.nan
    est = NGMVLVM(
        n_points=2, max_iter=2, tol=0.0, random_state=0, n_private={"real": 1}, n_draws_predict=1,
        likelihood={"real": "gaussian", "kind": "categorical"},
    ).fit(views)  # fmt: skip
    new = {"real": views["real"][:2]}

    def use(loaded):
        loaded.set_params(verbose=0)
        loaded.predict(new, target="kind", return_std=True)
        loaded.reconstruct(return_std=True), loaded.sample(2), loaded.impute(), loaded.factors(), repr(loaded)

    return est, use


def test_the_training_data_are_saved_on_request(mixed, tmp_path):
    est, _ = mixed
    est.save(tmp_path / "without")
    est.save(tmp_path / "with", data=True)
    loaded = mvlvm.load(tmp_path / "with")
    pd.testing.assert_frame_equal(loaded.impute()["real"], est.impute()["real"])
    assert loaded._record.data.keys() == est._record.data.keys()
    for name, saved in loaded._record.data.items():
        given = est._record.data[name]
        for part in ("Y", "rows", "missing", "sample_weight"):
            values, expected = getattr(saved, part), getattr(given, part)
            assert (values is None) == (expected is None)
            assert values is None or torch.equal(values, expected)
    with pytest.raises(ValueError, match=r"loaded from a file without them.*save the model with data=True"):
        mvlvm.load(tmp_path / "without").impute()
    loaded.save(tmp_path / "again", data=True)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "with").read_bytes()


@pytest.mark.parametrize("release", [NGMVLVM.prepare, copy.deepcopy, lambda est: pickle.loads(pickle.dumps(est))])
def test_training_data_that_were_released_cannot_be_saved(mixed, tmp_path, release):
    est = release(mixed[0])
    with pytest.raises(ValueError, match=r"training rows are not available.*Save with data=True after fit"):
        est.save(tmp_path / "m", data=True)
    assert not (tmp_path / "m").exists()


def test_loading_takes_memory_of_the_size_of_the_file(tmp_path):
    Y = np.random.default_rng(0).normal(size=(10, 20_000))
    NGMVLVM(n_points=3, max_iter=1, tol=0.0, n_draws_predict=1, random_state=0).fit(Y).save(tmp_path / "m")
    code = (
        "import resource, sys, mvlvm; peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "before = peak(); est = mvlvm.load(sys.argv[1]); print(1024 * (peak() - before))"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "m")]
    used = int(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
    assert used < 5 * (tmp_path / "m").stat().st_size + 200e6


def test_loading_an_estimator_does_not_import_the_baselines(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    code = "import sys, mvlvm; mvlvm.load(sys.argv[1]); assert 'mvlvm.baselines' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "m")], check=True)


def test_random_generators_are_not_saved_and_other_objects_raise_an_error(small_curve, tmp_path):
    est = NGMVLVM(max_iter=1, tol=0.0, n_points=5, random_state=np.random.default_rng(0)).fit(small_curve.views)
    est.save(tmp_path / "m")
    assert mvlvm.load(tmp_path / "m").random_state is None
    est.set_params(learning_rate=object())
    with pytest.raises(ValueError, match="learning_rate=<object.*cannot be saved"):
        est.save(tmp_path / "m")

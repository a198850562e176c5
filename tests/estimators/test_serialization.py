import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import mvlvm
from mvlvm import MVARFLVM, NGMVLVM, ModelFileError
from mvlvm.estimators import serialization
from mvlvm.inference.tempering import Tempering
from tests.estimators.tempering import with_tempering

DAMAGE = {
    "a missing array": lambda header, arrays: arrays.pop("view.0.mean"),
    "a missing weight": lambda header, arrays: arrays.pop("model.latent.mean"),
    "a missing entry": lambda header, arrays: header.pop("layout"),
    "no views": lambda header, arrays: header.update(views=[]),
    "an unknown parameter": lambda header, arrays: header["parameters"].update(colour="red"),
    "another shape": lambda header, arrays: arrays.update({"view.0.draw.0.mean": np.zeros((3, 3))}),
    "a value that is not finite": lambda header, arrays: arrays["model.latent.mean"].fill(np.nan),
}


@pytest.fixture
def parts(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        return json.loads(file.metadata()["mvlvm"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


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
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=list("xyz"), index=list(range(5, 25)))
    est = MVARFLVM(n_mixtures={"a": 1}, init=np.zeros((20, 2)) + frame.to_numpy()[:, :2], max_iter=3, tol=0.0)
    est.fit({"a": frame}).save(tmp_path / "m")
    loaded = mvlvm.load(tmp_path / "m")
    assert type(loaded) is MVARFLVM
    assert loaded.n_mixtures == {"a": 1}
    np.testing.assert_array_equal(loaded.init, est.init)
    pd.testing.assert_frame_equal(loaded.reconstruct()["a"], est.reconstruct()["a"])


def test_missing_files_and_files_without_a_model_raise_different_errors(tmp_path):
    with pytest.raises(FileNotFoundError, match="no saved model at"):
        mvlvm.load(tmp_path / "nothing")
    text = tmp_path / "notes.txt"
    text.write_text("hello")
    with pytest.raises(ModelFileError, match="not a saved mvlvm model: it is not a safetensors file"):
        mvlvm.load(text)
    foreign = tmp_path / "foreign.safetensors"
    save_file({"weights": np.zeros(3)}, foreign)
    with pytest.raises(ModelFileError, match="it has no mvlvm header"):
        mvlvm.load(foreign)


@pytest.mark.parametrize(
    ("step", "advice"), [(1, "Install a newer mvlvm to read it"), (-1, "Fit and save the model again")]
)
def test_another_format_version_is_rejected_with_both_versions(step, advice, fitted, tmp_path):
    fitted.save(tmp_path / "m")
    with safe_open(tmp_path / "m", framework="numpy") as file:
        header = json.loads(file.metadata()["mvlvm"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    version = serialization.FORMAT_VERSION + step
    header |= {"format_version": version, "library_version": "9.9"}
    save_file(arrays, tmp_path / "other", metadata={"mvlvm": json.dumps(header)})
    expected = rf"saved by mvlvm 9\.9 in format {version}; this version.*reads format 4\. {advice}"
    with pytest.raises(ModelFileError, match=expected):
        mvlvm.load(tmp_path / "other")


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize("damage", DAMAGE)
def test_inconsistent_files_are_reported_as_damaged(parts, tmp_path, damage):
    header, arrays = parts
    DAMAGE[damage](header, arrays)
    save_file(arrays, tmp_path / "bad", metadata={"mvlvm": json.dumps(header)})
    with pytest.raises(ModelFileError, match="bad is damaged"):
        mvlvm.load(tmp_path / "bad")


@pytest.mark.parametrize("change", [{"format": "other-model"}, {"format_version": -1}, {"format_version": "one"}])
def test_files_with_a_foreign_header_are_rejected(parts, tmp_path, change):
    header, arrays = parts
    save_file(arrays, tmp_path / "other", metadata={"mvlvm": json.dumps(header | change)})
    with pytest.raises(ModelFileError, match="it has no mvlvm header"):
        mvlvm.load(tmp_path / "other")


def test_a_truncated_file_is_rejected(fitted, tmp_path):
    fitted.save(tmp_path / "m")
    content = (tmp_path / "m").read_bytes()
    (tmp_path / "half").write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelFileError, match="half is not a saved mvlvm model"):
        mvlvm.load(tmp_path / "half")


def test_a_failed_save_keeps_the_old_file_and_leaves_no_temporary_file(fitted, tmp_path, monkeypatch):
    fitted.save(tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def full_disk(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(serialization.os, "replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        fitted.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_models_can_be_saved_to_files_directories_and_symbolic_links(fitted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fitted.save("folder/")
    assert mvlvm.load("folder").elbo_ == fitted.elbo_
    (tmp_path / "link").symlink_to(tmp_path / "real")
    fitted.save("link")
    assert (tmp_path / "link").is_symlink()
    assert mvlvm.load("real").elbo_ == fitted.elbo_
    with pytest.raises(FileNotFoundError, match="There is no directory .*missing to save m into. Create it first"):
        fitted.save(tmp_path / "missing" / "m")
    with pytest.raises(ValueError, match="path to save to is empty"):
        fitted.save("")


def test_a_saved_model_has_the_permissions_of_other_new_files(fitted, tmp_path):
    (tmp_path / "other").write_text("")
    fitted.save(tmp_path / "m")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_random_generators_are_not_saved_and_other_objects_raise_an_error(small_curve, tmp_path):
    est = NGMVLVM(max_iter=1, tol=0.0, n_points=5, random_state=np.random.default_rng(0)).fit(small_curve.views)
    est.save(tmp_path / "m")
    assert mvlvm.load(tmp_path / "m").random_state is None
    est.set_params(learning_rate=object())
    with pytest.raises(ValueError, match="learning_rate=<object.*cannot be saved"):
        est.save(tmp_path / "m")

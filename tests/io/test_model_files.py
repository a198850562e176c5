import json
import os
import threading

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import mvlvm
from mvlvm import ModelFileError
from mvlvm.io import atomic, model_files
from mvlvm.io.model_files import FORMAT_VERSION, read_model, write_model

HEADER = {"kind": "estimator", "estimator": "Sample", "numbers": [1, 2.5, None], "name": "\u00e9"}
ARRAYS = {
    "a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False]), "empty": np.zeros((0, 3)), "scalar": np.array(2.0),
    "columns": np.asfortranarray(np.arange(6, dtype=np.int64).reshape(2, 3)),
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    write_model(tmp_path / "m", HEADER, ARRAYS)
    return tmp_path / "m"


def metadata(path):
    with safe_open(path, framework="numpy") as file:
        return file.metadata()


def test_header_and_arrays_are_read_as_they_were_written(path):
    file = read_model(path)
    assert {name: file.header[name] for name in HEADER} == HEADER
    assert file.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert file.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(file.arrays[name], array)


def test_every_single_bit_flip_is_rejected_or_has_no_effect(path):
    content, flipped = path.read_bytes(), path.with_name("flipped")
    rng = np.random.default_rng(0)
    n_rejected = 0
    for bit in rng.choice(8 * len(content), size=500, replace=False):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        flipped.write_bytes(damaged)
        try:
            file = read_model(flipped)
        except ModelFileError:
            n_rejected += 1
            continue
        assert file.header == read_model(path).header
        for name, array in read_model(path).arrays.items():
            np.testing.assert_array_equal(file.arrays[name], array)
    assert n_rejected > 400


@pytest.mark.parametrize("name", ["a", "b", "empty", "scalar", "columns"])
def test_the_digest_covers_names_types_shapes_and_values(name):
    changed = [
        {other if other != name else "renamed": array for other, array in ARRAYS.items()},
        ARRAYS | {name: ARRAYS[name].astype(np.float32)},
        ARRAYS | {name: ARRAYS[name][None]},
        {other: array for other, array in ARRAYS.items() if other != name},
    ]
    if ARRAYS[name].size:
        changed.append(ARRAYS | {name: ~ARRAYS[name] if name == "b" else ARRAYS[name] + 1})
    digests = {model_files.digest(HEADER, arrays) for arrays in [ARRAYS, *changed]}
    assert len(digests) == 1 + len(changed)
    assert model_files.digest(HEADER | {"name": "e"}, ARRAYS) not in digests


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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a feature of Unix")
def test_a_pipe_is_rejected_without_waiting_for_its_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="it is not a regular file"):
        mvlvm.load(tmp_path / "pipe")


@pytest.mark.parametrize(("version", "advice"), [(FORMAT_VERSION + 1, "Install a newer mvlvm"), (3, "Fit and save")])
def test_another_format_version_is_rejected_with_both_versions(version, advice, path):
    header = json.loads(metadata(path)["mvlvm"]) | {"format_version": version, "library_version": "9.9"}
    save_file(ARRAYS, path, metadata={"mvlvm": json.dumps(header)})
    expected = rf"saved by mvlvm 9\.9 in format {version}; this version.*reads formats 4 to {FORMAT_VERSION}\. {advice}"
    with pytest.raises(ModelFileError, match=expected):
        mvlvm.load(path)


@pytest.mark.parametrize("change", [{"format": "other-model"}, {"format_version": -1}, {"format_version": "one"}])
def test_files_with_a_foreign_header_are_rejected(path, change):
    header = json.loads(metadata(path)["mvlvm"]) | change
    save_file(ARRAYS, path, metadata={"mvlvm": json.dumps(header)})
    with pytest.raises(ModelFileError, match="it has no mvlvm header"):
        mvlvm.load(path)


@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[1]", "null", '"text"', "9" * 5000])
def test_headers_that_are_no_json_object_are_rejected(text, path):
    save_file(ARRAYS, path, metadata={"mvlvm": text})
    with pytest.raises(ModelFileError, match="it has no mvlvm header"):
        mvlvm.load(path)


def test_a_truncated_file_is_rejected(path):
    content = path.read_bytes()
    path.with_name("half").write_bytes(content[: len(content) // 2])
    with pytest.raises(ModelFileError, match="half is not a saved mvlvm model"):
        mvlvm.load(path.with_name("half"))


def test_a_failed_write_keeps_the_old_file_and_leaves_no_temporary_file(path, monkeypatch):
    before = path.read_bytes()

    def full_disk(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr(atomic.os, "replace", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_model(path, HEADER, {})
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["m"]


def test_models_can_be_written_to_files_directories_and_symbolic_links(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_model("folder/", HEADER, ARRAYS)
    assert read_model("folder").source.name == "model.safetensors"
    (tmp_path / "link").symlink_to(tmp_path / "real")
    write_model("link", HEADER, ARRAYS)
    assert (tmp_path / "link").is_symlink()
    assert read_model("real").header["estimator"] == "Sample"
    with pytest.raises(FileNotFoundError, match="There is no folder .*missing to save m into. Create it first"):
        write_model(tmp_path / "missing" / "m", HEADER, ARRAYS)
    with pytest.raises(ValueError, match="path to save to is empty"):
        write_model("", HEADER, ARRAYS)


def test_a_model_has_the_permissions_of_other_new_files_and_keeps_those_of_an_old_one(path):
    path.with_name("other").write_text("")
    assert path.stat().st_mode == path.with_name("other").stat().st_mode
    path.chmod(0o640)
    write_model(path, HEADER, ARRAYS)
    assert path.stat().st_mode & 0o777 == 0o640


def test_threads_that_write_the_same_file_leave_one_of_their_models(path):
    def write(k):
        for _ in range(20):
            write_model(path, HEADER | {"writer": k}, {"a": np.full(1000, float(k))})

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        file = read_model(path)  # raises an exception if the file is incomplete
        if "writer" in file.header:
            assert (file.arrays["a"] == file.header["writer"]).all()
    assert [entry.name for entry in path.parent.iterdir()] == ["m"]

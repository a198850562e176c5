"""The commands `mvlvm data list`, `show` and `fetch`: output, options, figures and error messages."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from typer.testing import CliRunner

from mvlvm import datasets
from mvlvm.cli import data_report
from mvlvm.cli.main import app
from mvlvm.datasets import cache
from mvlvm.datasets.loader import find_entry
from mvlvm.errors import DataFileError
from tests.datasets.real_data import need


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """Simulate a machine without data: no MVLVM_DATA, an empty cache, and no permitted download."""
    monkeypatch.delenv("MVLVM_DATA", raising=False)
    monkeypatch.setattr(cache, "cache_folder", lambda: tmp_path / "cache")
    replace_download(monkeypatch, lambda file, folder: pytest.fail(f"{file} would be downloaded"))


@pytest.fixture
def data_home(no_data, tmp_path):
    """Return a data_home with twenty MNIST images, two per digit."""
    folder = tmp_path / "a home"
    folder.mkdir()
    images = np.random.default_rng(0).integers(1, 200, size=(20, 28, 28)).astype(np.uint8)
    np.savez(folder / "mnist.npz", X=images, y=(np.arange(20) % 10).astype(np.uint8), n_train=15)
    return folder


def replace_download(monkeypatch, fetch):
    module = ModuleType("mvlvm.datasets.download")
    module.fetch = fetch
    monkeypatch.setitem(sys.modules, "mvlvm.datasets.download", module)


def run(*arguments, width=80):
    return CliRunner().invoke(app, ["data", *map(str, arguments)], env={"COLUMNS": str(width)})


def output_of(*arguments, width=200):
    """Return the output of a successful command, with whitespace normalised."""
    result = run(*arguments, width=width)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def error_of(*arguments):
    """Return the one-line message of a failing command."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


# list


def test_list_shows_every_dataset_with_availability_and_views(data_home, monkeypatch):
    monkeypatch.setattr(np, "load", lambda *args, **kwargs: pytest.fail("a file was read"))
    output = output_of("list", "--data-home", data_home)
    states = "built-in|none|local|remote|manual|private"
    for name in datasets.list():
        assert re.search(rf"\b{name} ({states}) {', '.join(find_entry(name).views)}", output), name
    assert " digits-halves built-in left, right 1,797 handwritten digits of 8 x 8 pixels" in output
    assert " s-curve none view1, view2" in output
    assert " channel-sionna none real, imag" in output
    assert " channel private real, imag" in output
    assert " mnist local image 70,000 handwritten digits" in output
    assert " mnist-svhn remote mnist, svhn" in output  # one of its two files is missing
    assert " cora remote content, citations" in output
    assert " cll manual drugs, mutations, protein, bioenergetics" in output  # cannot be downloaded automatically


@pytest.mark.parametrize("width", [80, 60])
def test_list_truncates_no_word_in_a_narrow_terminal(no_data, width):
    lines = run("list", width=width).output.splitlines()
    assert max(map(len, lines)) <= width
    words = set(" ".join(lines).replace(",", " ").split())
    assert "…" not in " ".join(lines)
    for name in datasets.list():
        assert name in words
    assert {"bioenergetics", "photographed", "lymphocytic"} <= words


@pytest.mark.parametrize("name", [pytest.param(name, marks=need(*find_entry(name).files)) for name in datasets.list()])
def test_listed_views_match_the_loaded_views(name):
    entry = find_entry(name)
    assert entry.views, f"the registry entry of {name} must list its views"
    assert tuple(datasets.load(name, random_state=0).views) == entry.views


# show


def test_show_prints_the_statistics_of_the_file(data_home):
    output = output_of("show", "mnist", "--data-home", data_home)
    images = np.load(data_home / "mnist.npz")["X"]
    assert f"image 20 x 784 uint8 {images.min()} to {images.max()} none 28 x 28" in output
    for digit in range(10):
        assert f" {digit}: 2" in output
    entry = find_entry("mnist")
    for text in (entry.description, entry.origin, entry.licence):
        assert text in output
    assert 'split all "all", "train" or "test".' in output
    assert "n_samples null size of a random subsample" in output
    assert f"mnist.npz: {data_home / 'mnist.npz'}" in output


def test_show_requires_no_file_for_a_built_in_dataset(no_data):
    output = output_of("show", "digits-halves")
    assert "left 1,797 x 32 float64 0 to 16 none 8 x 4" in output
    assert "Files: none required." in output
    assert "Options" not in output


def test_missing_entries_rows_and_labels_are_shown(no_data, tmp_path):
    protein = np.ones((4, 2), dtype=np.float32)
    protein[1:3] = np.nan
    protein[0, 0] = np.nan
    table = np.arange(4.0)[:, None]
    names = {"mrna_names": ["a"], "mirna_names": ["b"], "protein_names": ["c", "d"], "sample": list("wxyz")}
    np.savez(tmp_path / "breast_tcga.npz", mrna=table, mirna=table, protein=protein, label=np.array([0, 1, -1, 1]),
             label_names=["Basal", "[red]Her2"], **names)  # fmt: skip
    output = output_of("show", "breast-tcga", "--data-home", tmp_path)
    assert "protein 4 x 2 float32 1 to 1 62.5 %; 2 entire rows" in output
    assert "Basal: 1 [red]Her2: 2 unknown: 1" in output
    assert "image" not in output


def test_sparse_views_are_marked(no_data, tmp_path):
    view = np.eye(3, dtype=np.uint8)
    np.savez(tmp_path / "cora.npz", content=view, citations=view, label=np.arange(3), label_names=list("abc"))
    assert "content 3 x 3 uint8, sparse 0 to 1 none" in output_of("show", "cora", "--data-home", tmp_path)


def test_ground_truth_is_listed_and_the_seed_determines_the_data(no_data):
    first, again, other = (output_of("show", "s-curve", "--seed", seed) for seed in (1, 1, 2))
    assert "Ground truth: latents, angle, kernels" in first
    assert first == again != other


def test_show_truncates_no_word_in_a_narrow_terminal(no_data):
    output = run("show", "s-curve", width=50).output
    assert "…" not in output
    assert max(len(line) for line in output.splitlines()) <= 50


@pytest.mark.parametrize(
    ("options", "rows"),
    [(["split=test"], 5), (['split="train"'], 15), (["n_samples=7"], 7), (["split=test", "n_samples=None"], 5)],
)
def test_options_are_passed_to_the_loader(data_home, options, rows):
    given = [word for option in options for word in ("--option", option)]
    assert f"image {rows} x 784" in output_of("show", "mnist", "--data-home", data_home, *given)


def test_label_view_can_be_requested(data_home):
    output = output_of("show", "mnist", "--data-home", data_home, "--option", "with_labels_as_view=true")
    assert "label 20 x 10 float64 0 to 1" in output


def test_option_values_are_parsed_as_json_or_text():
    given = ["a=1", "b=[1, 2]", 'c={"x": "y"}', "d=null", "e=rna", "f=0.5", "g=x=y", "h=", 'i="1"']
    assert data_report.parse_options("s-curve", given) == {
        "a": 1, "b": [1, 2], "c": {"x": "y"}, "d": None, "e": "rna", "f": 0.5, "g": "x=y", "h": "", "i": "1",
    }  # fmt: skip


@pytest.mark.parametrize("name", datasets.list())
def test_every_option_is_documented_and_its_default_can_be_typed(name):
    known = datasets.options(name)
    descriptions = data_report.option_descriptions(name)
    assert [key for key in known if not descriptions.get(key)] == []
    typed = data_report.parse_options(
        name, [f"{key}={data_report.as_typed(default)}" for key, default in known.items()]
    )
    for key, default in known.items():
        assert typed[key] == (list(default) if isinstance(default, tuple) else default)


# invalid input


@pytest.mark.parametrize("command", ["show", "fetch"])
def test_unknown_name_suggests_the_closest(no_data, command):
    assert error_of(command, "minst").startswith("mvlvm: Unknown data set 'minst'. Did you mean 'mnist'?")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("n_sample=3", "Data set 'mnist' has no option 'n_sample'. Did you mean 'n_samples'?"),
        ("n_samples=21", "n_samples must be at most 20"),
        ("n_samples=many", "n_samples must be an integer of at least 1. Got 'many'."),
        ("split=all of it", "split must be one of 'all', 'train', 'test'."),
        ("split=[]", "split must be one of 'all', 'train', 'test'."),
        ("n_samples", "--option must have the form KEY=VALUE, for example --option n_samples=100. Got 'n_samples'."),
        ("=3", "--option must have the form KEY=VALUE, for example --option n_samples=100. Got '=3'."),
        ("name=cora", "--option cannot set 'name'. Use NAME instead."),
        ("data_home=/tmp", "--option cannot set 'data_home'. Use --data-home instead."),
        ("random_state=1", "--option cannot set 'random_state'. Use --seed instead."),
        ("with_labels_as_view=perhaps", "with_labels_as_view must be true or false. Got 'perhaps'."),
    ],
)
@pytest.mark.usefixtures("no_type_checks")
def test_invalid_option_is_reported_in_one_line(data_home, option, message):
    assert error_of("show", "mnist", "--data-home", data_home, "--option", option).startswith(f"mvlvm: {message}")


@pytest.mark.usefixtures("no_type_checks")
def test_option_of_the_wrong_type_is_named(data_home):
    message = error_of("show", "mv-mnist", "--data-home", data_home, "--option", "angles=90")
    assert message == "mvlvm: angles must be a list. Got 90."


@pytest.mark.parametrize("n_samples", [10**7, 10**12, 10**30])
def test_exceeded_memory_is_reported_in_one_line(no_data, n_samples):
    message = error_of("show", "s-curve", "--option", f"n_samples={n_samples}")
    assert message.startswith("mvlvm: 's-curve' does not fit into memory with these options: ")


def test_missing_package_is_reported_in_one_line(no_data, monkeypatch):
    monkeypatch.setitem(sys.modules, "sionna.phy", None)
    message = error_of("show", "channel-sionna", "--option", "n_users=1")
    assert message == 'mvlvm: Simulating channels needs Sionna. Install it with: pip install "mvlvm[channel]"'


@pytest.mark.parametrize("command", [["list"], ["show", "mnist"], ["fetch", "mnist"]])
@pytest.mark.parametrize(
    ("folder", "words"), [("~nosuch", "Got ~nosuch: this user does not exist."), ("x" * 300, "File name too long.")]
)
def test_invalid_folder_is_reported_in_one_line(no_data, command, folder, words):
    assert words in error_of(*command, "--data-home", folder)


def test_listed_files_are_those_read(no_data, tmp_path):
    images, names = np.zeros((10, 32, 32, 3), np.uint8), [f"class {k}" for k in range(10)]
    np.savez(tmp_path / "cifar10.npz", X=images, y=np.arange(10), n_train=5, class_names=names)
    np.savez(tmp_path / "cifar10_gray20.npz", X=images[..., 0], y=np.arange(10), n_train=5, class_names=names)
    output = output_of("show", "cifar", "--data-home", tmp_path, "--option", "size=32")
    assert output.endswith(f"Files: cifar10.npz: {tmp_path / 'cifar10.npz'}")


def test_repeated_option_is_rejected(no_data):
    message = error_of("show", "s-curve", "--option", "n_samples=3", "--option", "n_samples=4")
    assert message == "mvlvm: --option n_samples was given twice. Specify it once."


def test_damaged_file_is_rejected_by_name_and_not_modified(data_home):
    intact = (data_home / "mnist.npz").read_bytes()
    (data_home / "mnist.npz").write_bytes(intact[: len(intact) // 2])
    message = error_of("show", "mnist", "--data-home", data_home)
    assert message.startswith(f"mvlvm: {data_home / 'mnist.npz'} is damaged")
    assert (data_home / "mnist.npz").read_bytes() == intact[: len(intact) // 2]


def test_unreadable_file_is_reported_in_one_line(data_home, monkeypatch):
    def closed(path, mode):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", closed)
    message = error_of("show", "mnist", "--data-home", data_home)
    assert message.startswith(f"mvlvm: {data_home / 'mnist.npz'} cannot be read: Permission denied.")


@pytest.mark.parametrize("command", ["show", "fetch"])
def test_failed_download_is_reported_in_one_line(no_data, monkeypatch, command):
    def fetch(file, folder):
        raise DataFileError(f"{file} is unavailable. Save it in {folder}.")

    replace_download(monkeypatch, fetch)
    assert error_of(command, "mnist").startswith("mvlvm: mnist.npz is unavailable. Save it in ")


@pytest.mark.parametrize("command", ["show", "fetch"])
def test_interrupt_is_reported_in_one_line_with_exit_code_130(no_data, monkeypatch, command):
    def fetch(file, folder):
        raise KeyboardInterrupt

    replace_download(monkeypatch, fetch)
    result = run(command, "mnist")
    assert result.exit_code == 130
    assert result.stderr.startswith("mvlvm: Interrupted before 'mnist' was ")


# fetch


def test_fetch_prints_the_paths_of_found_and_downloaded_files(data_home, monkeypatch):
    requested = []

    def fetch(file, folder):
        requested.append((file, folder))
        return folder / file

    replace_download(monkeypatch, fetch)
    output = output_of("fetch", "mnist-svhn", "--data-home", data_home)
    assert f"svhn_train16k.npz downloaded: {data_home / 'svhn_train16k.npz'}" in output
    assert f"mnist.npz found: {data_home / 'mnist.npz'}" in output
    assert requested == [("svhn_train16k.npz", data_home)]


def test_long_paths_are_not_wrapped(data_home):
    deep = data_home / ("x" * 120)
    deep.mkdir()
    (deep / "mnist.npz").write_bytes((data_home / "mnist.npz").read_bytes())
    assert f"mnist.npz found: {deep / 'mnist.npz'}\n" in run("fetch", "mnist", "--data-home", deep).output


@pytest.mark.parametrize("name", ["s-curve", "digits-halves"])
def test_fetch_of_a_dataset_without_files(no_data, name):
    assert f"'{name}' requires no files" in output_of("fetch", name)


# figures


def test_image_data_get_an_overview_and_a_contact_sheet(data_home, tmp_path):
    path = tmp_path / "new folder" / "a.mnist.png"
    output = output_of("show", "mnist", "--data-home", data_home, "--plot", path)
    sheet = path.with_name("a.mnist-images.png")
    assert f"missing entries: {path}" in output
    assert f"images: {sheet}" in output
    assert {file.name for file in path.parent.iterdir()} == {path.name, sheet.name}
    assert all(file.read_bytes().startswith(b"\x89PNG") for file in (path, sheet))


@pytest.mark.parametrize(("kind", "start"), [("PNG", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_other_data_get_only_an_overview_in_the_format_of_the_suffix(no_data, tmp_path, kind, start):
    path = tmp_path / f"curve.{kind}"
    assert "images" not in output_of("show", "s-curve", "--plot", path)
    assert [path.name for path in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes().startswith(start)


def test_tilde_in_the_figure_path_is_expanded(no_data, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert f"missing entries: {tmp_path / 'x.png'}" in output_of("show", "s-curve", "--plot", "~/x.png")
    assert (tmp_path / "x.png").exists()
    assert "Got ~nosuch/x.png: this user does not exist." in error_of("show", "s-curve", "--plot", "~nosuch/x.png")


@pytest.mark.parametrize("file", ["figure.gif", "figure"])
def test_unknown_suffix_is_rejected_before_loading(no_data, tmp_path, file):
    message = error_of("show", "mnist", "--plot", tmp_path / file)
    assert message.startswith("mvlvm: --plot must be a file with the suffix .png, .svg, .pdf. Got ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "message"),
    [("taken/figure.png", "be in a folder that can be created"), ("folder.png", "be a file that can be written")],
)
def test_unwritable_figure_is_reported_in_one_line(no_data, tmp_path, file, message):
    (tmp_path / "taken").write_text("")
    (tmp_path / "folder.png").mkdir()
    result = run("show", "s-curve", "--plot", tmp_path / file)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"mvlvm: --plot must {message}. Got ")


def test_missing_matplotlib_is_reported_for_figures(monkeypatch):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from mvlvm.cli.main import app; app(['data', 'show', 's-curve', *sys.argv[1:]])"
    )
    plain, drawn = (
        subprocess.run([sys.executable, "-c", code, *plot], capture_output=True, text=True, check=False)
        for plot in ([], ["--plot", "x.png"])
    )
    assert plain.returncode == 0
    assert drawn.returncode == 2
    assert drawn.stderr.strip() == (
        'mvlvm: --plot draws figures and requires matplotlib. Install it with: pip install "mvlvm[plots]"'
    )


def test_help_does_not_import_the_datasets():
    code = (
        "import sys\nfrom mvlvm.cli.main import app\ntry: app(['data', '--help'])\nexcept SystemExit: pass\n"
        "print(sorted(name for name in sys.modules if name.startswith(('mvlvm.datasets', 'mvlvm.plots', 'pooch'))))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"
    assert {"list", "show", "fetch"} <= set(run.stdout.split())


def real(name, words, files):
    return pytest.param(name, words, files, marks=need(*find_entry(name).files))


@pytest.mark.parametrize(
    ("name", "words", "files"),
    [
        real("cll", ["protein 200 x 4,316 float32", "164 entire rows", "IGHV mutated: 104", "unknown: 12"], 1),
        real("breast-tcga", ["31.8 %; 70 entire rows", "LumA: 110"], 1),
        real("cora", ["citations 2,708 x 2,708 uint8, sparse 0 to 2 none", "Neural Networks: 818"], 1),
        real("mnist-svhn", ["svhn 16,000 x 3,072 uint8 0 to 255 none 32 x 32 x 3", "1: 3,041"], 2),
        real("mfeat", ["pix 2,000 x 240 uint8 0 to 6 none 16 x 15"], 2),
    ],
)
def test_real_datasets_are_shown_and_plotted(tmp_path, name, words, files):
    output = output_of("show", name, "--plot", tmp_path / f"{name}.png")
    for word in words:
        assert word in output
    assert len(list(tmp_path.iterdir())) == files


def test_figures_are_written_for_the_loaded_data(data_home, tmp_path):
    data = datasets.load("mnist", data_home=data_home, split="test")
    assert data_report.write_figures(data, tmp_path / "x.svg") == {
        "missing entries": tmp_path / "x.svg", "images": tmp_path / "x-images.svg",
    }  # fmt: skip

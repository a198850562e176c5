import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from typer.testing import CliRunner

from mvlvm import datasets
from mvlvm.cli import data_figures, data_options
from mvlvm.cli.main import app
from mvlvm.datasets import store
from mvlvm.datasets.loading import find_entry
from mvlvm.errors import DataFileError
from tests.datasets.at_hand import need


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine without data: no MVLVM_DATA, an empty cache, and a download that may not be tried."""
    monkeypatch.delenv("MVLVM_DATA", raising=False)
    monkeypatch.setattr(store, "cache_folder", lambda: tmp_path / "cache")
    pretend_download(monkeypatch, lambda file, folder: pytest.fail(f"{file} was to be downloaded"))


@pytest.fixture
def home(bare, tmp_path):
    """A data home with twenty images of MNIST, two of each digit."""
    folder = tmp_path / "a home"
    folder.mkdir()
    images = np.random.default_rng(0).integers(1, 200, size=(20, 28, 28)).astype(np.uint8)
    np.savez(folder / "mnist.npz", X=images, y=(np.arange(20) % 10).astype(np.uint8), n_train=15)
    return folder


def pretend_download(monkeypatch, fetch):
    module = ModuleType("mvlvm.datasets.download")
    module.fetch = fetch
    monkeypatch.setitem(sys.modules, "mvlvm.datasets.download", module)


def run(*arguments, width=80):
    return CliRunner().invoke(app, ["data", *map(str, arguments)], env={"COLUMNS": str(width)})


def shown(*arguments, width=200):
    """What a command prints when all goes well, with single spaces."""
    result = run(*arguments, width=width)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def refused(*arguments):
    """The one sentence of a command that fails."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    return line


# list


def test_the_list_names_every_set_its_views_and_where_its_files_are(home, monkeypatch):
    monkeypatch.setattr(np, "load", lambda *args, **kwargs: pytest.fail("a file was read"))
    output = shown("list", "--data-home", home)
    states = "embedded|made|here|to fetch|by hand|private"
    for name in datasets.list():
        assert re.search(rf"\b{name} ({states}) {', '.join(find_entry(name).views)}", output), name
    assert " digits-halves embedded left, right 1,797 handwritten digits of 8 x 8 pixels" in output
    assert " s-curve made view1, view2" in output
    assert " channel-sionna made real, imag" in output
    assert " channel private real, imag" in output
    assert " mnist here image 70,000 handwritten digits" in output
    assert " mnist-svhn to fetch mnist, svhn" in output  # one of its two files is missing
    assert " cora to fetch content, citations" in output
    assert " cll by hand drugs, mutations, protein, bioenergetics" in output  # has no automatic download


@pytest.mark.parametrize("width", [80, 60])
def test_no_word_of_the_list_is_cut_in_a_narrow_window(bare, width):
    lines = run("list", width=width).output.splitlines()
    assert max(map(len, lines)) <= width
    words = set(" ".join(lines).replace(",", " ").split())
    assert "…" not in " ".join(lines)
    for name in datasets.list():
        assert name in words
    assert {"bioenergetics", "photographed", "lymphocytic"} <= words


@pytest.mark.parametrize("name", [pytest.param(name, marks=need(*find_entry(name).files)) for name in datasets.list()])
def test_the_listed_views_are_those_that_are_loaded(name):
    entry = find_entry(name)
    assert entry.views, f"the registry's entry of {name} must name its views"
    assert tuple(datasets.load(name, random_state=0).views) == entry.views


# show


def test_show_prints_numbers_that_are_those_of_the_file(home):
    output = shown("show", "mnist", "--data-home", home)
    images = np.load(home / "mnist.npz")["X"]
    assert f"image 20 x 784 uint8 {images.min()} to {images.max()} none 28 x 28" in output
    for digit in range(10):
        assert f" {digit}: 2" in output
    entry = find_entry("mnist")
    for text in (entry.description, entry.origin, entry.licence):
        assert text in output
    assert 'split all "all", "train" or "test".' in output
    assert "n_samples null draw so many" in output
    assert f"mnist.npz: {home / 'mnist.npz'}" in output


def test_show_needs_no_file_for_an_embedded_set(bare):
    output = shown("show", "digits-halves")
    assert "left 1,797 x 32 float64 0 to 16 none 8 x 4" in output
    assert "Files: none needed." in output
    assert "Options" not in output


def test_missing_entries_rows_and_labels_are_shown(bare, tmp_path):
    protein = np.ones((4, 2), dtype=np.float32)
    protein[1:3] = np.nan
    protein[0, 0] = np.nan
    table = np.arange(4.0)[:, None]
    names = {"mrna_names": ["a"], "mirna_names": ["b"], "protein_names": ["c", "d"], "sample": list("wxyz")}
    np.savez(tmp_path / "breast_tcga.npz", mrna=table, mirna=table, protein=protein, label=np.array([0, 1, -1, 1]),
             label_names=["Basal", "[red]Her2"], **names)  # fmt: skip
    output = shown("show", "breast-tcga", "--data-home", tmp_path)
    assert "protein 4 x 2 float32 1 to 1 62.5 %; 2 whole rows" in output
    assert "Basal: 1 [red]Her2: 2 unknown: 1" in output
    assert "image" not in output


def test_sparse_views_are_called_sparse(bare, tmp_path):
    view = np.eye(3, dtype=np.uint8)
    np.savez(tmp_path / "cora.npz", content=view, citations=view, label=np.arange(3), label_names=list("abc"))
    assert "content 3 x 3 uint8, sparse 0 to 1 none" in shown("show", "cora", "--data-home", tmp_path)


def test_the_truth_of_made_data_is_named_and_the_seed_decides_the_draw(bare):
    first, again, other = (shown("show", "s-curve", "--seed", seed) for seed in (1, 1, 2))
    assert "Known truth: latents, angle, kernels" in first
    assert first == again != other


def test_no_word_of_a_page_is_cut_in_a_narrow_window(bare):
    output = run("show", "s-curve", width=50).output
    assert "…" not in output
    assert max(len(line) for line in output.splitlines()) <= 50


@pytest.mark.parametrize(
    ("options", "rows"),
    [(["split=test"], 5), (['split="train"'], 15), (["n_samples=7"], 7), (["split=test", "n_samples=None"], 5)],
)
def test_options_reach_the_loader(home, options, rows):
    given = [word for option in options for word in ("--option", option)]
    assert f"image {rows} x 784" in shown("show", "mnist", "--data-home", home, *given)


def test_the_label_view_can_be_asked_for(home):
    output = shown("show", "mnist", "--data-home", home, "--option", "with_labels_as_view=true")
    assert "label 20 x 10 float64 0 to 1" in output


def test_values_are_read_as_json_or_else_as_text():
    given = ["a=1", "b=[1, 2]", 'c={"x": "y"}', "d=null", "e=rna", "f=0.5", "g=x=y", "h=", 'i="1"']
    assert data_options.read("s-curve", given) == {
        "a": 1, "b": [1, 2], "c": {"x": "y"}, "d": None, "e": "rna", "f": 0.5, "g": "x=y", "h": "", "i": "1",
    }  # fmt: skip


@pytest.mark.parametrize("name", datasets.list())
def test_every_option_is_explained_and_its_default_can_be_typed(name):
    known = datasets.options(name)
    meanings = data_options.meanings(name)
    assert [key for key in known if not meanings.get(key)] == []
    typed = data_options.read(name, [f"{key}={data_options.as_typed(default)}" for key, default in known.items()])
    for key, default in known.items():
        assert typed[key] == (list(default) if isinstance(default, tuple) else default)


# bad input


@pytest.mark.parametrize("command", ["show", "fetch"])
def test_an_unknown_name_suggests_the_nearest(bare, command):
    assert refused(command, "minst").startswith("mvlvm: There is no data set 'minst'. Did you mean 'mnist'?")


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("n_sample=3", "Data set 'mnist' has no option 'n_sample'. Did you mean 'n_samples'?"),
        ("n_samples=21", "n_samples must be at most 20"),
        ("n_samples=many", "n_samples must be an integer of at least 1. Got 'many'."),
        ("split=all of it", "split must be one of 'all', 'train', 'test'."),
        ("split=[]", "split must be one of 'all', 'train', 'test'."),
        ("n_samples", "--option must be KEY=VALUE. Got 'n_samples'."),
        ("=3", "--option must be KEY=VALUE. Got '=3'."),
        ("name=cora", "--option cannot set 'name'. Use NAME instead."),
        ("data_home=/tmp", "--option cannot set 'data_home'. Use --data-home instead."),
        ("random_state=1", "--option cannot set 'random_state'. Use --seed instead."),
        ("with_labels_as_view=perhaps", "with_labels_as_view must be true or false. Got 'perhaps'."),
    ],
)
@pytest.mark.usefixtures("no_type_checks")
def test_a_bad_option_is_one_sentence(home, option, sentence):
    assert refused("show", "mnist", "--data-home", home, "--option", option).startswith(f"mvlvm: {sentence}")


@pytest.mark.usefixtures("no_type_checks")
def test_an_option_of_the_wrong_kind_is_named(home):
    sentence = refused("show", "mv-mnist", "--data-home", home, "--option", "angles=90")
    assert sentence == "mvlvm: angles must be a list. Got 90."


@pytest.mark.parametrize("n_samples", [10**7, 10**12, 10**30])
def test_more_than_memory_holds_is_one_sentence(bare, n_samples):
    sentence = refused("show", "s-curve", "--option", f"n_samples={n_samples}")
    assert sentence.startswith("mvlvm: 's-curve' does not fit into memory with these options: ")


def test_a_package_that_is_not_installed_is_one_sentence(bare, monkeypatch):
    monkeypatch.setitem(sys.modules, "sionna.phy", None)
    sentence = refused("show", "channel-sionna", "--option", "n_users=1")
    assert sentence == 'mvlvm: Simulating channels needs Sionna. Install it with: pip install "mvlvm[channel]"'


@pytest.mark.parametrize("command", [["list"], ["show", "mnist"], ["fetch", "mnist"]])
@pytest.mark.parametrize(
    ("folder", "words"), [("~nosuch", "Got ~nosuch: there is no such user."), ("x" * 300, "File name too long.")]
)
def test_a_folder_that_cannot_be_is_one_sentence(bare, command, folder, words):
    assert words in refused(*command, "--data-home", folder)


def test_the_files_shown_are_those_that_were_read(bare, tmp_path):
    images, names = np.zeros((10, 32, 32, 3), np.uint8), [f"class {k}" for k in range(10)]
    np.savez(tmp_path / "cifar10.npz", X=images, y=np.arange(10), n_train=5, class_names=names)
    np.savez(tmp_path / "cifar10_gray20.npz", X=images[..., 0], y=np.arange(10), n_train=5, class_names=names)
    output = shown("show", "cifar", "--data-home", tmp_path, "--option", "size=32")
    assert output.endswith(f"Files: cifar10.npz: {tmp_path / 'cifar10.npz'}")


def test_an_option_is_not_given_twice(bare):
    sentence = refused("show", "s-curve", "--option", "n_samples=3", "--option", "n_samples=4")
    assert sentence == "mvlvm: --option n_samples was given twice. Give it once."


def test_a_damaged_file_is_refused_by_name_and_left_as_it_is(home):
    whole = (home / "mnist.npz").read_bytes()
    (home / "mnist.npz").write_bytes(whole[: len(whole) // 2])
    sentence = refused("show", "mnist", "--data-home", home)
    assert sentence.startswith(f"mvlvm: {home / 'mnist.npz'} is damaged")
    assert (home / "mnist.npz").read_bytes() == whole[: len(whole) // 2]


def test_a_file_that_may_not_be_read_is_one_sentence(home, monkeypatch):
    def closed(path, mode):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", closed)
    sentence = refused("show", "mnist", "--data-home", home)
    assert sentence.startswith(f"mvlvm: {home / 'mnist.npz'} cannot be read: Permission denied.")


@pytest.mark.parametrize("command", ["show", "fetch"])
def test_a_file_that_cannot_be_had_is_one_sentence(bare, monkeypatch, command):
    def fetch(file, folder):
        raise DataFileError(f"{file} cannot be had. Put it into {folder}.")

    pretend_download(monkeypatch, fetch)
    assert refused(command, "mnist").startswith("mvlvm: mnist.npz cannot be had. Put it into ")


@pytest.mark.parametrize("command", ["show", "fetch"])
def test_an_interrupt_is_one_sentence_and_exit_code_130(bare, monkeypatch, command):
    def fetch(file, folder):
        raise KeyboardInterrupt

    pretend_download(monkeypatch, fetch)
    result = run(command, "mnist")
    assert result.exit_code == 130
    assert result.stderr.startswith("mvlvm: Stopped before 'mnist' was ")


# fetch


def test_fetch_says_where_a_file_is_or_was_put(home, monkeypatch):
    asked = []

    def fetch(file, folder):
        asked.append((file, folder))
        return folder / file

    pretend_download(monkeypatch, fetch)
    output = shown("fetch", "mnist-svhn", "--data-home", home)
    assert f"svhn_train16k.npz was fetched: {home / 'svhn_train16k.npz'}" in output
    assert f"mnist.npz is here: {home / 'mnist.npz'}" in output
    assert asked == [("svhn_train16k.npz", home)]


def test_a_path_is_printed_in_one_line_however_long(home):
    deep = home / ("x" * 120)
    deep.mkdir()
    (deep / "mnist.npz").write_bytes((home / "mnist.npz").read_bytes())
    assert f"mnist.npz is here: {deep / 'mnist.npz'}\n" in run("fetch", "mnist", "--data-home", deep).output


@pytest.mark.parametrize("name", ["s-curve", "digits-halves"])
def test_fetch_of_an_embedded_set_needs_nothing(bare, name):
    assert f"'{name}' needs no files" in shown("fetch", name)


# figures


def test_an_image_set_gets_an_overview_and_a_contact_sheet(home, tmp_path):
    place = tmp_path / "new folder" / "a.mnist.png"
    output = shown("show", "mnist", "--data-home", home, "--plot", place)
    sheet = place.with_name("a.mnist-images.png")
    assert f"what is missing: {place}" in output
    assert f"images: {sheet}" in output
    assert {path.name for path in place.parent.iterdir()} == {place.name, sheet.name}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (place, sheet))


@pytest.mark.parametrize(("kind", "start"), [("PNG", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_another_set_gets_an_overview_alone_in_the_format_of_its_name(bare, tmp_path, kind, start):
    place = tmp_path / f"curve.{kind}"
    assert "images" not in shown("show", "s-curve", "--plot", place)
    assert [path.name for path in tmp_path.iterdir()] == [place.name]
    assert place.read_bytes().startswith(start)


def test_the_users_home_is_understood_in_the_name_of_a_figure(bare, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert f"what is missing: {tmp_path / 'x.png'}" in shown("show", "s-curve", "--plot", "~/x.png")
    assert (tmp_path / "x.png").exists()
    assert "Got ~nosuch/x.png: there is no such user." in refused("show", "s-curve", "--plot", "~nosuch/x.png")


@pytest.mark.parametrize("file", ["figure.gif", "figure"])
def test_an_unknown_ending_is_refused_before_anything_is_loaded(bare, tmp_path, file):
    sentence = refused("show", "mnist", "--plot", tmp_path / file)
    assert sentence.startswith("mvlvm: --plot must name a file that ends in .png, .svg, .pdf. Got ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "sentence"),
    [("taken/figure.png", "lie in a folder that can be made"), ("folder.png", "name a file that can be written")],
)
def test_a_figure_that_cannot_be_written_is_one_sentence(bare, tmp_path, file, sentence):
    (tmp_path / "taken").write_text("")
    (tmp_path / "folder.png").mkdir()
    result = run("show", "s-curve", "--plot", tmp_path / file)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"mvlvm: --plot must {sentence}. Got ")


def test_without_matplotlib_a_figure_says_what_to_install(monkeypatch):
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
        'mvlvm: --plot draws figures and needs matplotlib. Install it with: pip install "mvlvm[plots]"'
    )


def test_the_help_does_not_load_the_data_sets():
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
        real("cll", ["protein 200 x 4,316 float32", "164 whole rows", "IGHV mutated: 104", "unknown: 12"], 1),
        real("breast-tcga", ["31.8 %; 70 whole rows", "LumA: 110"], 1),
        real("cora", ["citations 2,708 x 2,708 uint8, sparse 0 to 2 none", "Neural Networks: 818"], 1),
        real("mnist-svhn", ["svhn 16,000 x 3,072 uint8 0 to 255 none 32 x 32 x 3", "1: 3,041"], 2),
        real("mfeat", ["pix 2,000 x 240 uint8 0 to 6 none 16 x 15"], 2),
    ],
)
def test_real_sets_are_shown_and_drawn(tmp_path, name, words, files):
    output = shown("show", name, "--plot", tmp_path / f"{name}.png")
    for word in words:
        assert word in output
    assert len(list(tmp_path.iterdir())) == files


def test_figures_are_drawn_of_the_data_that_were_loaded(home, tmp_path):
    data = datasets.load("mnist", data_home=home, split="test")
    assert data_figures.draw(data, tmp_path / "x.svg") == {
        "what is missing": tmp_path / "x.svg", "images": tmp_path / "x-images.svg",
    }  # fmt: skip

"""The command `mvlvm demo`, the version and the help."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import mvlvm
from mvlvm.cli import demo as experiment
from mvlvm.cli.main import app
from mvlvm.models.multiview import MultiViewLVM


@pytest.fixture
def short_demo(monkeypatch):
    monkeypatch.setitem(experiment._STEPS, "S-curve", 3)
    monkeypatch.setitem(experiment._STEPS, "digits", 3)


@pytest.mark.usefixtures("short_demo")
def test_demo_prints_a_table_and_writes_figures(tmp_path):
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "a folder" / "demo"), "--quiet"])
    assert result.exit_code == 0, result.output
    for word in ("S-curve", "latent R^2", "digits", "1-NN accuracy", "PCA", "noise", "bound", "seconds"):
        assert word in result.output
    written = {path.name for path in (tmp_path / "a folder" / "demo").iterdir()}
    assert written == {"s_curve_latents.png", "s_curve_kernels.png", "bounds.png", "digits_latents.png"}


@pytest.mark.parametrize("folder", ["taken", "taken/below"])
def test_file_in_place_of_the_output_folder_is_rejected_with_exit_code_2(tmp_path, folder):
    (tmp_path / "taken").write_text("")
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / folder)])
    assert result.exit_code == 2
    assert "--out must be a folder that can be created" in result.output
    assert "Traceback" not in result.output


def test_interrupt_ends_the_demo_and_not_only_its_first_fit(tmp_path, monkeypatch):
    fits = []
    original = experiment._fit
    monkeypatch.setattr(experiment, "_fit", lambda *args: fits.append(1) or original(*args))
    monkeypatch.setattr(MultiViewLVM, "elbo_gradients", _interrupted_in_training(MultiViewLVM.elbo_gradients))
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--quiet"])
    assert result.exit_code == 130
    assert "interrupted" in result.output
    assert len(fits) == 1


def _interrupted_in_training(elbo):
    calls = iter(range(1000))

    def once(*args, **kwargs):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return elbo(*args, **kwargs)

    return once


def test_version_and_help():
    assert CliRunner().invoke(app, ["--version"]).output.strip() == mvlvm.__version__
    shown = subprocess.run([sys.executable, "-m", "mvlvm", "--help"], capture_output=True, text=True, check=True).stdout
    assert "demo" in shown


def test_fit_does_not_require_matplotlib():
    code = (
        "import sys; sys.modules.update(matplotlib=None)\n"
        "import numpy as np, mvlvm\n"
        "Y = np.random.default_rng(0).normal(size=(20, 3))\n"
        "mvlvm.NGMVLVM(max_iter=2, tol=0.0).fit({'a': Y}).reconstruct()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_matplotlib_is_reported():
    code = "import sys; sys.modules['matplotlib'] = None; from mvlvm.cli.main import app; app(['demo'])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr.strip() == (
        'mvlvm: The demo draws figures and requires matplotlib. Install it with: pip install "mvlvm[plots]"'
    )

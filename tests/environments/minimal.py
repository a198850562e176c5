"""What must work with the required dependencies only; `make test-minimal` runs this file in such an environment."""

import subprocess
import sys
import tempfile
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import mvlvm
from mvlvm import NGMVLVM, baselines, datasets

OPTIONAL = (
    "anndata",
    "gpytorch",
    "h5py",
    "matplotlib",
    "mudata",
    "PIL",
    "pebble",
    "pooch",
    "pyarrow",
    "rdata",
    "sionna",
)
COMMANDS = ("", "fit", "show", "transform", "predict", "impute", "score", "sample", "demo", "data list", "data show",
            "data fetch", "data export")  # fmt: skip
# Command -> the extra that its message names.
MESSAGES = {
    "demo": "plots",
    "data fetch mnist": "data",
    "data show r-mnist": "data",
    "data show s-curve --plot figure.png": "plots",
    "fit --view table.parquet --out m2": "files",
    "transform model --view a=a.csv --out latents.parquet": "files",
    "transform model --view a=table.h5ad --out latents.csv": "files",
    "sample model --out drawn.h5mu": "files",
}


def run(command, folder):
    """Run a command of the package."""
    arguments = [sys.executable, "-m", "mvlvm", *command.split()]
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)


def check_environment():
    """Check that no optional package is installed, and that the required ones are those that are declared."""
    present = [package for package in OPTIONAL if find_spec(package) is not None]
    assert not present, f"{present} are installed; create the environment with: make test-minimal"
    print("required:", ", ".join(sorted(name for name in requires("mvlvm") if "extra ==" not in name)))


def check_estimator(folder):
    """Fit, save, load and predict."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    views = {name: np.sin(X @ rng.normal(size=(2, width))) for name, width in (("a", 8), ("b", 6))}
    est = NGMVLVM(max_iter=20, tol=0.0, n_points=10, random_state=0).fit(views)
    est.save(folder / "m")
    new = {"a": views["a"][:4]}
    np.testing.assert_array_equal(mvlvm.load(folder / "m").predict(new, target="b"), est.predict(new, target="b"))
    assert datasets.load("digits-halves")["left"].shape == (1797, 32)


def check_commands(folder):
    """Run the commands on exported files, and those that need an extra."""
    for command in COMMANDS:
        shown = run(f"{command} --help", folder)
        assert shown.returncode == 0, shown.stderr
    for command in (
        "data export s-curve --option n_samples=60 --option n_features=8 --out curve --new-rows 10",
        "fit --view a=curve/view1.csv --view b=curve/view2.csv --max-iter 20 --tol 0 --out model",
        "show model",
        "predict model --view a=curve/new/view1.csv --target b --out b.tsv",
    ):
        done = run(command, folder)
        assert done.returncode == 0, done.stderr
    (folder / "a.csv").write_bytes((folder / "curve" / "new" / "view1.csv").read_bytes())
    for name in ("table.parquet", "table.h5ad"):
        (folder / name).write_bytes(b"a file")
    for command, extra in MESSAGES.items():
        done = run(command, folder)
        assert done.returncode in (1, 2), command
        assert f'pip install "mvlvm[{extra}]"' in done.stderr, f"{command}: {done.stderr}"
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def check_baselines():
    """Fit every baseline that needs a package of its own: its error names the extra."""
    Y = np.random.default_rng(0).poisson(3, size=(40, 5)).astype(float)
    for entry in baselines.list():
        if entry.package is not None:
            views = {"a": Y, "b": Y + 1} if entry.name in ("MOFA", "GFA", "MCCA", "MRD") else Y
            message = ""
            try:
                baselines.get(entry.name)(n_components=2).fit(views)
            except ModuleNotFoundError as error:
                message = str(error)
            assert 'pip install "mvlvm[baselines]"' in message, f"{entry.name}: {message}"


if __name__ == "__main__":
    check_environment()
    with tempfile.TemporaryDirectory() as name:
        check_estimator(Path(name))
        check_commands(Path(name))
    check_baselines()
    print("The required dependencies suffice, and every missing extra is named.")

"""The size of the package: `python -m tests.architecture.size_report` prints it, as `make check` does.

Growing numbers show a design going wrong; they are no limits.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

import mvlvm
from mvlvm import NGMVLVM

SOURCE = Path(mvlvm.__file__).parent
_N_LONGEST = 5


def executed_files(call):
    """Return the files of the package whose functions a call executes."""
    found = set()

    def note(frame, *_):
        path = frame.f_code.co_filename
        if path.startswith(str(SOURCE)) and frame.f_code.co_name != "<module>":
            found.add(Path(path).relative_to(SOURCE).as_posix())

    sys.setprofile(note)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    finally:
        sys.setprofile(None)
    return found


def files_of_fit_and_predict():
    """Return the files that a default fit executes, and those that a prediction executes after the first one."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    views = {name: np.sin(X @ rng.normal(size=(2, width))) for name, width in (("a", 30), ("b", 8))}
    est = NGMVLVM(max_iter=120, n_points=8, random_state=0)
    in_fit = executed_files(lambda: est.fit(views))
    est.prepare().predict({"a": views["a"][:5]}, target="b")
    return in_fit, executed_files(lambda: est.predict({"a": views["a"][:5]}, target="b", return_std=True))


def main():
    """Print the files and lines of every package, the longest files, and the files of a fit and a prediction."""
    lines = {path.relative_to(SOURCE): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}
    packages = sorted({path.parts[0] if len(path.parts) > 1 else "." for path in lines})
    for package in packages:
        own = [n for path, n in lines.items() if (path.parts[0] if len(path.parts) > 1 else ".") == package]
        print(f"{package:14} {len(own):4} files {sum(own):7,} lines")
    print(f"{'all':14} {len(lines):4} files {sum(lines.values()):7,} lines")
    longest = sorted(lines, key=lines.__getitem__, reverse=True)[:_N_LONGEST]
    print("longest:", ", ".join(f"{path.as_posix()} ({lines[path]})" for path in longest))
    in_fit, in_predict = files_of_fit_and_predict()
    print(f"executed by fit: {len(in_fit)} files, by predict: {len(in_predict)}")


if __name__ == "__main__":
    main()

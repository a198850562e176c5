"""Compare the results of the golden cases of two versions of the source, bit for bit, on this machine.

`make compare-bits BASE=<commit>` fits all cases with the source of a commit and with that of the working tree. Names
that only one version has, such as new entries in the header of a saved model, are listed and are no difference. With
`TOLERANCE=1e-10`, numbers may differ by this fraction of the largest number of their array, for changes that reorder
sums; the largest difference of every array is printed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from tests.architecture import golden

ROOT = Path(__file__).parents[2]


def leaves(value, name=""):
    """Return name -> hash and numbers of every array and every other value in nested containers."""
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list | tuple) and not all(isinstance(item, str | int | float | None) for item in value):
        parts = enumerate(value)
    else:
        value = np.asarray(value) if isinstance(value, float) else value
        numeric = isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.number)
        numbers = value.astype(float).ravel().tolist() if numeric else None
        return {name: {"digest": golden.digest(value), "numbers": numbers}}
    return {leaf: content for key, part in parts for leaf, content in leaves(part, f"{name}/{key}").items()}


def differences(base, new):
    """Compare the leaves of one case; return the names of those that differ, that were added and that are gone."""
    differ = [name for name in base if name in new and base[name]["digest"] != new[name]["digest"]]
    return differ, [name for name in new if name not in base], [name for name in base if name not in new]


def largest_difference(base, new):
    """Return the largest difference of the numbers of two leaves, relative to the largest number; infinity if none."""
    one, other = (np.asarray(leaf["numbers"], dtype=float) for leaf in (base, new))
    if one.shape != other.shape or not one.ndim or (np.isnan(one) != np.isnan(other)).any():
        return np.inf
    return float(np.nanmax(np.abs(one - other)) / np.nanmax(np.abs(one)))


def report(base, new, expected=(), tolerance=0.0):
    """Compare all cases and print a line for each.

    Args:
        base: case -> leaves of the version to compare with.
        new: case -> leaves of the working tree.
        expected: names of cases, such as "init-auto", that may differ.
        tolerance: the relative difference of numbers that is allowed in all cases.

    Returns:
        Whether all other cases are equal, or differ by at most the tolerance.
    """
    equal, changed = True, set()
    for case, leaves_of_base in base.items():
        differ, added, gone = differences(leaves_of_base, new[case])
        changed |= {f"added: {name}" for name in added} | {f"gone: {name}" for name in gone}
        relative = {name: largest_difference(leaves_of_base[name], new[case][name]) for name in differ}
        allowed = case.split()[0] in expected or max(relative.values(), default=0.0) <= tolerance
        equal &= not differ or allowed
        verdict = "equal" if not differ else "differs as expected" if allowed else "DIFFERS"
        print(f"{case:40} {verdict} ({len(leaves_of_base) - len(gone)} compared)")
        for name in differ:
            print(f"    {name}: {relative[name]:.1e}")
    print(*sorted(changed), sep="\n")
    return equal


def write_leaves(path):
    """Fit all cases with the installed source, and write their leaves to a file as JSON."""
    torch.set_num_threads(1)
    found = {f"{case} {dtype}": leaves(golden.results(case, dtype)) for case in golden.CASES for dtype in golden.DTYPES}
    Path(path).write_text(json.dumps(found))


def start(source, path):
    """Start a process that writes the leaves of one version of the source."""
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    check = f"import mvlvm; assert mvlvm.__file__.startswith({str(source)!r}), mvlvm.__file__"
    code = f"{check}; from tests.architecture import compare_bits; compare_bits.write_leaves({str(path)!r})"
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment)


def main():
    """Compare the working tree with a commit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="the commit to compare with")
    parser.add_argument("--differ", nargs="*", default=(), choices=golden.CASES, help="cases that may differ")
    parser.add_argument(
        "--tolerance", type=float, default=0.0, help="the relative difference of numbers that is allowed"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        worktree, files = Path(folder) / "base", [Path(folder) / name for name in ("base.json", "new.json")]
        subprocess.run(
            ["git", "worktree", "add", "--quiet", "--detach", worktree, arguments.base], cwd=ROOT, check=True
        )
        try:
            sources = (worktree / "src", ROOT / "src")
            processes = [start(source, path) for source, path in zip(sources, files, strict=True)]
            if any([process.wait() for process in processes]):
                sys.exit("A version could not fit the cases; its message is above.")
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", worktree], cwd=ROOT, check=True)
        equal = report(*(json.loads(path.read_text()) for path in files), arguments.differ, arguments.tolerance)
    print(
        "All other cases are equal."
        if (arguments.differ or arguments.tolerance) and equal
        else "All cases are equal."
        if equal
        else "Cases differ."
    )
    sys.exit(not equal)


if __name__ == "__main__":
    main()

"""The folder with the real data, where there is one."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("MVLVM_DATA") or "no data")


def need(*files):
    """Skip a test where these files are not in the folder that MVLVM_DATA names."""
    missing = [file for file in files if not (FOLDER / file).is_file()]
    return pytest.mark.skipif(bool(missing), reason=f"MVLVM_DATA names no folder with {', '.join(missing)}")

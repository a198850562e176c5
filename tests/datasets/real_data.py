"""The folder of real data files, if available."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("MVLVM_DATA") or "no data")


def need(*files):
    """Return a mark that skips a test if one of these files is not in the folder $MVLVM_DATA."""
    missing = [file for file in files if not (FOLDER / file).is_file()]
    return pytest.mark.skipif(bool(missing), reason=f"$MVLVM_DATA does not contain {', '.join(missing)}")

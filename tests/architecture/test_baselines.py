"""Baselines share code through common modules, not by copies."""

from itertools import combinations
from pathlib import Path

import mvlvm.baselines

LONGEST_COMMON_BLOCK = 10
FILES = sorted(Path(mvlvm.baselines.__file__).parent.rglob("*.py"))


def lines_of(path):
    return [line.strip() for line in path.read_text().splitlines() if line.strip()]


def blocks(lines):
    n = LONGEST_COMMON_BLOCK + 1
    return {tuple(lines[first : first + n]) for first in range(len(lines) - n + 1)}


def test_no_two_files_share_long_block():
    found = {path: blocks(lines_of(path)) for path in FILES}
    shared = [f"{one} and {other}" for one, other in combinations(found, 2) if found[one] & found[other]]
    assert not shared


def test_copied_block_is_detected():
    copied = [f"line {i}" for i in range(11)]
    assert blocks([*copied, "end"]) & blocks(["start", *copied])
    assert not blocks([*copied[:10], "end"]) & blocks(["start", *copied[:10]])

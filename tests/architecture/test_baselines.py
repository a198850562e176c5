"""Baselines share code through common modules, not through copies."""

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


def test_no_two_files_share_a_long_block():
    blocks_of = {path: blocks(lines_of(path)) for path in FILES}
    shared = [f"{one} and {other}" for one, other in combinations(blocks_of, 2) if blocks_of[one] & blocks_of[other]]
    assert not shared


def test_a_copied_block_is_detected():
    copied = [f"line {i}" for i in range(11)]
    assert blocks([*copied, "end"]) & blocks(["start", *copied])
    assert not blocks([*copied[:10], "end"]) & blocks(["start", *copied[:10]])

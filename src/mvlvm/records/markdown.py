"""Tables and paragraphs of pages that are written by programs."""

import textwrap
from collections.abc import Sequence

_WIDTH = 120


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Give a table; the first row is its head."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def filled(text: str) -> str:
    """Break the lines of every paragraph anew."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    return "\n\n".join(textwrap.fill(paragraph, _WIDTH, break_on_hyphens=False) for paragraph in paragraphs)


def duration(seconds: float | int) -> str:
    """Give seconds as people read them.

    Example:
        >>> [duration(s) for s in (0.00042, 0.0341, 0.3, 3.21, 4210)]
        ['0.42 ms', '34.1 ms', '300 ms', '3.21 s', '4,210 s']
    """
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def size(n_bytes: float | int) -> str:
    """Give bytes as people read them.

    Example:
        >>> [size(b) for b in (3_200_000, 1_240_000_000)]
        ['3.2 MB', '1.24 GB']
    """
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"

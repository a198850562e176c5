"""Names in messages: enough of them to recognise what is meant."""

from typing import Any

_MOST = 5


def listed(names: Any) -> str:
    """Write the first few of some names, in quotes.

    Args:
        names: a list or an index of them.

    Example:
        >>> listed(["a", "b"]), listed(list("abcdefg"))
        ("'a', 'b'", "'a', 'b', 'c', 'd', 'e', ...")
    """
    return ", ".join(f"'{name}'" for name in names[:_MOST]) + (", ..." if len(names) > _MOST else "")

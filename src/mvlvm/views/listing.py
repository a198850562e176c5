"""Names in messages: enough of them to recognise what is meant."""

from typing import Any

_MOST = 5


def listed(names: Any) -> str:
    """Write the first few of some names, text in quotes.

    Args:
        names: a list or an index of them.

    Example:
        >>> listed(["a", "b"]), listed(list("abcdefg"))
        ("'a', 'b'", "'a', 'b', 'c', 'd', 'e', ...")
    """
    shown = (f"'{name}'" if isinstance(name, str) else str(name) for name in names[:_MOST])
    return ", ".join(shown) + (", ..." if len(names) > _MOST else "")

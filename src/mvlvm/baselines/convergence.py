"""What users are told of a fit that ended before it was done."""

import warnings

from mvlvm.errors import ConvergenceWarning

# What lies between a user's line and the warning: fit, _learn, and what they call.
_FRAMES = 5
_MORE_STEPS = "Raise max_iter, or ignore this if that many are what you want."


def warn_unfinished(method: str, happened: str, advice: str = _MORE_STEPS) -> None:
    """Say that a fit ended too early.

    Args:
        method: its name.
        happened: how it ended, in words that follow the name.
        advice: what to do.
    """
    warnings.warn(
        f"{method} {happened}. What was learned by then is kept. {advice}", ConvergenceWarning, stacklevel=_FRAMES
    )

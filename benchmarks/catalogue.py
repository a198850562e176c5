"""The catalogue of all studies."""

from collections.abc import Sequence
from difflib import get_close_matches

from benchmarks.paper.channel import CHANNEL
from benchmarks.paper.classification_tables import CHALLENGING, LATENTS, MULTI_VIEW, SINGLE_VIEW
from benchmarks.paper.held_out import HELD_OUT
from benchmarks.paper.missing_pixels import MISSING
from benchmarks.paper.reconstruction import RECONSTRUCTION, ROTATED
from benchmarks.paper.s_curve import TOY
from benchmarks.paper.sensitivity import HEAT_MAPS, VIEWS
from benchmarks.paper.theorem_four import THEOREM_FOUR
from benchmarks.quality.cross_view_page import CROSS_VIEW
from benchmarks.quality.likelihoods_page import LIKELIHOODS
from benchmarks.quality.maps import MAPS
from benchmarks.quality.numerical_accuracy import NUMERICAL_ACCURACY
from benchmarks.quality.prediction_page import PREDICTION
from benchmarks.quality.schedules import SCHEDULES
from benchmarks.quality.single_view_baselines import BASELINES
from benchmarks.quality.spectral_points import SPECTRAL_POINTS
from benchmarks.quality.variants import VARIANTS
from benchmarks.speed.speed_page import SPEED
from benchmarks.speed.wall_time import WALL_TIME
from benchmarks.study import Study

_ALL = (
    TOY, MULTI_VIEW, CHANNEL, SINGLE_VIEW, HEAT_MAPS, VIEWS, ROTATED, CHALLENGING, RECONSTRUCTION, LATENTS, MISSING,
    THEOREM_FOUR, HELD_OUT, SPEED, WALL_TIME, CROSS_VIEW, PREDICTION, LIKELIHOODS, BASELINES, VARIANTS, SCHEDULES,
    SPECTRAL_POINTS, MAPS, NUMERICAL_ACCURACY,
)  # fmt: skip
STUDIES = {study.name: study for study in _ALL}
# Groups that can be run by name.
GROUPS = ("paper", "speed", "quality")
# The tables and figures of the paper (`python -m benchmarks reproduce`); wall time is also one of its figures.
PAPER_EXPERIMENTS = {study.name: study for study in _ALL if study.group == "paper" or study is WALL_TIME}
SPEED_STUDIES = {study.name: study for study in (SPEED, WALL_TIME)}


def get_study(name: str) -> Study:
    """Return the study with the given name.

    Raises:
        ValueError: no study has this name.
    """
    check_names("study", [name], list(STUDIES))
    return STUDIES[name]


def check_names(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    """Raise an error that suggests the closest name if one of the given names is unknown.

    Args:
        what: what the names are, such as "study" or "method".
        given: names to check.
        known: valid names.

    Raises:
        ValueError: a name is unknown.
    """
    for name in given:
        if name not in known:
            lower = {other.lower(): other for other in known}
            close = get_close_matches(name.lower(), list(lower), n=1, cutoff=0.5)
            hint = f" Did you mean {lower[close[0]]!r}?" if close else ""
            raise ValueError(f"There is no {what} {name!r}.{hint} Known: {', '.join(known)}.")

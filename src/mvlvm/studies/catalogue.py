"""The catalogue of all studies."""

from collections.abc import Sequence
from difflib import get_close_matches

from mvlvm.studies.paper.channel import CHANNEL
from mvlvm.studies.paper.classification_tables import CHALLENGING, LATENTS, MULTI_VIEW, SINGLE_VIEW
from mvlvm.studies.paper.held_out import HELD_OUT
from mvlvm.studies.paper.missing_pixels import MISSING
from mvlvm.studies.paper.reconstruction import RECONSTRUCTION, ROTATED
from mvlvm.studies.paper.s_curve import TOY
from mvlvm.studies.paper.sensitivity import HEAT_MAPS, VIEWS
from mvlvm.studies.paper.theorem_four import THEOREM_FOUR
from mvlvm.studies.quality.cross_view_page import CROSS_VIEW
from mvlvm.studies.quality.likelihoods_page import LIKELIHOODS
from mvlvm.studies.quality.numerical_accuracy import NUMERICAL_ACCURACY
from mvlvm.studies.quality.schedules import SCHEDULES
from mvlvm.studies.quality.single_view_baselines import BASELINES
from mvlvm.studies.quality.variants import VARIANTS
from mvlvm.studies.speed.speed_page import SPEED
from mvlvm.studies.speed.wall_time import WALL_TIME
from mvlvm.studies.study import Study

_ALL = (
    TOY, MULTI_VIEW, CHANNEL, SINGLE_VIEW, HEAT_MAPS, VIEWS, ROTATED, CHALLENGING, RECONSTRUCTION, LATENTS, MISSING,
    THEOREM_FOUR, HELD_OUT, SPEED, WALL_TIME, CROSS_VIEW, LIKELIHOODS, BASELINES, VARIANTS, SCHEDULES,
    NUMERICAL_ACCURACY,
)  # fmt: skip
STUDIES = {study.name: study for study in _ALL}
# Groups that can be run by name; the studies of speed are run one by one.
GROUPS = ("paper", "quality")
# The tables and figures of the paper (`mvlvm reproduce`); wall time is also one of its figures.
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

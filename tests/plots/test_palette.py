from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from mvlvm import baselines
from mvlvm.plots import method_looks
from mvlvm.plots.palette import OURS_COLOUR

ONE_VIEW = ["NG-MVLVM", *(entry.name for entry in baselines.list() if not entry.several_views)]
SEVERAL_VIEWS = ["NG-MVLVM", *(entry.name for entry in baselines.list() if entry.several_views)]
STRANGERS = [f"method {k}" for k in range(15)]


def lab(colour):
    """A colour in CIE L*a*b*, in which a distance of 2.3 can just be seen."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ linear / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), xyz * 24389 / 27 / 116 + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("methods", [ONE_VIEW, SEVERAL_VIEWS, STRANGERS], ids=["one", "several", "strangers"])
def test_colours_of_methods_in_one_table_can_be_told_apart(methods):
    colours = [look.colour for look in method_looks(methods).values()]
    nearest = min(np.linalg.norm(lab(one) - lab(other)) for one, other in combinations(colours, 2))
    assert nearest > 10 * 2.3


def test_no_two_methods_look_the_same_without_colour_or_beside_their_namesakes_of_one_view():
    looks = method_looks([*ONE_VIEW, *SEVERAL_VIEWS[1:]])
    assert len({(look.colour, look.marker) for look in looks.values()}) == len(looks)
    assert len({(look.colour, look.hatch) for look in looks.values()}) == len(looks)


def test_forty_eight_names_nobody_knows_look_different():
    looks = method_looks([f"method {k}" for k in range(48)])
    assert len(set(looks.values())) == 48


@pytest.mark.parametrize("method", [*ONE_VIEW, *SEVERAL_VIEWS])
def test_a_method_looks_the_same_in_every_company(method):
    alone = method_looks([method])[method]
    in_company = method_looks([*STRANGERS, *reversed(SEVERAL_VIEWS), *ONE_VIEW])[method]
    assert (in_company.colour, in_company.marker) == (alone.colour, alone.marker)


def test_lines_and_bars_are_plain_unless_they_have_to_tell_one_colour_from_itself():
    alone, together = method_looks(["RFLVM", "PCA"]), method_looks(["RFLVM", "MV-RFLVM", "PCA"])
    assert {(look.line, look.hatch) for look in alone.values()} == {("-", "")}
    assert together["PCA"] == alone["PCA"]
    assert together["RFLVM"].colour == together["MV-RFLVM"].colour
    assert together["RFLVM"].line != together["MV-RFLVM"].line
    assert together["RFLVM"].hatch != together["MV-RFLVM"].hatch


def test_the_order_of_names_changes_nothing_but_the_order():
    forwards, backwards = method_looks([*STRANGERS, "PCA"]), method_looks(["PCA", *reversed(STRANGERS)])
    assert forwards == backwards
    assert next(iter(backwards)) == "PCA"


def test_ours_has_a_colour_of_its_own_and_stands_out():
    names = ["NG-MVLVM", "ours", "NG-MVLVM, Q = 5", *STRANGERS, *ONE_VIEW[1:]]
    looks = method_looks(names)
    ours, others = [looks[name] for name in names[:3]], [looks[name] for name in names[3:]]
    assert {look.colour for look in ours} == {OURS_COLOUR}
    assert len(set(ours)) == 3
    assert OURS_COLOUR not in {look.colour for look in others}
    assert max(look.width for look in others) < min(look.width for look in ours)
    assert max(look.layer for look in others) < min(look.layer for look in ours)


@pytest.mark.parametrize("spelling", ["MV-ARFLVM", "MVARFLVM", "mv_arflvm"])
def test_a_method_is_known_however_it_is_spelt_and_its_variants_have_its_colour(spelling):
    looks = method_looks([spelling, f"{spelling}, 200 steps", f"{spelling} (float32)"])
    assert {look.colour for look in looks.values()} == {method_looks(["MV-ARFLVM"])["MV-ARFLVM"].colour}
    assert len({look.marker for look in looks.values()}) == 3


def test_dashes_are_left_to_references():
    assert "--" not in {look.line for look in method_looks([*ONE_VIEW, *SEVERAL_VIEWS, *STRANGERS]).values()}

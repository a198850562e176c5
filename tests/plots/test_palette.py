from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from mvlvm import baselines
from mvlvm.plots import method_looks
from mvlvm.plots.palette import OURS_COLOUR

ONE_VIEW = ["NG-MVLVM", *(entry.name for entry in baselines.list() if not entry.several_views)]
SEVERAL_VIEWS = ["NG-MVLVM", *(entry.name for entry in baselines.list() if entry.several_views)]
UNKNOWN = [f"method {k}" for k in range(15)]


def lab(colour):
    """Return a colour in CIE L*a*b*, where a distance of 2.3 is just noticeable."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ linear / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), xyz * 24389 / 27 / 116 + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("methods", [ONE_VIEW, SEVERAL_VIEWS, UNKNOWN], ids=["one", "several", "unknown"])
def test_colours_of_methods_in_one_table_are_distinguishable(methods):
    colours = [style.colour for style in method_looks(methods).values()]
    nearest = min(np.linalg.norm(lab(one) - lab(other)) for one, other in combinations(colours, 2))
    assert nearest > 10 * 2.3


def test_single_view_and_multi_view_methods_have_distinct_markers_and_hatches_per_colour():
    styles = method_looks([*ONE_VIEW, *SEVERAL_VIEWS[1:]])
    assert len({(style.colour, style.marker) for style in styles.values()}) == len(styles)
    assert len({(style.colour, style.hatch) for style in styles.values()}) == len(styles)


def test_forty_eight_unknown_names_have_distinct_styles():
    styles = method_looks([f"method {k}" for k in range(48)])
    assert len(set(styles.values())) == 48


@pytest.mark.parametrize("method", [*ONE_VIEW, *SEVERAL_VIEWS])
def test_colour_and_marker_of_a_method_do_not_depend_on_the_other_methods(method):
    alone = method_looks([method])[method]
    combined = method_looks([*UNKNOWN, *reversed(SEVERAL_VIEWS), *ONE_VIEW])[method]
    assert (combined.colour, combined.marker) == (alone.colour, alone.marker)


def test_lines_are_solid_and_bars_plain_unless_two_methods_share_a_colour():
    alone, together = method_looks(["RFLVM", "PCA"]), method_looks(["RFLVM", "MV-RFLVM", "PCA"])
    assert {(style.line, style.hatch) for style in alone.values()} == {("-", "")}
    assert together["PCA"] == alone["PCA"]
    assert together["RFLVM"].colour == together["MV-RFLVM"].colour
    assert together["RFLVM"].line != together["MV-RFLVM"].line
    assert together["RFLVM"].hatch != together["MV-RFLVM"].hatch


def test_styles_do_not_depend_on_the_order_of_names():
    forwards, backwards = method_looks([*UNKNOWN, "PCA"]), method_looks(["PCA", *reversed(UNKNOWN)])
    assert forwards == backwards
    assert next(iter(backwards)) == "PCA"


def test_ours_has_a_unique_colour_wider_lines_and_the_top_layer():
    names = ["NG-MVLVM", "ours", "NG-MVLVM, Q = 5", *UNKNOWN, *ONE_VIEW[1:]]
    styles = method_looks(names)
    ours, others = [styles[name] for name in names[:3]], [styles[name] for name in names[3:]]
    assert {style.colour for style in ours} == {OURS_COLOUR}
    assert len(set(ours)) == 3
    assert OURS_COLOUR not in {style.colour for style in others}
    assert max(style.width for style in others) < min(style.width for style in ours)
    assert max(style.layer for style in others) < min(style.layer for style in ours)


@pytest.mark.parametrize("spelling", ["MV-ARFLVM", "MVARFLVM", "mv_arflvm"])
def test_spelling_variants_are_recognised_and_variants_of_a_method_share_its_colour(spelling):
    styles = method_looks([spelling, f"{spelling}, 200 steps", f"{spelling} (float32)"])
    assert {style.colour for style in styles.values()} == {method_looks(["MV-ARFLVM"])["MV-ARFLVM"].colour}
    assert len({style.marker for style in styles.values()}) == 3


def test_dashed_lines_are_reserved_for_references():
    assert "--" not in {style.line for style in method_looks([*ONE_VIEW, *SEVERAL_VIEWS, *UNKNOWN]).values()}

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex

from mvlvm import plots
from mvlvm.errors import ViewError
from tests.plots.figure_checks import assert_readable, drawn
from tests.plots.test_curves import METHODS

GROUPS = ["BRIDGES", "R-CIFAR", "R-MNIST", "20 NEWSGROUPS, short texts", "YALE faces", "BRENDAN", "CIFAR"]


def bars_of(panel):
    return {bars.get_label(): list(bars) for bars in panel.containers if bars.get_label() in METHODS}


def test_bar_heights_are_means_and_error_bars_are_standard_deviations():
    figure = plots.plot_bars({"PCA": {"a": (3, 0.5), "b": 2}, "MOFA": {"a": (-1.0, 0.0)}}, y="R²", x="data set")
    (panel,) = drawn(figure)
    heights = {name: [bar.get_height() for bar in bars] for name, bars in bars_of(panel).items()}
    assert heights == {"PCA": [3, 2], "MOFA": [-1]}
    segments = [segment.tolist() for lines in panel.collections for segment in lines.get_segments()]
    ((bottom, top),) = segments
    assert (bottom[1], top[1]) == (2.5, 3.5)
    assert bottom[0] == bars_of(panel)["PCA"][0].get_center()[0]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("data set", "R²")
    assert panel.get_ylim()[0] < -1


def test_bars_are_centred_at_the_tick_of_their_group_and_do_not_overlap():
    values = {method: {group: 1.0 + k for group in GROUPS[:3]} for k, method in enumerate(METHODS[:4])}
    (panel,) = drawn(plots.plot_bars(values, y="%"))
    for group, (tick, label) in enumerate(zip(panel.get_xticks(), panel.get_xticklabels(), strict=True)):
        middles = [bars[group].get_center()[0] for bars in bars_of(panel).values()]
        assert np.mean(middles) == pytest.approx(tick)
        assert label.get_text() == GROUPS[group]
    spans = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bars in bars_of(panel).values() for bar in bars)
    assert all(right <= left for (_, right), (left, _) in pairwise(spans))


def test_a_missing_group_of_a_method_has_no_bar_and_keeps_its_position():
    values = {"PCA": {"b": 1.0, "c": np.nan}, "MOFA": {"a": 1.0, "b": 1.0}, "GFA": {"b": 1.0, "c": 1.0}}
    (panel,) = drawn(plots.plot_bars(values, y="%"))
    assert [label.get_text() for label in panel.get_xticklabels()] == ["a", "b", "c"]
    ticks = panel.get_xticks()
    nearest = {
        name: [int(np.argmin(np.abs(ticks - bar.get_center()[0]))) for bar in bars if np.isfinite(bar.get_height())]
        for name, bars in bars_of(panel).items()
    }
    assert nearest == {"PCA": [1], "MOFA": [0, 1], "GFA": [1, 2]}


def test_groups_with_contradictory_orders_keep_the_order_of_first_occurrence():
    (panel,) = drawn(plots.plot_bars({"PCA": {"a": 1.0, "b": 1.0}, "MOFA": {"b": 1.0, "a": 1.0}}, y="%"))
    assert [label.get_text() for label in panel.get_xticklabels()] == ["a", "b"]


def test_published_values_are_marked_at_their_bar_and_appear_in_the_legend():
    values = {"PCA": {"a": 3.0}, "MOFA": {"a": 2.0, "b": 1.0}}
    figure = plots.plot_bars(values, y="%", paper={"MOFA": {"a": 9, "b": np.nan, "c": 4}})
    (panel,) = drawn(figure)
    (marks,) = [line for line in panel.get_lines() if line.get_marker() == "D"]
    assert marks.get_xydata().tolist() == [[bars_of(panel)["MOFA"][0].get_center()[0], 9.0]]
    assert panel.get_ylim()[1] > 9
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["PCA", "MOFA", "paper"]


def test_fifteen_methods_on_seven_data_sets_are_readable_and_share_limits():
    values = {m: {g: (90.0 - 5 * k, 2.0) for g in GROUPS[k % 2 :]} for k, m in enumerate(METHODS)}
    figure = plots.plot_bars(values, y="1-NN accuracy (%)", paper={"PCA": {"CIFAR": 50.0}}, title="Table 2 " * 12)
    assert_readable(figure)
    panels = drawn(figure)
    assert len({panel.get_ylim() for panel in panels}) == 1
    assert [label.get_text().replace("\n", " ") for panel in panels for label in panel.get_xticklabels()] == GROUPS
    narrowest = min(bar.get_window_extent().width for bars in bars_of(panels[0]).values() for bar in bars)
    assert narrowest > 0.07 * figure.dpi
    legend = figure.legends[0]
    styles = plots.method_looks(METHODS)
    assert [to_hex(patch.get_facecolor()) for patch in legend.legend_handles[:15]] == [
        style.colour for style in styles.values()
    ]


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize(
    ("values", "paper", "message"),
    [
        ({}, None, "no value was given"),
        ({"a": {"b": np.nan}}, None, "no value was given"),
        (
            {"a": {"b": (1.0, 2.0, 3.0)}},
            None,
            r"'a' for 'b' must be a mean, or \(mean, std\). Got \(1.0, 2.0, 3",
        ),
        ({"a": {"b": "high"}}, None, "value of 'a' for 'b' must be a mean.*Got 'high'"),
        ({"a": {"b": (1.0, -2.0)}}, None, "non-negative standard deviation. Got 1 and -2"),
        ({"a": {"b": np.inf}}, None, "must be finite"),
        ({"a": {"b": 1.0}}, {"c": {"b": 1.0}}, "paper must name methods in values. Got 'c'; the methods are: a"),
    ],
    ids=str,
)
def test_invalid_tables_raise_an_informative_error(values, paper, message):
    with pytest.raises(ViewError, match=message):
        plots.plot_bars(values, y="%", paper=paper)

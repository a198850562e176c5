"""Checks of the legibility of a figure."""

from matplotlib.backends.backend_agg import FigureCanvasAgg

from mvlvm.plots.style import DPI


def drawn(figure, dpi=DPI):
    """Draw a figure; return its panels without the colour bars."""
    figure.set_dpi(dpi)
    FigureCanvasAgg(figure).draw()
    return [panel for panel in figure.axes if panel.get_label() != "<colorbar>"]


def assert_nothing_is_cut_off(figure):
    """Assert that all panels, their labels and legends lie inside the figure."""
    parts = [*(panel.get_tightbbox() for panel in figure.axes), *(one.get_window_extent() for one in figure.legends)]
    for box in parts:
        assert figure.bbox.x0 - 1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1
        assert figure.bbox.y0 - 1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1


def assert_legends_do_not_overlap_panels(figure):
    """Assert that no legend overlaps a panel or its labels."""
    for legend in figure.legends:
        assert not any(legend.get_window_extent().overlaps(panel.get_tightbbox()) for panel in figure.axes)


def assert_no_overlap(texts):
    """Assert that no two visible texts overlap."""
    boxes = [text.get_window_extent() for text in texts if text.get_text() and text.get_visible()]
    assert boxes
    assert not any(box.overlaps(other) for k, box in enumerate(boxes) for other in boxes[:k])


def assert_readable(figure):
    """Assert that nothing is cut off and that neither legends nor tick labels overlap."""
    drawn(figure)
    assert_nothing_is_cut_off(figure)
    assert_legends_do_not_overlap_panels(figure)
    for panel in figure.axes:
        for axis in (panel.xaxis, panel.yaxis):
            labels = [label for label in axis.get_ticklabels() if label.get_text()]
            if labels:
                assert_no_overlap(labels)

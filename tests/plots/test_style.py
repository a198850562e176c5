import numpy as np
import pytest
from matplotlib.figure import Figure

from mvlvm.plots.style import plain_log_ticks, plain_number


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "0"), (0.03, "0.03"), (0.001, "0.001"), (2.0, "2"), (300000.0, "300,000"), (1e6, "$10^{6}$"),
     (1e-5, "$10^{-5}$"), (3e-7, r"$3\times10^{-7}$"), (2.5e8, r"$2.5\times10^{8}$"), (-0.5, "-0.5")],
)  # fmt: skip
def test_numbers_are_written_plainly_or_with_a_power_of_ten(value, written):
    assert plain_number(value) == written


@pytest.mark.parametrize(
    ("low", "high"), [(1e-12, 1e9), (1e-3, 1e5), (0.5, 2000.0), (0.011, 0.074), (1.2, 1.4), (1.2, 2.8)]
)
def test_logarithmic_axes_of_any_length_have_three_to_twelve_ticks(low, high):
    panel = Figure().subplots()
    panel.set(xscale="log", xlim=(low, high))
    plain_log_ticks(panel.xaxis)
    ticks = np.asarray(panel.get_xticks())
    assert 3 <= ((ticks >= low) & (ticks <= high)).sum() <= 12

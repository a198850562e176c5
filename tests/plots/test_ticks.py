import pytest

from mvlvm.plots.ticks import plain_number


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.0, "0"), (0.03, "0.03"), (0.001, "0.001"), (2.0, "2"), (300000.0, "300,000"), (1e6, "$10^{6}$"),
     (1e-5, "$10^{-5}$"), (3e-7, r"$3\times10^{-7}$"), (2.5e8, r"$2.5\times10^{8}$"), (-0.5, "-0.5")],
)  # fmt: skip
def test_numbers_are_written_as_people_write_them(value, written):
    assert plain_number(value) == written

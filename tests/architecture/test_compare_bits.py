import numpy as np
import pytest

from tests.architecture.compare_bits import differences, largest_difference, leaves, report


def results(value=1.0, **header):
    arrays = {"latent": np.array([value, 2.0]), "counts": [np.arange(3), np.arange(2)]}
    return {"arrays": arrays, "predict": (np.float32([[value]]), None), "header": {"seed": 3, **header}}


def next_number(value):
    return float(np.nextafter(value, np.inf))


def test_equal_results_do_not_differ():
    assert differences(leaves(results()), leaves(results())) == ([], [], [])


def test_a_change_of_one_bit_is_found_where_it_is():
    changed = results()
    changed["arrays"]["latent"][0] = next_number(1.0)
    assert differences(leaves(results()), leaves(changed)) == (["/arrays/latent"], [], [])


@pytest.mark.parametrize(
    ("before", "after"), [(1.0, next_number(1.0)), (1.0, np.float32(1.0)), (0.0, -0.0), ([1, 2], [2, 1]), (None, 0)]
)
def test_values_of_the_header_are_compared_bit_for_bit(before, after):
    base, new = leaves({"x": before}), leaves({"x": after})
    assert differences(base, new)[0] == ["/x"]


def test_added_and_removed_names_are_no_difference():
    assert differences(leaves(results(old=1)), leaves(results(new=1))) == ([], ["/header/new"], ["/header/old"])


def test_the_report_names_what_differs(capsys):
    base, new = {"complete auto": leaves(results())}, {"complete auto": leaves(results(2.0, added=1))}
    assert not report(base, new)
    printed = capsys.readouterr().out
    assert "DIFFERS" in printed
    assert "/arrays/latent" in printed
    assert "added: /header/added" in printed
    assert report(base, new, expected=["complete"])
    assert report(base, base)


def test_numbers_may_differ_by_a_tolerance(capsys):
    base, new = ({"complete auto": leaves(results(value))} for value in (1.0, 1.0 + 2e-6))
    assert largest_difference(base["complete auto"]["/arrays/latent"], new["complete auto"]["/arrays/latent"]) == (
        pytest.approx(1e-6, rel=1e-6)
    )
    assert report(base, new, tolerance=1e-5)
    assert not report(base, new, tolerance=1e-7)
    assert "/arrays/latent: 1.0e-06" in capsys.readouterr().out


@pytest.mark.parametrize(("before", "after"), [([1.0, 2.0], [1.0]), ([1.0, np.nan], [1.0, 2.0]), ("a", "b"), (None, 0)])
def test_no_tolerance_covers_other_shapes_missing_numbers_or_text(before, after):
    def leaf(value):
        return leaves({"x": np.asarray(value) if isinstance(value, list) else value})

    assert not report({"case auto": leaf(before)}, {"case auto": leaf(after)}, tolerance=1e3)

"""Coverage, log density and reliability compared with SciPy, in every input form, and rejection of mismatched input."""

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from mvlvm.errors import ViewError
from mvlvm.evaluation import coverage, log_density, reliability

NAN = np.nan
N, M = 400, 25


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def predicted(rng):
    """Return truth drawn from predictive distributions with varying means and standard deviations, and these."""
    mean, std = rng.normal(size=(N, M)), np.exp(rng.normal(size=(N, M)))
    return mean + std * rng.normal(size=(N, M)), mean, std


@pytest.mark.parametrize("level", [0.01, 0.5, 0.8, 0.95, 0.999])
def test_coverage_matches_scipys_intervals(predicted, level):
    truth, mean, std = predicted
    low, high = norm.interval(level, loc=mean, scale=std)
    assert coverage(truth, mean, std, level=level) == ((low <= truth) & (truth <= high)).mean()


def test_log_density_matches_scipy(predicted):
    truth, mean, std = predicted
    assert log_density(truth, mean, std) == pytest.approx(norm.logpdf(truth, mean, std).mean(), rel=1e-12)


def test_log_density_is_finite_if_the_density_underflows():
    assert log_density(np.array([[1e3]]), np.zeros((1, 1)), np.ones((1, 1))) == norm.logpdf(1e3)


@pytest.mark.parametrize(("truth", "std"), [(1.0, 1e-200), (1e300, 1e-200), (1e10, 5e-324)])
def test_overflowing_residual_has_zero_density_without_a_warning(truth, std):
    given = np.array([[truth, 0.0]]), np.zeros((1, 2)), np.array([[std, 1.0]])
    assert log_density(*given) == -np.inf
    assert coverage(*given) == 0.5


def test_entirely_missing_views_are_excluded(predicted):
    given = [[None, part] for part in predicted]
    assert coverage(*given) == coverage(*predicted)
    with pytest.raises(ViewError, match="Got 'view0', 'view1' in truth and 'view1' in mean"):
        coverage([predicted[0], predicted[0]], *given[1:])
    with pytest.raises(ViewError, match="'view0 of truth' must be a matrix. Got NoneType"):
        coverage(None, ONES, ONES)


def test_labels_converted_to_text_match():
    truth = pd.DataFrame(ONES, columns=pd.date_range("2020", periods=3))
    saved = truth.set_axis([str(day) for day in truth.columns], axis=1)
    assert coverage(truth, saved, saved) == 1


def test_reliability_unpacks_into_expected_and_observed(predicted):
    curve = reliability(*predicted)
    expected, observed = curve
    assert expected is curve.expected
    assert observed is curve.observed


def test_reliability_is_the_coverage_at_every_level(predicted):
    curve = reliability(*predicted)
    np.testing.assert_allclose(curve.expected, [*np.arange(0.05, 0.96, 0.05), 0.99])
    assert curve.observed.tolist() == [coverage(*predicted, level=level) for level in curve.expected]
    assert curve.error == pytest.approx(sum(abs(curve.observed - curve.expected)) / 20)
    assert (curve.n_entries, curve.n_left_out) == (N * M, 0)


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_observed_coverage_matches_the_true_distribution(predicted, factor):
    truth, mean, std = predicted
    curve = reliability(truth, mean, factor * std)
    # |y - m| <= factor * s * q  with y - m ~ N(0, s^2)
    inside = 2 * norm.cdf(factor * norm.ppf((1 + curve.expected) / 2)) - 1
    standard_errors = np.sqrt(inside * (1 - inside) / (N * M))
    assert (np.abs(curve.observed - inside) < 4 * standard_errors).all()
    if factor != 1:
        assert (np.sign(curve.observed - curve.expected) == np.sign(factor - 1)).all()


def test_calibrated_predictions_have_the_smallest_error_and_highest_density(predicted):
    truth, mean, std = predicted
    errors, densities = zip(
        *[(reliability(truth, mean, f * std).error, log_density(truth, mean, f * std)) for f in (0.5, 1, 2)],
        strict=True,
    )
    assert np.argmin(errors) == np.argmax(densities) == 1


def test_levels_keep_their_order(predicted):
    curve = reliability(*predicted, levels=np.array([0.9, 0.1]))
    assert curve.expected.tolist() == [0.9, 0.1]
    assert curve.observed.tolist() == [coverage(*predicted, level=0.9), coverage(*predicted, level=0.1)]


def test_entries_without_truth_or_distribution_are_excluded(predicted, rng):
    truth, mean, std = (part.copy() for part in predicted)
    unknown = rng.random((N, M)) < 0.3
    truth[unknown] = NAN
    mean[:, 0] = std[:, 0] = NAN  # never observed in training
    mean[:, 1], std[:, 1] = 7, 0  # constant in training
    std[:, 2] = NAN
    kept = ~unknown
    kept[:, :3] = False
    rest = [part[kept][:, None] for part in predicted]
    curve = reliability(truth, mean, std)
    assert curve.n_entries == kept.sum()
    assert curve.n_left_out == (~unknown[:, :3]).sum()
    np.testing.assert_array_equal(curve.observed, reliability(*rest).observed)
    assert coverage(truth, mean, std) == coverage(*rest)
    assert log_density(truth, mean, std) == pytest.approx(log_density(*rest), rel=1e-12)


def as_form(part, form):
    a, b = part[:, :3], part[:, 3:]
    rows = [f"row {i}" for i in range(N)]
    forms = {
        "one array": lambda: part,
        "dict": lambda: {"a": a, "b": b},
        "dict of tables": lambda: {"a": pd.DataFrame(a, index=rows), "b": pd.DataFrame(b, index=rows)},
        "list": lambda: [a, b],
        "table": lambda: pd.DataFrame(part),
        "table with pandas' missing values": lambda: pd.DataFrame(part).convert_dtypes(),
        "masked": lambda: np.ma.masked_invalid(part),
        "AnnData": lambda: anndata.AnnData(part, obs=pd.DataFrame(index=rows)),
    }
    return forms[form]()


FORMS = ["dict", "dict of tables", "list", "table", "table with pandas' missing values", "masked", "AnnData"]


@pytest.mark.parametrize("form", FORMS)
def test_all_input_forms_give_the_same_result(predicted, form):
    truth, mean, std = (part.copy() for part in predicted)
    truth[::3, 1:5] = NAN
    given = [as_form(part, form) for part in (truth, mean, std)]
    assert coverage(*given) == coverage(truth, mean, std)
    assert log_density(*given) == pytest.approx(log_density(truth, mean, std), rel=1e-12)
    assert reliability(*given).n_entries == np.isfinite(truth).sum()


def test_views_are_matched_by_name_and_tables_mix_with_arrays(predicted):
    truth, mean, std = predicted
    reordered = {"b": mean[:, 3:], "a": mean[:, :3]}
    mixed = {"a": pd.DataFrame(std[:, :3]), "b": std[:, 3:]}
    assert coverage(as_form(truth, "dict"), reordered, mixed) == coverage(truth, mean, std)


ONES = np.ones((2, 3))
TABLE = pd.DataFrame(ONES, columns=list("abc"))


@pytest.mark.parametrize("metric", [coverage, log_density, reliability])
@pytest.mark.parametrize(
    ("truth", "mean", "std", "message"),
    [
        (np.ones((3, 2)), ONES, ONES, r"same shape. Got truth: \(3, 2\), mean: \(2, 3\), std: \(2, 3\)"),
        (ONES, ONES, np.ones((2, 1)), r"same shape. .* std: \(2, 1\)"),
        ({"a": ONES}, {"a": ONES}, {"b": ONES}, "same views. Got 'a' in truth and 'b' in std. Use the same view names"),
        (
            {"a": ONES},
            ONES,
            ONES,
            r"Got a single matrix for mean and a dict of views for truth.*truth\['b'\]",
        ),
        (
            ONES,
            ONES,
            [ONES],
            "Got a single matrix for truth and a list of views for std.*a list of views for truth, too",
        ),
        ({"a": ONES}, {"a": ONES, "b": ONES}, {"a": ONES}, "same views. Got 'a' in truth and 'a', 'b' in mean"),
        (ONES, ONES, -ONES, "must not be negative. Got -1 in view 'view0' of std"),
        (ONES * NAN, ONES, ONES, "All entries of truth are NaN"),
        ({}, {}, {}, "All entries of truth are NaN"),
        (ONES, ONES, 0 * ONES, "None of the 6 known entries has a predictive distribution"),
        (ONES, ONES * NAN, ONES, "None of the 6 known entries has a predictive distribution"),
        (ONES * np.inf, ONES, ONES, "of truth has 6 infinite entries"),
        (ONES, ONES, ONES * np.inf, "of std has 6 infinite entries"),
        (ONES[0], ONES[0], ONES[0], "2-dimensional view, got view 'view0 of truth'"),
        (TABLE, TABLE.set_axis([5, 6]), ONES, "labels of view 'view0' differ between mean and truth"),
        (TABLE, ONES, TABLE[["b", "a", "c"]], "labels of view 'view0' differ between std and truth"),
    ],
)
def test_mismatched_input_is_rejected(metric, truth, mean, std, message):
    with pytest.raises(ViewError, match=message):
        metric(truth, mean, std)


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95, NAN, True, "0.9", None])
def test_level_must_be_a_probability(level):
    with pytest.raises(ValueError, match=f"level must be a number above 0 and below 1. Got {level!r}"):
        coverage(ONES, ONES, ONES, level=level)
    with pytest.raises(ValueError, match="levels must be a number above 0 and below 1"):
        reliability(ONES, ONES, ONES, levels=[level])


def test_at_least_one_level_is_required():
    with pytest.raises(ValueError, match="at least one probability"):
        reliability(ONES, ONES, ONES, levels=())

"""Comparison of Monte Carlo means with exact values."""

# Exceeded by chance in one of 16,000 comparisons.
STANDARD_ERRORS = 4.0
# For entries with almost no variance, such as the diagonal of a stationary kernel.
ROUNDING = 1e-12


def assert_mean(samples, expected):
    """Assert that the mean over the first axis is within four standard errors of `expected`."""
    error = samples.std(dim=0) / len(samples) ** 0.5
    worst = ((samples.mean(dim=0) - expected).abs() / (error + ROUNDING)).max()
    assert worst < STANDARD_ERRORS, f"the difference is {float(worst):.2f} standard errors"

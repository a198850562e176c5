"""Comparing a mean of random draws with what it should be."""

# Exceeded by chance once in 16,000 comparisons.
STANDARD_ERRORS = 4.0
# For entries that hardly vary, such as the diagonal of a stationary kernel.
ROUNDING = 1e-12


def assert_mean(samples, expected):
    """Claim that the mean over the first axis is `expected`, to within four of its standard errors."""
    error = samples.std(dim=0) / len(samples) ** 0.5
    worst = ((samples.mean(dim=0) - expected).abs() / (error + ROUNDING)).max()
    assert worst < STANDARD_ERRORS, f"off by {float(worst):.2f} standard errors"

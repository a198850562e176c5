"""Built-in data match their source."""

import numpy as np
from sklearn.datasets import load_digits

from mvlvm.datasets import load


def test_halves_combine_to_the_original_digits():
    data = load("digits-halves")
    joined = np.concatenate([Y.reshape(-1, 8, 4) for Y in data.views.values()], axis=2)
    np.testing.assert_array_equal(joined, load_digits().images)
    np.testing.assert_array_equal(data.labels, load_digits().target)

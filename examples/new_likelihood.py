"""A likelihood of durations, exponentially distributed with mean e^f, as one more value of `likelihood`."""

import numpy as np
import torch

from mvlvm import NGMVLVM
from mvlvm.likelihoods import LIKELIHOODS, AbstractLikelihood, Response, Support
from mvlvm.likelihoods.base import column_means
from mvlvm.likelihoods.expectations import log_integral


class Exponential(AbstractLikelihood):  # log p(y | f) = -f - y e^-f
    name, support, log_link = "exponential", Support.POSITIVE, True
    start = classmethod(lambda cls, Y: cls())  # there are no parameters to estimate from the data

    def offset(self, Y):  # the best constant function
        return column_means(Y).mean.log()

    def respond(self, mean, variance, *, include_noise=True):  # mean and variance of y for f ~ N(mean, variance)
        rate, square = (mean + variance / 2).exp(), (2 * mean + 2 * variance).exp()
        return Response(rate, square - rate**2 + include_noise * square)

    def sample(self, f, generator):
        return torch.empty_like(f).exponential_(generator=generator) * f.exp()

    def _log_density(self, Y, f):
        return -f - Y * (-f).exp()

    def _expected(self, Y, mean, variance):
        return -mean - Y * (variance / 2 - mean).exp()

    def _pairwise(self, Y, observed, mean, variance):
        return -observed @ mean.T - Y @ (variance / 2 - mean).exp().T

    def _log_predictive(self, Y, mean, variance):
        derivatives = lambda f: (Y * (-f).exp() - 1, -Y * (-f).exp())  # noqa: E731
        return log_integral(lambda f: self._log_density(Y, f), derivatives, mean=mean, variance=variance)


LIKELIHOODS["exponential"] = Exponential

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    durations = rng.exponential(np.exp(np.sin(rng.standard_normal((300, 2)) @ rng.standard_normal((2, 12)))))
    est = NGMVLVM(likelihood="exponential", random_state=0).fit(durations)
    print(f"score {est.score(durations):.3f} nats per entry")

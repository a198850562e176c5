"""A small bound for the loop to maximise."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class StubBound:
    value: torch.Tensor

    def parts(self):
        return {"double": 2 * self.value}


class ConcaveBound:
    """A concave bound with its maximum 5 at (3, -1), observed with noise."""

    top = torch.tensor([3.0, -1.0], dtype=torch.float64)
    height = 5.0

    def __init__(self, noise=0.0):
        self.place = nn.Parameter(torch.zeros(2, dtype=torch.float64))
        self.noise = noise

    def __call__(self, generator):
        disturbance = self.noise * torch.randn((), generator=generator, dtype=torch.float64)
        return StubBound(self.height - (self.place - self.top).square().sum() + disturbance)

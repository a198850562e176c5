"""Elementwise NumPy kernels as test oracles, independent of mvlvm."""

import math

import numpy as np


def rbf(X1, X2, variance, lengthscale):
    scaled = [[(x - y) / lengthscale for y in X2] for x in X1]
    return np.array([[variance * math.exp(-0.5 * d @ d) for d in row] for row in scaled])


def gibbs(X1, X2, variance, lengthscale, shrinkage):
    def entry(x, y):
        x, y = x / lengthscale, y / lengthscale
        lx, ly = math.exp(-shrinkage * math.hypot(*x)), math.exp(-shrinkage * math.hypot(*y))
        both = lx**2 + ly**2
        return variance * (2 * lx * ly / both) ** (len(x) / 2) * math.exp(-((x - y) @ (x - y)) / both)

    return np.array([[entry(x, y) for y in X2] for x in X1])


def as_numpy(*tensors):
    return tuple(tensor.detach().numpy() for tensor in tensors)

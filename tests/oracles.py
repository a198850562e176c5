"""Reference implementations: every quantity directly from its definition, in NumPy, without importing mvlvm.

A `density` is any object with the arrays alpha (Q), mu1, mu2, sigma1, sigma2 (Q x D) and rho (Q).
"""

import math

import numpy as np

_HERMITE_NODES = 80


def component_mean_and_covariance(density, q):
    mean = np.concatenate([density.mu1[q], density.mu2[q]])
    sigma1, sigma2 = np.diag(density.sigma1[q]), np.diag(density.sigma2[q])
    cross = density.rho[q] * sigma1 @ sigma2
    return mean, np.block([[sigma1 @ sigma1, cross.T], [cross, sigma2 @ sigma2]])


def normal_log_density(y, mean, covariance):
    residual = y - mean
    _, log_det = np.linalg.slogdet(covariance)
    return -0.5 * (len(y) * math.log(2 * math.pi) + log_det + residual @ np.linalg.solve(covariance, residual))


def mixture_log_density(density, w1, w2):
    total = 0.0
    for q, alpha in enumerate(density.alpha):
        mean, covariance = component_mean_and_covariance(density, q)
        for sign in (1, -1):
            total += alpha / 2 * math.exp(normal_log_density(sign * np.concatenate([w1, w2]), mean, covariance))
    return math.log(total)


def ngsm_by_quadrature(x, y, density):
    """Return the kernel as the expectation of four cosines under a bivariate normal; D = 1, so x and y are numbers."""
    nodes, weights = standard_normal_quadrature()
    z1, z2 = np.meshgrid(nodes, nodes, indexing="ij")
    total = 0.0
    for q, alpha in enumerate(density.alpha):
        rho = density.rho[q]
        w1 = density.mu1[q, 0] + density.sigma1[q, 0] * z1
        w2 = density.mu2[q, 0] + density.sigma2[q, 0] * (rho * z1 + math.sqrt(1 - rho**2) * z2)
        cosines = np.cos(w1 * x - w2 * y) + np.cos(w2 * x - w1 * y) + np.cos(w1 * (x - y)) + np.cos(w2 * (x - y))
        total += alpha / 4 * (weights @ cosines @ weights)
    return total


def ngsm_by_projection(x, y, density):
    """Return the kernel for any D: each of the four phases is normal, and its cosine is averaged by quadrature."""
    nodes, weights = standard_normal_quadrature()
    zero = np.zeros_like(x)
    phases = [np.concatenate(c) for c in ((x, -y), (-y, x), (x - y, zero), (zero, x - y))]
    total = 0.0
    for q, alpha in enumerate(density.alpha):
        mean, covariance = component_mean_and_covariance(density, q)
        for c in phases:
            total += alpha / 4 * weights @ np.cos(c @ mean + math.sqrt(max(c @ covariance @ c, 0)) * nodes)
    return total


def standard_normal_quadrature():
    nodes, weights = np.polynomial.hermite_e.hermegauss(_HERMITE_NODES)
    return nodes, weights / weights.sum()


def ngsm_diagonal(x, density):
    """Return k(x, x) = 1/2 sum_q alpha_q [1 + exp(-x'(S1 + S2 - 2 Sc)x / 2) cos((mu1 - mu2)'x)]."""
    total = 0.0
    for q, alpha in enumerate(density.alpha):
        _, covariance = component_mean_and_covariance(density, q)
        difference = np.concatenate([x, -x])
        spread = math.exp(-0.5 * difference @ covariance @ difference)
        total += alpha / 2 * (1 + spread * math.cos((density.mu1[q] - density.mu2[q]) @ x))
    return total


def rbf(x, y, lengthscale=1.0, variance=1.0):
    return variance * math.exp(-sum((a - b) ** 2 for a, b in zip(x, y, strict=True)) / (2 * lengthscale**2))


def spectral_mixture(x, y, alpha, mu, sigma):
    total = 0.0
    for q in range(len(alpha)):
        damping = math.exp(-0.5 * sum((sigma[q] * (x - y)) ** 2))
        total += alpha[q] * damping * math.cos(sum(mu[q] * (x - y)))
    return total


def gibbs(x, y, lengthscale, power):
    lx, ly = lengthscale(x), lengthscale(y)
    squares = lx**2 + ly**2
    return (2 * lx * ly / squares) ** power * math.exp(-sum((x - y) ** 2) / squares)


def paper_lengthscale(x):
    return math.exp(-0.5 * math.sqrt(sum(x**2)))


def printed_bivariate_sm(x, y, density):
    """Return [eq:kernel_BSM_1] as printed, for any standard deviations and correlations."""
    total = 0.0
    for q, alpha in enumerate(density.alpha):
        _, covariance = component_mean_and_covariance(density, q)
        stacked = np.concatenate([x, -y])
        psi_x, psi_y = (
            np.array([f(density.mu1[q] @ z) + f(density.mu2[q] @ z) for f in (math.cos, math.sin)]) for z in (x, y)
        )
        total += alpha * math.exp(-0.5 * stacked @ covariance @ stacked) * psi_x @ psi_y
    return total


def gram(kernel, X1, X2):
    return np.array([[kernel(x, y) for y in X2] for x in X1])


def printed_features(X, w1, w2, alpha):
    """Return Thm 2 and 3 as printed, 1/2 sqrt(alpha_q / P) [cos w1'x + cos w2'x; sin w1'x + sin w2'x], by component."""
    n_points = w1.shape[1]
    blocks = []
    for q in range(len(alpha)):
        u1, u2 = X @ w1[q].T, X @ w2[q].T
        pair = np.hstack([np.cos(u1) + np.cos(u2), np.sin(u1) + np.sin(u2)])
        blocks.append(0.5 * math.sqrt(alpha[q] / n_points) * pair)
    return np.hstack(blocks)


def printed_error_bound(error, K, alpha, n_points):
    """Return the right-hand side of Thm 4."""
    N, Q, L = len(K), len(alpha), 2 * n_points
    C = math.sqrt(sum(a**2 for a in alpha))
    K_norm = np.linalg.svd(K, compute_uv=False)[0]
    return N * math.exp(-3 * error**2 * L / (2 * N * C * (6 * K_norm + 3 * N * C * math.sqrt(Q) + 8 * error)))


def view_log_density(Y, covariance):
    return sum(normal_log_density(y, np.zeros(len(y)), covariance) for y in Y.T)


def view_log_density_by_svd(Y, Phi, s):
    """Return the log density of a view under Phi Phi' + s I, without cancellation at any s."""
    (N, M), (U, singular_values, _) = Y.shape, np.linalg.svd(Phi, full_matrices=False)
    inside, variances = U.T @ Y, singular_values**2 + s
    outside = Y - U @ inside
    log_det = M * (np.log(variances).sum() + (N - len(variances)) * math.log(s))
    misfit = ((inside**2).T / variances).sum() + (outside**2).sum() / s
    return -0.5 * (log_det + misfit + N * M * math.log(2 * math.pi))


def printed_woodbury_inverse(Phi, s):
    """Return App. C.2 as printed, with the product in the identity read as Phi' Phi, the only one of matching size."""
    N, F = Phi.shape
    return (np.eye(N) - Phi @ np.linalg.inv(np.eye(F) + Phi.T @ Phi) @ Phi.T) / s


def diagonal_normal_kl(mean, std):
    """Return KL(N(mean, std^2) || N(0, 1)), summed over all entries."""
    return sum(0.5 * (s**2 + m**2 - 1) - math.log(s) for m, s in zip(mean.ravel(), std.ravel(), strict=True))


def gp_posterior(K, K_cross, K_new, Y, noise_variance):
    """Return the textbook mean and function variance of Gaussian process regression."""
    solve = np.linalg.solve(K + noise_variance * np.eye(len(K)), K_cross.T)
    return solve.T @ Y, np.diag(K_new - K_cross @ solve)


def factor_analysis(y, loadings, offset, noise_variance, tempering=1.0):
    """Return posterior mean, posterior covariance and log evidence of the latent x of one row.

    The model is y = W x + b + noise, x ~ N(0, I), with the likelihood raised to the power `tempering`. Up to a factor,
    N(y; f, s)^t is N(y; f, s / t).
    """
    observed = ~np.isnan(y)
    W, residual, noise = loadings[observed], (y - offset)[observed], np.diag(noise_variance[observed] / tempering)
    covariance = np.linalg.inv(np.eye(W.shape[1]) + W.T @ np.linalg.solve(noise, W))
    factor = 0.5 * ((1 - tempering) * np.log(2 * math.pi * noise_variance[observed]) - math.log(tempering)).sum()
    log_evidence = normal_log_density(residual, np.zeros(len(residual)), W @ W.T + noise) + factor
    return covariance @ W.T @ np.linalg.solve(noise, residual), covariance, log_evidence

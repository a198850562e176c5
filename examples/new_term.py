"""A further term of the objective: latents of rows that follow each other, such as frames of a film, are similar."""

import numpy as np

from mvlvm import NGMVLVM
from mvlvm.estimators.objective_terms import TERMS, WeightedTerm


def smoothness(views, options):
    """Return the term with its weight; None would leave it out."""
    return WeightedTerm(weight=5.0, value=lambda model: -0.5 * model.latent.mean.diff(dim=0).square().sum())


TERMS["smoothness"] = smoothness

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    angle = np.linspace(0, 2 * np.pi, 200)
    frames = np.c_[np.cos(angle), np.sin(angle)] @ rng.standard_normal((2, 30)) + rng.standard_normal((200, 30))
    est = NGMVLVM(random_state=0).fit(frames)
    print(f"mean squared step {np.diff(est.embedding_, axis=0).var():.3f}, term {est.history_['smoothness'][-1]:.1f}")

"""Classical multidimensional scaling of cosine distances, as one more value of the parameter `init`."""

import torch

from mvlvm import NGMVLVM, datasets
from mvlvm.init.initializations import INITIALIZATIONS, AbstractInitialization


class CosineScaling(AbstractInitialization):
    """Leading eigenvectors of the sum of the views' cosine similarities, centred."""

    name = "cosine"

    def latents(self, views):
        rows = [Y.nan_to_num() for Y in views.arrays.values()]  # missing entries at the column means
        unit = [Y / Y.norm(dim=1, keepdim=True).clamp(min=1e-12) for Y in rows]
        S = sum(Y @ Y.T for Y in unit)
        S = S - S.mean(dim=0) - S.mean(dim=1, keepdim=True) + S.mean()
        vectors = torch.linalg.eigh(S).eigenvectors[:, -views.dimensions.n_shared :]
        return vectors * len(S) ** 0.5  # unit variance


INITIALIZATIONS["cosine"] = CosineScaling()

if __name__ == "__main__":
    data = datasets.load("s-curve", n_samples=200, random_state=0)
    est = NGMVLVM(init="cosine", random_state=0).fit(data)
    print(f"{est.init_}: bound {est.elbo_:.0f} after {est.n_iter_} steps")

"""Single-line mutations of the source that the test suite must detect.

Each mutation replaces one fragment of one file of the package and names the tests that fail because of it. Run by hand,

    python -m tests.architecture.mutations [NAME ...]

checks all of them (or those whose name contains one of the arguments): the package is copied to a temporary directory,
the fragment is replaced there, and the named tests are run against the copy. A mutation is caught if the tests fail; it
survives if they pass, and then the exit code is 1. `test_mutations.py` checks that the list is up to date.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "mvlvm"
# pytest's exit codes for "all tests passed" and "some tests failed"; anything else says nothing about the mutation
_PASSED, _FAILED = 0, 1


class Mutation(NamedTuple):
    """A wrong version of one fragment of the source.

    Attributes:
        name: what is wrong with it.
        file: the path of the file, relative to the package.
        original: the fragment as it is; it occurs once in the file.
        mutated: the fragment that replaces it.
        tests: node ids of the tests that fail.
    """

    name: str
    file: str
    original: str
    mutated: str
    tests: tuple[str, ...]


MUTATIONS = (
    Mutation(
        "gradient with respect to the noise: truncated columns",
        "evidence/collapsed.py",
        "energy / s**2",
        "energy * 0",
        ("tests/evidence/test_collapsed.py::test_gradient_with_truncated_columns_matches_finite_differences",),
    ),
    Mutation(
        "compression: energy threshold without M",
        "models/compression.py",
        "share * N * M *",
        "share * N *",
        ("tests/models/test_compression.py::test_truncated_energy_is_a_share_of_the_noise_of_all_columns",),
    ),
    Mutation(
        "reported bound: standard error divided by n",
        "models/diagnostics.py",
        "/ len(values) ** 0.5",
        "/ len(values)",
        ("tests/models/test_diagnostics.py::test_precision_of_the_bound_is_the_standard_error_of_the_mean",),
    ),
    Mutation(
        "Adam: default betas of torch",
        "training/steps.py",
        "Adam(learned.vector, betas)",
        "Adam(learned.vector, (0.9, 0.999))",
        ("tests/training/test_loop.py::test_adam_has_the_documented_betas",),
    ),
    Mutation(
        "tol: not multiplied by the number of entries",
        "estimators/train.py",
        "tol=options.tol * problem.n_entries",
        "tol=options.tol",
        ("tests/estimators/test_train.py::test_tol_is_the_increase_per_entry_and_window",),
    ),
    Mutation(
        "random_state: not passed on to the conditioning",
        "estimators/base.py",
        ", seed=seed, n_draws",
        ", seed=0, n_draws",
        ("tests/estimators/test_fit.py::test_random_state_reaches_the_conditioning_on_the_data",),
    ),
    Mutation(
        "random streams: training and weights share one",
        "inference/predictor.py",
        "make_generator(seed, Stream.WEIGHTS, device)",
        "make_generator(seed, Stream.TRAINING, device)",
        ("tests/estimators/test_fit.py::test_training_and_conditioning_have_different_random_streams",),
    ),
    Mutation(
        "transform: constant tempering",
        "inference/new_rows.py",
        "modes = find_modes(observed, first, tempering=1.0)",
        "modes = find_modes(observed, first, tempering=0.5)",
        ("tests/estimators/test_new_rows.py::test_transform_does_not_temper_the_likelihood",),
    ),
    Mutation(
        "transform: learned tempering",
        "inference/new_rows.py",
        "modes = find_modes(observed, first, tempering=1.0)",
        "modes = find_modes(observed, first, tempering=self.predictor.tempering[next(iter(self.arrays))].from_others)",
        ("tests/estimators/test_new_rows.py::test_transform_does_not_temper_the_likelihood",),
    ),
    Mutation(
        "sample: latents from training",
        "estimators/fitted.py",
        "X = torch.randn((n_samples, mean.shape[1]), generator=generator, dtype=mean.dtype, device=mean.device)",
        "X = mean[torch.randint(len(mean), (n_samples,), generator=generator)]",
        ("tests/estimators/test_prediction.py::test_samples_have_latents_from_the_prior",),
    ),
    Mutation(
        "hot-deck imputation: distances summed over shared views",
        "init/hot_deck.py",
        "(total / n_shared)",
        "(total / n_shared.clamp_max(1))",
        ("tests/init/test_hot_deck.py::test_distances_are_means_over_the_views_that_both_rows_have",),
    ),
    Mutation(
        "modes: distinct only if they differ in every dimension",
        "inference/laplace.py",
        "(distance < _SAME_MODE).all(dim=2)",
        "(distance < _SAME_MODE).any(dim=2)",
        ("tests/inference/test_laplace.py::test_modes_that_differ_in_one_dimension_are_distinct",),
    ),
    Mutation(
        "graph layout: repulsion regardless of the degree",
        "init/graph_embedding.py",
        " * degree",
        "",
        ("tests/init/test_graph_embedding.py::test_layout_does_not_shrink_as_edge_weights_grow",),
    ),
    Mutation(
        "score of a target: no Jacobian of the scaling",
        "inference/new_rows.py",
        " = -scaling.log_volume(Y)",
        " = 0.0",
        ("tests/estimators/test_new_rows.py::test_score_of_a_target_is_a_density_in_the_units_of_the_data",),
    ),
    Mutation(
        "score of a target: Jacobian with the wrong sign",
        "inference/new_rows.py",
        " = -scaling.log_volume(Y)",
        " = scaling.log_volume(Y)",
        ("tests/estimators/test_new_rows.py::test_score_of_a_target_is_a_density_in_the_units_of_the_data",),
    ),
    Mutation(
        "float64 at small noise: never",
        "models/state.py",
        "noise_variance < noise_threshold(self.target.Y.device) * unit",
        "False",
        (
            "tests/evidence/test_collapsed_blocked.py::test_float32_fit_matches_the_bound_of_a_float64_fit_at_small_noise",
        ),
    ),
    Mutation(
        "compression: does not wait for the noise",
        "models/state.py",
        "n_steps >= _STEPS_TO_LEARN_NOISE",
        "n_steps >= 0",
        ("tests/models/test_compression.py::test_truncation_follows_the_noise_after_a_hundred_steps",),
    ),
    Mutation(
        "conditioning: one draw of the latents",
        "inference/predictor.py",
        "n_latent_draws = n_latent_draws_for(len(latent.mean))",
        "n_latent_draws = 1",
        ("tests/estimators/test_fit.py::test_weights_are_averaged_over_draws_of_the_latents",),
    ),
    Mutation(
        "conditioning: means of the latents",
        "models/gaussian_views.py",
        "latent.sample(generator)) for _ in",
        "latent.mean) for _ in",
        ("tests/estimators/test_fit.py::test_weights_are_averaged_over_draws_of_the_latents",),
    ),
    Mutation(
        "initialisation: counts without log1p",
        "init/pca.py",
        "(1 + Y).log() if likelihood.log_link else Y",
        "Y",
        (
            "tests/estimators/test_initialization.py::test_counts_are_initialised_at_principal_components_of_their_logarithms",
        ),
    ),
    Mutation(
        "rows without entries: mean of the latents",
        "models/latent.py",
        "self.mean[rows] = 0.0",
        "pass",
        ("tests/estimators/test_missing_entries.py::test_a_row_without_any_entry_is_at_the_prior_from_the_first_step",),
    ),
    Mutation(
        "rows without entries: standard deviation of the latents",
        "models/latent.py",
        "self.raw_std[rows] = raw_positive(1.0)",
        "pass",
        ("tests/estimators/test_missing_entries.py::test_a_row_without_any_entry_is_at_the_prior_from_the_first_step",),
    ),
    Mutation(
        "snapshot: refreshed again at once",
        "estimators/fit_snapshot.py",
        'Schedule(**header["schedule"])',
        "Schedule(next_refresh=state.step)",
        ("tests/architecture/test_resumed_fits.py::test_a_continued_fit_has_the_same_bits[init-auto]",),
    ),
    Mutation(
        "lower Gram: three stripes for an odd number of features",
        "linalg/gram.py",
        "-(-F // _N_STRIPES)",
        "F // _N_STRIPES",
        ("tests/linalg/test_gram.py::test_odd_number_of_features_is_divided_into_two_stripes",),
    ),
)


def mutated_source(mutation: Mutation) -> str:
    """Return the text of the mutated file.

    Raises:
        ValueError: the fragment does not occur exactly once in the file.
    """
    text = (SOURCE / mutation.file).read_text()
    n_found = text.count(mutation.original)
    if n_found != 1:
        raise ValueError(
            f"The fragment {mutation.original!r} of mutation {mutation.name!r} must occur once in {mutation.file}. "
            f"Found {n_found} occurrences. Update the mutation."
        )
    return text.replace(mutation.original, mutation.mutated)


def is_caught(mutation: Mutation, tests: Sequence[str]) -> bool:
    """Run tests against a mutated copy of the package, and return whether some of them fail.

    Raises:
        RuntimeError: pytest could not run the tests.
    """
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "mvlvm"
        shutil.copytree(SOURCE, package, ignore=shutil.ignore_patterns("__pycache__"))
        (package / mutation.file).write_text(mutated_source(mutation))
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        environment = os.environ | {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if run.returncode not in (_PASSED, _FAILED):
        raise RuntimeError(f"The tests of mutation {mutation.name!r} could not be run:\n{run.stdout}{run.stderr}")
    return run.returncode == _FAILED


def main(names: Sequence[str]) -> int:
    """Check mutations and print a table; return 1 if one of them survives, and 0 otherwise."""
    chosen = [mutation for mutation in MUTATIONS if not names or any(name in mutation.name for name in names)]
    width, n_survived = max(len(mutation.name) for mutation in chosen), 0
    for mutation in chosen:
        caught = is_caught(mutation, mutation.tests)
        n_survived += not caught
        print(f"{mutation.name:{width}}  {'caught' if caught else 'SURVIVED'}", flush=True)
    print(f"{len(chosen) - n_survived} of {len(chosen)} mutations caught")
    return 1 if n_survived else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

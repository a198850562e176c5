"""Compare learning-rate schedules and initialisations, and write docs/results/schedules.md.

Run it with `.venv/bin/python benchmarks/schedules.py --only bridges --seeds 0`. Finished cells are stored in
benchmarks/results/schedules.jsonl and not run again, so it can be interrupted. `--cells FILE` stores the cells of
another machine in a separate file, which `--merge FILE` copies here.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from cells import CellFile
from experiment import Effort, Experiment, Numbers
from mvlvm.records import RESULTS_VERSION
from running import arguments, run_options, say
from schedule_data import TASKS
from schedule_fits import Schedule, follow
from schedules_page import STARTS_ON, TRIED_ON, write_page

ROOT = Path(__file__).resolve().parents[1]
_QUICK = Effort(most_steps=2)

# Compared on three seeds; the first is the reference.
FINALISTS = {
    "0.02, 1000 steps": Schedule(),
    "0.1, 500 steps": Schedule(steps=500, rate=0.1),
    "0.05, hold and cool": Schedule(rate=0.05, cool=200),
    "0.1, hold and cool": Schedule(rate=0.1, cool=200),
    "0.1, latents 0.05, hold and cool": Schedule(rate=0.1, latent_rate=0.05, cool=200),
}
# Tried on one seed of a few data sets.
TRIED = {
    "0.02, 1000 steps": Schedule(),
    "0.02, 500 steps": Schedule(steps=500),
    "0.05, 1000 steps": Schedule(rate=0.05),
    "0.05, 500 steps": Schedule(steps=500, rate=0.05),
    "0.05, 300 steps": Schedule(steps=300, rate=0.05),
    "0.1, 500 steps": Schedule(steps=500, rate=0.1),
    "0.1, 300 steps": Schedule(steps=300, rate=0.1),
    "0.1, latents 0.05, 500 steps": Schedule(steps=500, rate=0.1, latent_rate=0.05),
    "0.2, 500 steps": Schedule(steps=500, rate=0.2),
    "0.2, 300 steps": Schedule(steps=300, rate=0.2),
    "0.05, latents 0.1, 500 steps": Schedule(steps=500, rate=0.05, latent_rate=0.1),
    "0.02, latents 0.1, 500 steps": Schedule(steps=500, latent_rate=0.1),
    "0.05, latents by half their std, 500 steps": Schedule(
        steps=500, rate=0.05, latent_rate=0.05, std_rate=0.05, in_std_units=True
    ),
    "0.05, latents by their std, 500 steps": Schedule(
        steps=500, rate=0.05, latent_rate=0.1, std_rate=0.05, in_std_units=True
    ),
    "0.05, natural gradients 0.1, 500 steps": Schedule(steps=500, rate=0.05, natural=0.1),
    "0.05, natural gradients 0.3, 500 steps": Schedule(steps=500, rate=0.05, natural=0.3),
    "0.05, logarithms of sigma and alpha, 500 steps": Schedule(steps=500, rate=0.05, log_sigma=True),
    "0.05, beta1 0.8, 500 steps": Schedule(steps=500, rate=0.05, betas=(0.8, 0.99)),
    "0.05, beta1 0.95, 500 steps": Schedule(steps=500, rate=0.05, betas=(0.95, 0.99)),
    "0.05, beta2 0.999, 500 steps": Schedule(steps=500, rate=0.05, betas=(0.9, 0.999)),
    "0.05, two draws a step, 300 steps": Schedule(steps=300, rate=0.05, n_draws=2),
}
# Initialisations are compared with the current default schedule.
CHOSEN = "0.05, hold and cool"
STARTS = ("pca", "spectral", "neighbors", "auto")


def _follow(task: str, schedule: Schedule, init: str, seed: int, effort: Effort) -> Numbers:
    return follow(TASKS[task](seed), schedule, seed, most_steps=effort.most_steps, init=init)


def _experiment(name: str, task: str, schedules: Mapping[str, Schedule]) -> Experiment:
    return Experiment(name, {title: partial(_follow, task, schedule, "pca") for title, schedule in schedules.items()})


EXPERIMENTS = (
    *(_experiment(task, task, FINALISTS) for task in TASKS),
    *(_experiment(f"tried-{task}", task, TRIED) for task in TRIED_ON),
    *(
        Experiment(f"starts-{task}", {init: partial(_follow, task, FINALISTS[CHOSEN], init) for init in STARTS})
        for task in STARTS_ON
    ),
)


def main(given: Sequence[str] | None = None) -> None:
    """Run the selected cells, and write the page of all finished cells."""
    options = arguments(__doc__.splitlines()[0], EXPERIMENTS, given)
    results = ROOT / "benchmarks" / "results"
    if options.quick:
        results = results / "quick"
    file = CellFile(results / "schedules.jsonl", RESULTS_VERSION)
    if run_options(EXPERIMENTS, file, _QUICK if options.quick else Effort(), options):
        out = options.out or (results if options.quick else ROOT / "docs" / "results")
        page = write_page(list(FINALISTS), list(TRIED), STARTS, CHOSEN, file, out, trial=options.quick)
        say(f"wrote {page}")


if __name__ == "__main__":
    main()

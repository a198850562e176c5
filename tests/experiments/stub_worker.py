"""The worker process of the library, with the stub experiment in its catalogue."""

import sys
from pathlib import Path

from mvlvm.experiments import catalogue, runner
from tests.experiments.stub_experiment import experiment

if __name__ == "__main__":
    catalogue.EXPERIMENTS["stub"] = experiment()
    runner.main(Path(sys.argv[1]))

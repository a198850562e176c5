"""The worker of the library, with the made-up experiment in its catalogue."""

import sys
from pathlib import Path

from mvlvm.experiments import catalogue, runner
from tests.experiments.stub_experiment import experiment

if __name__ == "__main__":
    catalogue.EXPERIMENTS["made-up"] = experiment()
    runner.main(Path(sys.argv[1]))

"""The worker of the library, with the made-up experiment in its catalogue."""

import sys
from pathlib import Path

from mvlvm.experiments import catalogue, worker
from tests.experiments.made_up import experiment

if __name__ == "__main__":
    catalogue.EXPERIMENTS["made-up"] = experiment()
    worker.main(Path(sys.argv[1]))

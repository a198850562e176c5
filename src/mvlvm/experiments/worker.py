"""A process that runs cells, a JSON line of its input each, for as long as the input is open.

`python -m mvlvm.experiments.worker FOLDER` is started by `runner.py`.
"""

import json
import os
import queue
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from mvlvm.errors import ConvergenceWarning, ViewWarning
from mvlvm.experiments.spec import Cell
from mvlvm.experiments.store import ABSENT, DONE, FAILED, Record, Store, versions
from mvlvm.records import choose_device, describe_machine

# Other libraries print what they like; this line is ours.
MARK = "mvlvm cell: "


def work(cell: Cell, store: Store) -> Record:
    """Run a cell, keep its arrays, and give its record; whatever goes wrong is part of it."""
    from mvlvm.experiments.catalogue import experiment_of

    begin, status, numbers, note = time.perf_counter(), DONE, {}, ""
    try:
        with warnings.catch_warnings():
            # fits of fixed length need not say so in every cell, nor constant pixels
            for expected in (ConvergenceWarning, ViewWarning):
                warnings.simplefilter("ignore", expected)
            measured = experiment_of(cell.experiment).measure(cell)
        numbers = {name: float(value) for name, value in measured.numbers.items()}
        store.keep_arrays(cell, measured.arrays)
    except ModuleNotFoundError as error:
        status, note = ABSENT, str(error)
    except Exception as error:
        status, note = FAILED, f"{type(error).__name__}: {error}"
    seconds = round(time.perf_counter() - begin, 3)
    machine = describe_machine(choose_device("auto"))
    return Record(
        cell=cell, status=status, seconds=seconds, machine=machine, versions=versions(), numbers=numbers, note=note
    )


def main(folder: Path) -> None:
    """Run the cells that come in, one after another."""
    store = Store(folder)
    for line in _lines():
        record = work(Cell.from_json(json.loads(line)), store)
        print(f"\n{MARK}{json.dumps(record.as_json(), allow_nan=True)}", flush=True)


def _lines() -> Iterator[str]:
    """Give lines as they come in; when there are no more, who asked is gone, and a cell that is being run is no use."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield lines.get()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

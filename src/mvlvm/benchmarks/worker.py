"""A process that measures one task: `python -m mvlvm.benchmarks.worker` reads it from its input as JSON."""

import json
import sys
from typing import Any

from mvlvm.benchmarks.task import ABSENT, DONE, FAILED, STOPPED, Task

# Other libraries print what they like; this line is ours.
MARK = "mvlvm bench outcome: "


def work(task: Task) -> dict[str, Any]:
    """Measure a task, and give its status, numbers and note."""
    from mvlvm.benchmarks.measuring import measure

    try:
        numbers = measure(task)
    except ModuleNotFoundError as error:
        return {"status": ABSENT, "numbers": {}, "note": str(error)}
    except Exception as error:
        return {"status": FAILED, "numbers": {}, "note": f"{type(error).__name__}: {error}"}
    stopped = bool(numbers.pop("stopped"))
    note = f"stopped after {numbers['seconds']:.0f} s" if stopped else ""
    return {"status": STOPPED if stopped else DONE, "numbers": numbers, "note": note}


if __name__ == "__main__":
    outcome = work(Task.from_json(json.load(sys.stdin)))
    print(f"\n{MARK}{json.dumps(outcome, allow_nan=False)}", flush=True)

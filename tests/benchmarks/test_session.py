import json
import sys

import pytest

from mvlvm.benchmarks import session
from mvlvm.benchmarks.measurement import work
from mvlvm.benchmarks.peers import METHODS
from mvlvm.benchmarks.plan import CPU, growth_axis, plan_for, tasks_of
from mvlvm.benchmarks.session import OutcomeFile, Run, in_fresh_process
from mvlvm.benchmarks.tasks import ABSENT, DONE, FAILED, SKIPPED, STOPPED, DataSpec, Task
from tests.benchmarks.outcomes import outcome

TASK = Task(experiment="peers", method="PCA", data=DataSpec(name="digits-halves", n_samples=60), warm_up=False)

PEERS = [name for name, method in METHODS.items() if method.package not in ("torch", "sklearn")]


def _answer(status, **numbers):
    return {"status": status, "numbers": numbers, "note": ""}


def test_growth_varies_one_size_at_a_time():
    changed = {
        axis: {
            (t.data.n_samples, t.data.n_columns, t.data.n_views, t.n_mixtures, t.n_points)
            for t in growth_axis(CPU, axis)
        }
        for axis in ("N", *CPU.growth)
    }
    for place, (axis, sizes) in enumerate(changed.items()):
        for other in range(5):
            assert (len({size[other] for size in sizes}) == 1) == (other != place), axis


def test_the_time_limit_applies_to_all_tasks():
    assert {task.limit_s for task in tasks_of(plan_for("cpu", trial=False, limit_s=7.0), "peers")} == {7.0}


def test_finished_tasks_are_not_repeated_but_uninstalled_ones_are(tmp_path):
    file, asked, said = OutcomeFile(tmp_path / "cells.jsonl"), [], []
    other = Task(experiment="peers", method="mofapy2", data=TASK.data)

    def measure(task):
        asked.append(task.method)
        return _answer(DONE if task.method == "PCA" else ABSENT)

    for _ in range(2):
        Run(file, measure=measure).all([TASK, other], lambda found: said.append(found.status))
    assert asked == ["PCA", "mofapy2", "mofapy2"]
    assert said == [DONE, ABSENT, DONE, ABSENT]
    Run(file, again=True, measure=measure).all([TASK], said.append)
    assert asked[-1] == "PCA"


def test_a_stopped_method_is_not_run_on_more_rows(tmp_path):
    asked = []

    def measure(task):
        asked.append((task.method, task.data.n_samples))
        return _answer(STOPPED if task.method == "slow" else DONE)

    sizes = [DataSpec(name="low-rank", n_samples=n) for n in (10, 20)]
    tasks = [Task(experiment="walltime", method=m, data=data) for data in sizes for m in ("slow", "quick")]
    found = []
    Run(OutcomeFile(tmp_path / "cells.jsonl"), measure=measure).all(tasks, found.append)
    assert asked == [("slow", 10), ("quick", 10), ("quick", 20)]
    assert [o.status for o in found] == [STOPPED, DONE, SKIPPED, DONE]
    assert "stopped at 10 rows" in found[2].note


def test_a_file_with_an_incomplete_line_can_be_continued(tmp_path, capsys):
    file = OutcomeFile(tmp_path / "cells.jsonl")
    file.append(outcome(TASK, seconds=1.0))
    file.path.write_text(file.path.read_text() + '{"task": {"exper')
    file.append(outcome(TASK, seconds=2.0))
    (found,) = file.read().values()
    assert found.numbers["seconds"] == 2.0
    assert "line 2 is not a valid record" in capsys.readouterr().err


def test_files_of_several_machines_are_merged_without_duplicates(tmp_path):
    here, there = OutcomeFile(tmp_path / "here.jsonl"), OutcomeFile(tmp_path / "there.jsonl")
    here.append(outcome(TASK, seconds=1.0))
    there.append(outcome(TASK, seconds=1.0, machine="another"))
    assert here.merge([there.path]) == 1
    assert here.merge([there.path]) == 0
    assert {found.machine for found in here.read().values()} == {"a processor", "another"}


def test_outcomes_of_another_version_are_ignored(tmp_path):
    file = OutcomeFile(tmp_path / "cells.jsonl")
    fields = outcome(TASK).as_json()
    file.path.write_text(json.dumps({**fields, "version": "0.0.0-other"}) + "\n")
    assert file.read() == {}


def test_a_task_is_measured_in_a_subprocess():
    answer = in_fresh_process(TASK)
    assert answer["status"] == DONE, answer["note"]
    assert answer["numbers"]["seconds"] > 0
    assert 0.3 < answer["numbers"]["accuracy"] < 1


def test_a_subprocess_is_terminated_at_its_time_limit(monkeypatch):
    monkeypatch.setattr(session, "_GRACE_S", 0.05)
    answer = in_fresh_process(Task(experiment="peers", method="PCA", data=TASK.data, limit_s=0.05))
    assert answer["status"] == STOPPED
    assert answer["note"].startswith("stopped after")


def test_a_failed_task_reports_the_error():
    answer = work(Task(experiment="peers", method="PCA", data=DataSpec(name="no-such-set"), warm_up=False))
    assert answer["status"] == FAILED
    assert "no-such-set" in answer["note"]


@pytest.mark.parametrize(
    "name", [name for name, method in METHODS.items() if method.package not in ("torch", "sklearn")]
)
def test_a_missing_package_is_reported_with_the_install_command(name, monkeypatch):
    package = METHODS[name].package
    for module in [package, *(found for found in sys.modules if found.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, module, None)
    answer = work(Task(experiment="peers", method=name, data=TASK.data, warm_up=False))
    assert answer["status"] == ABSENT
    assert f'{package}, which is not installed. Install it with: pip install "mvlvm[bench]"' in answer["note"]

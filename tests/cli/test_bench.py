"""The command `mvlvm bench`: measuring, resuming, merging and invalid input."""

import json

import pytest
from typer.testing import CliRunner

from mvlvm.benchmarks import session
from mvlvm.cli.main import app


def _bench(*arguments):
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


def test_quick_run_measures_writes_and_resumes(tmp_path, monkeypatch):
    out = tmp_path / "a folder" / "bench"
    arguments = [
        "--quick",
        "--device",
        "cpu",
        "--only",
        "steps,peers",
        "--method",
        "naive",
        "--method",
        "PCA",
        "--out",
        out,
    ]
    result = _bench(*arguments)
    assert result.exit_code == 0, result.output
    assert "steps, naive" in result.output
    assert "peers, PCA" in result.output
    cells = [json.loads(line) for line in (out / "speed.jsonl").read_text().splitlines()]
    assert {cell["status"] for cell in cells} == {"done"}
    page = (out / "speed.md").read_text()
    assert "mean nothing" in page
    assert "| naive |" in page
    assert "digits-halves" in page

    monkeypatch.setattr(session, "work", lambda task: pytest.fail("the measurement was repeated"))
    assert _bench(*arguments).exit_code == 0


def test_our_step_is_compared_with_the_naive_one(tmp_path):
    result = _bench("--quick", "--device", "cpu", "--only", "steps", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    methods = {json.loads(line)["task"]["method"] for line in (tmp_path / "speed.jsonl").read_text().splitlines()}
    assert methods == {"ours", "naive"}


def test_interrupt_keeps_finished_measurements(tmp_path, monkeypatch):
    requested = []

    def interrupted(task):
        requested.append(task)
        if len(requested) == 2:
            raise KeyboardInterrupt
        return {"status": "done", "numbers": {"seconds": 1.0, "seconds_per_step": 1.0, "peak_bytes": 1}, "note": ""}

    monkeypatch.setattr(session, "work", interrupted)
    result = _bench("--quick", "--device", "cpu", "--only", "steps", "--out", tmp_path)
    assert result.exit_code == 130
    assert "Finished measurements are kept" in result.output
    assert len((tmp_path / "speed.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "speed"], "--only must be one of: steps"),
        (["--method", "GPflow"], "--method must be one of: ours"),
        (["--device", "tpu"], "'auto', 'cpu' or 'cuda'"),
        (["--merge", "nowhere.jsonl"], "which is not a file"),
    ],
)
def test_invalid_input_is_reported_with_exit_code_2(tmp_path, arguments, message):
    result = _bench("--quick", "--out", tmp_path, *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_file_in_place_of_the_output_folder_is_rejected(tmp_path):
    (tmp_path / "taken").write_text("")
    result = _bench("--quick", "--out", tmp_path / "taken")
    assert result.exit_code == 2
    assert "--out must be a folder" in result.output


def test_results_of_another_machine_are_merged(tmp_path):
    _bench("--quick", "--device", "cpu", "--only", "peers", "--method", "PCA", "--out", tmp_path / "there")
    result = _bench("--quick", "--merge", tmp_path / "there" / "speed.jsonl", "--out", tmp_path / "here")
    assert result.exit_code == 0, result.output
    assert "1 new results" in result.output
    assert "| PCA |" in (tmp_path / "here" / "speed.md").read_text()

import json

import pytest
from typer.testing import CliRunner

from mvlvm.benchmarks import session
from mvlvm.cli.main import app


def _bench(*arguments):
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


def test_a_trial_measures_writes_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
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

    monkeypatch.setattr(session, "work", lambda task: pytest.fail("it was run again"))
    assert _bench(*arguments).exit_code == 0


def test_our_own_step_is_measured_beside_the_plain_one(tmp_path):
    result = _bench("--quick", "--device", "cpu", "--only", "steps", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    methods = {json.loads(line)["task"]["method"] for line in (tmp_path / "speed.jsonl").read_text().splitlines()}
    assert methods == {"ours", "naive"}


def test_an_interrupt_keeps_what_has_finished(tmp_path, monkeypatch):
    asked = []

    def interrupted(task):
        asked.append(task)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return {"status": "done", "numbers": {"seconds": 1.0, "seconds_per_step": 1.0, "peak_bytes": 1}, "note": ""}

    monkeypatch.setattr(session, "work", interrupted)
    result = _bench("--quick", "--device", "cpu", "--only", "steps", "--out", tmp_path)
    assert result.exit_code == 130
    assert "What has finished is kept" in result.output
    assert len((tmp_path / "speed.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "speed"], "--only must name one of: steps"),
        (["--method", "GPflow"], "--method must name one of: ours"),
        (["--device", "tpu"], "'auto', 'cpu' or 'cuda'"),
        (["--merge", "nowhere.jsonl"], "which is no file"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, arguments, words):
    result = _bench("--quick", "--out", tmp_path, *arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output


def test_a_file_in_the_place_of_the_folder_is_bad_input(tmp_path):
    (tmp_path / "taken").write_text("")
    result = _bench("--quick", "--out", tmp_path / "taken")
    assert result.exit_code == 2
    assert "--out must be a folder" in result.output


def test_cells_of_another_machine_are_merged_into_the_page(tmp_path):
    _bench("--quick", "--device", "cpu", "--only", "peers", "--method", "PCA", "--out", tmp_path / "there")
    result = _bench("--quick", "--merge", tmp_path / "there" / "speed.jsonl", "--out", tmp_path / "here")
    assert result.exit_code == 0, result.output
    assert "1 cells are new" in result.output
    assert "| PCA |" in (tmp_path / "here" / "speed.md").read_text()

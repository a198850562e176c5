"""The command `python -m benchmarks bench`: measuring, resuming, merging and invalid input."""

import pytest
from typer.testing import CliRunner

from benchmarks import runner
from benchmarks.__main__ import app
from benchmarks.cells import DONE
from benchmarks.store import Store


def _bench(*arguments):
    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


@pytest.mark.slow
def test_quick_run_measures_writes_and_resumes(tmp_path):
    out = tmp_path / "a folder" / "bench"
    arguments = ["--quick", "--device", "cpu", "--only", "steps,peers", "--method", "naive", "--method", "PCA"]
    result = _bench(*arguments, "--out", out)
    assert result.exit_code == 0, result.output
    assert "PCA on digits-halves" in result.output
    assert "per step" in result.output
    assert "claims were not measured" in result.output
    records = Store(out).read("speed").values()
    assert {record.status for record in records} == {DONE}
    assert {record.cell.settings["part"] for record in records} == {"steps", "peers"}
    page = (out / "speed.md").read_text()
    assert "A quick run" in page
    assert "| naive |" in page
    again = _bench(*arguments, "--out", out)
    assert "3 cells, 3 already finished" in again.output


def test_interrupt_keeps_finished_measurements(tmp_path, monkeypatch):
    append = Store.append

    def interrupted(self, record):
        append(self, record)
        raise KeyboardInterrupt

    monkeypatch.setattr(Store, "append", interrupted)
    result = _bench("--quick", "--device", "cpu", "--only", "steps", "--out", tmp_path)
    assert result.exit_code == 130
    assert "Finished measurements are kept" in result.output
    assert len(Store(tmp_path).read("speed")) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "step"], "There is no experiment of the benchmark 'step'. Did you mean 'steps'?"),
        (["--method", "MOFFA"], "There is no method 'MOFFA'. Did you mean 'MOFA'?"),
        (["--device", "tpu"], "'auto', 'cpu' or 'cuda'"),
        (
            ["--merge", "nowhere.jsonl"],
            "--merge must be a folder of cells, or a file of a study: speed.jsonl,",
        ),
    ],
)
def test_invalid_input_is_reported_and_leaves_no_folder(tmp_path, arguments, message):
    result = _bench("--quick", "--out", tmp_path / "out", *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "out").exists()


def test_file_in_place_of_the_output_folder_is_rejected(tmp_path):
    (tmp_path / "taken").write_text("")
    result = _bench("--quick", "--out", tmp_path / "taken")
    assert result.exit_code == 2
    assert "--out must be a folder" in result.output


def test_results_of_another_machine_are_merged(tmp_path, monkeypatch):
    _bench("--quick", "--device", "cpu", "--only", "peers", "--method", "PCA", "--out", tmp_path / "there")
    monkeypatch.setattr(runner.Runner, "run", lambda *_: pytest.fail("a cell was run"))
    result = _bench("--quick", "--merge", tmp_path / "there" / "speed.jsonl", "--out", tmp_path / "here")
    assert result.exit_code == 0, result.output
    assert "1 new cell." in result.output
    assert "| PCA |" in (tmp_path / "here" / "speed.md").read_text()

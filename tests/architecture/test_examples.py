"""The code blocks of the documentation run, and print the documented output."""

import doctest
import inspect
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import mudata
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from benchmarks.__main__ import app as benchmarks_app
from mvlvm import NGMVLVM, DataFileError
from mvlvm.cli.main import app
from mvlvm.cli.model_options import MODEL_OPTIONS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Languages of blocks; a plain one holds commands with an explanation, which are parsed, or a diagram.
LANGUAGES = {"pycon", "python", "sh", "toml", "matlab", ""}
APPS = {"mvlvm ": app, "python -m benchmarks ": benchmarks_app}
INSTALLATION = re.compile(r"(make|pip|git|cd) ")


def blocks(page):
    """Return the language and the code of every block of a page."""
    return re.findall(r"^```(\w*)\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def test_pages_with_examples_are_found():
    languages = {page.name: {language for language, _ in blocks(page)} for page in PAGES}
    assert languages["README.md"] == {"python", "sh", ""}
    assert "pycon" in languages["files.md"]
    assert set().union(*languages.values()) == LANGUAGES


@pytest.fixture
def few_steps(monkeypatch):
    """Fits take 20 steps, so that the examples run in seconds."""
    monkeypatch.setitem(inspect.unwrap(NGMVLVM.__init__).__kwdefaults__, "max_iter", 20)
    monkeypatch.setitem(MODEL_OPTIONS, "max_iter", MODEL_OPTIONS["max_iter"]._replace(default=20))


def run_line(line):
    """Run a command of this package in this process, and any other one in a shell."""
    if line.startswith("mvlvm "):
        result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"
    else:
        subprocess.run(line, shell=True, check=True, stdout=subprocess.DEVNULL)


@pytest.mark.usefixtures("few_steps", "no_type_checks")
@pytest.mark.filterwarnings("ignore::mvlvm.ViewWarning", "ignore::mvlvm.ConvergenceWarning")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_blocks_of_a_page_run_in_their_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    try:
        for language, code in blocks(page):
            if language == "python" and not code.startswith(">>>"):
                exec(compile(code, page.name, "exec"), namespace)
            elif language == "sh":
                for line in code.splitlines():
                    run_line(line)
            elif language == "toml":
                tomllib.loads(code)
    except DataFileError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text()], ids=lambda page: page.name)
def test_examples_of_a_page_print_the_documented_output(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with mudata.set_options(pull_on_update=None):  # examples may set options, which are restored here
        outcome = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def commands():
    for page in PAGES:
        for line in (line for language, code in blocks(page) if not language for line in code.splitlines()):
            if line.startswith(tuple(APPS)):
                yield re.split(r"\s{2,}|\s+#", line)[0]
            else:
                assert INSTALLATION.match(line) or "─" in line or not line.strip("│▼ ") or "/" in line, line


@pytest.mark.parametrize("line", list(commands()))
def test_commands_with_an_explanation_exist_with_their_options(line):
    prefix = next(prefix for prefix in APPS if line.startswith(prefix))
    arguments = shlex.split(line.removeprefix(prefix))
    command, context = get_command(APPS[prefix]), None
    while hasattr(command, "resolve_command"):
        context = command.make_context("mvlvm", list(arguments), parent=context)
        _, command, arguments = command.resolve_command(context, context._protected_args + context.args)
    command.make_context(command.name, list(arguments), parent=context)  # raises an exception if an option is unknown

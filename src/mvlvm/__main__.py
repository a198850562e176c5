"""`python -m mvlvm`."""

from mvlvm.cli.main import app

app(prog_name="mvlvm")

"""Runs the commands of the measurements as `python -m benchmarks`, in the root folder of a clone."""

from benchmarks.commands.bench import bench
from benchmarks.commands.reproduce import reproduce
from benchmarks.commands.study_commands import app

app.command(name="bench")(bench)
app.command(name="reproduce")(reproduce)

if __name__ == "__main__":
    app(prog_name="python -m benchmarks")

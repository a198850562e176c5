"""The figures of `mvlvm data show --plot`."""

from pathlib import Path

from mvlvm.cli.failing import fail, need_matplotlib
from mvlvm.datasets import Dataset

_KINDS = (".png", ".svg", ".pdf")


def prepare(given: Path) -> Path:
    """Give the path of the figure in full; make sure, before anything is loaded, that it can be drawn and written."""
    try:
        path = given.expanduser()
    except RuntimeError:
        fail(f"--plot must name a file. Got {given}: there is no such user.")
    if path.suffix.lower() not in _KINDS:
        fail(f"--plot must name a file that ends in {', '.join(_KINDS)}. Got {path}.")
    need_matplotlib("--plot", "plots")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"--plot must lie in a folder that can be made. Got {path}: {error.strerror}. Give another name.")
    return path


def draw(data: Dataset, path: Path) -> dict[str, Path]:
    """Write the figures and give what each shows and where it lies."""
    from mvlvm import plots

    figures = {"what is missing": (plots.plot_overview(data.views, title=data.name), path)}
    if data.image_shapes:
        sheet = plots.plot_contact_sheet(
            data.views, data.image_shapes, labels=data.labels, label_names=data.label_names, title=data.name
        )
        figures["images"] = (sheet, path.with_stem(f"{path.stem}-images"))
    try:
        return {title: plots.write(figure, place) for title, (figure, place) in figures.items()}
    except OSError as error:
        fail(f"--plot must name a file that can be written. Got {path}: {error.strerror}. Give another name.")

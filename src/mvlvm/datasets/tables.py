"""Small tables: bicycle counts, features of digits, flies in picture and word."""

from collections.abc import Sequence

from mvlvm.datasets.choosing import choose_views, class_numbers
from mvlvm.datasets.dataset import Dataset
from mvlvm.datasets.digits import DIGITS
from mvlvm.datasets.entry import Entry
from mvlvm.datasets.store import FileStore

_MFEAT_VIEWS = ("fou", "fac", "kar", "pix", "zer", "mor")


def bridges(store: FileStore, seed: int) -> Dataset:
    """Give the bicycles that crossed four bridges of New York on each day of seven months.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
    """
    counts, weekday, dates, names = store.arrays("bridges.npz", "Y", "y", "date", "bridges")
    return Dataset(
        {"counts": counts},
        class_numbers(weekday),
        ("weekend", "weekday"),
        rows=[str(date) for date in dates],
        columns={"counts": [str(name) for name in names]},
    )


def mfeat(store: FileStore, seed: int, *, views: Sequence[str] | None = None) -> Dataset:
    """Give six sets of features of the same handwritten digits.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
        views: of "fou" (Fourier), "fac" (profile correlations), "kar" (Karhunen-Loeve), "pix" (pixel averages),
            "zer" (Zernike) and "mor" (morphological); None loads all.
    """
    names = choose_views(_MFEAT_VIEWS, views)
    *tables, labels = store.arrays("mfeat.npz", *names, "label")
    shapes = {"pix": (16, 15)} if "pix" in names else {}
    return Dataset(dict(zip(names, tables, strict=True)), class_numbers(labels), DIGITS, image_shapes=shapes)


def bdgp(store: FileStore, seed: int) -> Dataset:
    """Give fruit fly embryos by visual features and by words about them.

    Args:
        store: where files come from.
        seed: not used; nothing is drawn.
    """
    visual, words, labels = store.arrays("bdgp.npz", "visual", "text", "label")
    names = tuple(f"class {k}" for k in range(1, 6))
    return Dataset({"visual": visual, "text": words}, class_numbers(labels), names)


ENTRIES = {
    "bridges": Entry(
        recipe=bridges,
        views=("counts",),
        files=("bridges.npz",),
        description=(
            "Daily bicycle counts on the Brooklyn, Manhattan, Williamsburg and Queensboro bridges, 1 April to 31 "
            "October 2017, with weekday or weekend as the label; a holiday on a weekday counts as a weekday."
        ),
        origin="NYC Open Data, Bicycle Counts for East River Bridges (gua4-p9wg), Department of Transportation.",
        licence="NYC Open Data terms of use (free public use).",
    ),
    "mfeat": Entry(
        recipe=mfeat,
        views=_MFEAT_VIEWS,
        files=("mfeat.npz",),
        description="2,000 handwritten digits, 200 of each, by six sets of features: UCI Multiple Features.",
        origin="R. Duin, TU Delft; UCI Machine Learning Repository.",
        licence="CC BY 4.0.",
    ),
    "bdgp": Entry(
        recipe=bdgp,
        views=("visual", "text"),
        files=("bdgp.npz",),
        description="2,500 fruit fly embryos in 5 classes by visual features (1,000) and words (500).",
        origin="Berkeley Drosophila Genome Project, in the two-view form of X. Cai et al. 2012.",
        licence="None stated.",
    ),
}

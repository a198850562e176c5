"""Small tabular data sets: bicycle counts, features of handwritten digits, and annotated fruit fly embryos."""

from collections.abc import Sequence

from mvlvm.datasets.cache import FileCache
from mvlvm.datasets.dataset import Dataset, DatasetEntry, choose_views, class_numbers
from mvlvm.datasets.digits import DIGITS

_MFEAT_VIEWS = ("fou", "fac", "kar", "pix", "zer", "mor")


def bridges(cache: FileCache, seed: int) -> Dataset:
    """Load daily bicycle counts on four bridges of New York over seven months.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
    """
    counts, weekday, dates, names = cache.arrays("bridges.npz", "Y", "y", "date", "bridges")
    return Dataset(
        {"counts": counts},
        class_numbers(weekday),
        ("weekend", "weekday"),
        rows=[str(date) for date in dates],
        columns={"counts": [str(name) for name in names]},
    )


def mfeat(cache: FileCache, seed: int, *, views: Sequence[str] | None = None) -> Dataset:
    """Load six feature sets of the same handwritten digits.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
        views: among "fou" (Fourier), "fac" (profile correlations), "kar" (Karhunen-Loeve), "pix" (pixel averages),
            "zer" (Zernike) and "mor" (morphological); None loads all views.
    """
    names = choose_views(_MFEAT_VIEWS, views)
    *tables, labels = cache.arrays("mfeat.npz", *names, "label")
    shapes = {"pix": (16, 15)} if "pix" in names else {}
    return Dataset(dict(zip(names, tables, strict=True)), class_numbers(labels), DIGITS, image_shapes=shapes)


def bdgp(cache: FileCache, seed: int) -> Dataset:
    """Load fruit fly embryos described by visual features and by annotation words.

    Args:
        cache: source of the data files.
        seed: unused; nothing is random.
    """
    visual, words, labels = cache.arrays("bdgp.npz", "visual", "text", "label")
    names = tuple(f"class {k}" for k in range(1, 6))
    return Dataset({"visual": visual, "text": words}, class_numbers(labels), names)


ENTRIES = {
    "bridges": DatasetEntry(
        loader=bridges,
        views=("counts",),
        files=("bridges.npz",),
        description=(
            "Daily bicycle counts on the Brooklyn, Manhattan, Williamsburg and Queensboro bridges, 1 April to 31 "
            "October 2017, labelled as weekday or weekend; public holidays on weekdays are labelled as weekdays."
        ),
        origin="NYC Open Data, Bicycle Counts for East River Bridges (gua4-p9wg), Department of Transportation.",
        licence="NYC Open Data terms of use (free public use).",
    ),
    "mfeat": DatasetEntry(
        loader=mfeat,
        views=_MFEAT_VIEWS,
        files=("mfeat.npz",),
        description="2,000 handwritten digits, 200 per class, described by six feature sets: UCI Multiple Features.",
        origin="R. Duin, TU Delft; UCI Machine Learning Repository.",
        licence="CC BY 4.0.",
    ),
    "bdgp": DatasetEntry(
        loader=bdgp,
        views=("visual", "text"),
        files=("bdgp.npz",),
        description="2,500 fruit fly embryos in 5 classes, described by visual features (1,000) and words (500).",
        origin="Berkeley Drosophila Genome Project, in the two-view form of X. Cai et al. 2012.",
        licence="None stated.",
    ),
}

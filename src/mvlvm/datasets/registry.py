"""All data sets by name."""

from mvlvm.datasets import digits, embedded, factors, images, omics, synthetic, tables, text, wireless
from mvlvm.datasets.entry import Entry

REGISTRY: dict[str, Entry] = {
    **synthetic.ENTRIES,
    **factors.ENTRIES,
    **embedded.ENTRIES,
    **tables.ENTRIES,
    **digits.ENTRIES,
    **images.ENTRIES,
    **text.ENTRIES,
    **wireless.ENTRIES,
    **omics.ENTRIES,
}

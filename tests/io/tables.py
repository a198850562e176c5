"""Tables, and functions that write them to files, for the tests of readers."""

import anndata
import mudata
import numpy as np
import pandas as pd

RNG = np.random.default_rng(0)
CELLS = ["c1", "c2", "c3", "c4"]
RNA = pd.DataFrame(RNG.normal(size=(4, 3)), index=CELLS, columns=["g1", "g2", "g3"])
PROTEIN = pd.DataFrame(RNG.normal(size=(3, 2)), index=["c3", "x9", "c1"], columns=["p1", "p2"])


def annotated(frame):
    return anndata.AnnData(
        frame.to_numpy(), obs=pd.DataFrame(index=frame.index), var=pd.DataFrame(index=frame.columns)
    )  # fmt: skip


def write_both_as_mudata(path):
    with mudata.set_options(pull_on_update=False):
        mudata.MuData({"rna": annotated(RNA), "protein": annotated(PROTEIN)}).write(path)


def write_text(folder, content, name="table.csv"):
    (folder / name).write_text(content)
    return folder / name


WRITERS = {
    "csv": lambda frame, path: frame.to_csv(path),
    "tsv": lambda frame, path: frame.to_csv(path, sep="\t"),
    "csv.gz": lambda frame, path: frame.to_csv(path),
    "tsv.gz": lambda frame, path: frame.to_csv(path, sep="\t"),
    "parquet": lambda frame, path: frame.to_parquet(path),
    "h5ad": lambda frame, path: annotated(frame).write_h5ad(path),
}

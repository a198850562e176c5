"""Results of a study from made-up records."""

from benchmarks.cells import Cell, Code, Record
from benchmarks.store import Store


def record(study, data, method, seed, metrics, *, settings=None, seconds=3.0):
    cell = Cell(study=study.name, method=method, data=data, seed=seed, settings=settings or {})
    return Record(cell=cell, status="done", seconds=seconds, machine="a machine", code=Code("1" * 40), metrics=metrics)


def results_of(study, folder, records):
    store = Store(folder)
    for one in records:
        store.append(one)
    return study.results(store)


def table_row(text, *starts):
    """Return the cells of the only table row that starts with these texts."""
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    (found,) = [parts for parts in rows if all(p.startswith(s) for p, s in zip(parts, starts, strict=False))]
    return found


def check_sections_and_claims(study, sections, without_claim=()):
    """Every data set and method of the study has a section, in order, and every section but the named ones a claim."""
    cells = study.all_cells()
    data = list(dict.fromkeys(cell.data for cell in cells))
    assert [section.data for section in sections] == data
    for section in sections:
        assert list(section.methods) == list(dict.fromkeys(c.method for c in cells if c.data == section.data))
        assert {*section.ranked, *section.each} <= {column.metric for column in section.columns}
        assert {*section.references} <= {*section.methods}
    claimed = list(dict.fromkeys(claim.statement.split(":")[0] for claim in study.claims))
    assert claimed == [name for name in data if name not in without_claim]

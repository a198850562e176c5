"""What is shown of an experiment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mvlvm.experiments.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Page:
    """What is shown of an experiment.

    Attributes:
        tables: in order.
        figures: name -> figure.
        notes: paragraphs above them.
    """

    tables: Sequence[Table] = ()
    figures: "Mapping[str, Figure]" = field(default_factory=dict)
    notes: Sequence[str] = ()

"""The look of methods: a method has the same colour, marker and line in every figure, and ours stands out."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

OURS_COLOUR = "#d55e00"
_OURS = ("ngmvlvm", "ours")
# Colours far apart, none of them near ours, each with the methods that have it: a method of several views, then those
# of one view that it does not stand beside in a table, then the names that other libraries give them.
_FAMILIES = (
    ("#14532d", "MV-ARFLVM", "ARFLVM"),
    ("#1f9e50", "MV-RFLVM", "RFLVM"),
    ("#5db7ea", "MV-GPLVM", "Isomap"),
    ("#0072b2", "MV-NGPLVM", "t-SNE"),
    ("#2b2f8f", "MV-GPLVM-SVI", "GPLVM-SVI", "GPyTorch BayesianGPLVM"),
    ("#8e24aa", "MV-DGPLVM", "DGPLVM"),
    ("#b09bd8", "MRD", "BGPLVM", "GPy MRD", "GPy BayesianGPLVM"),
    ("#7a4a35", "MVAE", "VAE"),
    ("#e48bbf", "MMVAE", "NBVAE"),
    ("#7d7a00", "MOFA", "HPF", "mofapy2"),
    ("#d9b300", "GFA", "latent Dirichlet allocation", "LDA", "cca-zoo GFA"),
    ("#8c8c8c", "MCCA", "linear discriminant analysis", "naive"),
    ("#111111", "PCA"),
    ("#00b3a4", "UMAP", "umap-learn"),
    ("#9ccc3c", "DCA"),
    ("#b0105f", "CVQ-VAE"),
)
_MARKERS = "sD^vPX<>hpd8H"  # filled ones that can be told apart; the circle is ours
_OUR_MARKERS = "osD^vPX"
_LINES = ("-", "-.", ":")  # dashes are left to references
_HATCHES = ("", "////", "....")


class MethodStyle(NamedTuple):
    """How a method is drawn.

    Attributes:
        colour: of its lines, markers and bars.
        marker: at its points.
        line: the style of its lines.
        hatch: of its bars.
        width: of its lines, in points.
        layer: methods of a higher one are drawn over the others.
    """

    colour: str
    marker: str
    line: str
    hatch: str
    width: float
    layer: int


def method_looks(methods: Iterable[str]) -> dict[str, MethodStyle]:
    """Give every method its look, no two the same as long as there are no more than 48.

    The methods of the library have their colour and marker for good, and variants of them, "MV-RFLVM, 200 steps" or
    "PCA (R)", have the method's colour. A name that is not known takes a colour by its letters, or the next that nobody
    else in the figure has. Lines are solid and bars plain unless others in the figure have the same colour.

    Example:
        >>> from mvlvm.plots import method_looks
        >>> method_looks(["NG-MVLVM", "PCA"])["NG-MVLVM"].colour
        '#d55e00'
    """
    names = list(dict.fromkeys(methods))
    looks: dict[str, MethodStyle] = {}
    for name in sorted(names, key=lambda name: (_family(name) is None, _is_variant(name), name)):
        taken = set(looks.values())
        looks[name] = next((look for look in _wishes(name, looks) if look not in taken), _look(0, 0))
    shared = [look.colour for look in looks.values()]
    return {name: looks[name] if shared.count(looks[name].colour) > 1 else _plainest(looks[name]) for name in names}


def is_ours(method: str) -> bool:
    """Say whether a name is that of our method, or of a variant of it."""
    return _plain(base_name(method)) in _OURS


def _wishes(name: str, looks: dict[str, MethodStyle]) -> Iterator[MethodStyle]:
    """Give the looks that a name may have, the best first."""
    if is_ours(name):
        for k, marker in enumerate(_OUR_MARKERS):
            yield MethodStyle(OURS_COLOUR, marker, _LINES[k % 3], _HATCHES[k % 3], 2.2, 2)
    family = _family(name)
    if family is not None:
        own = [_plain(method) for method in _FAMILIES[family][1:]].index(_plain(base_name(name)))
        styles = range(len(_MARKERS))
        yield from (_look(family, k) for k in [*styles[own:], *styles[:own]])
    seen = {look.colour for look in looks.values()}
    start = crc32(_plain(base_name(name)).encode())
    order = [(start + step) % len(_FAMILIES) for step in range(len(_FAMILIES))]
    yield from (_look(place, 0) for place in order if _FAMILIES[place][0] not in seen)
    yield from (_look(place, k) for k in range(len(_MARKERS)) for place in order)


def _plainest(look: MethodStyle) -> MethodStyle:
    return look._replace(line=_LINES[0], hatch=_HATCHES[0])


def _look(family: int, k: int) -> MethodStyle:
    """Give the k-th look of a colour: another marker each time, and three lines and hatches in turn."""
    marker = _MARKERS[(family + 5 * k) % len(_MARKERS)]  # five and thirteen share no divisor
    return MethodStyle(_FAMILIES[family][0], marker, _LINES[k % 3], _HATCHES[k % 3], 1.1, 1)


def _family(name: str) -> int | None:
    wanted = _plain(base_name(name))
    families = ([_plain(method) for method in methods] for _, *methods in _FAMILIES)
    return next((k for k, methods in enumerate(families) if wanted in methods), None)


def base_name(name: str) -> str:
    """Give the method of a variant: what stands before a comma or a bracket."""
    return name.partition(",")[0].partition("(")[0].strip()


def _is_variant(name: str) -> bool:
    return base_name(name) != name


def _plain(name: str) -> str:
    """Give the letters and digits of a name: MV-ARFLVM, MVARFLVM and mv_arflvm are one method."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())

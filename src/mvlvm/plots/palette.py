"""Colours, markers and line styles of methods: the same in every figure, with NG-MVLVM highlighted."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

OURS_COLOUR = "#d55e00"
_OURS = ("ngmvlvm", "ours")
# Well-separated colours, none close to OURS_COLOUR, each with the methods that use it: a multi-view method, then
# single-view methods that seldom appear in the same figure.
_FAMILIES = (
    ("#14532d", "MV-ARFLVM", "ARFLVM"),
    ("#1f9e50", "MV-RFLVM", "RFLVM"),
    ("#5db7ea", "MV-GPLVM", "Isomap"),
    ("#0072b2", "MV-NGPLVM", "t-SNE"),
    ("#2b2f8f", "MV-GPLVM-SVI", "GPLVM-SVI"),
    ("#8e24aa", "MV-DGPLVM", "DGPLVM"),
    ("#b09bd8", "MRD", "BGPLVM"),
    ("#7a4a35", "MVAE", "VAE"),
    ("#e48bbf", "MMVAE", "NBVAE"),
    ("#7d7a00", "MOFA", "HPF"),
    ("#d9b300", "GFA", "latent Dirichlet allocation", "LDA"),
    ("#8c8c8c", "MCCA", "linear discriminant analysis", "naive"),
    ("#111111", "PCA"),
    ("#00b3a4", "UMAP"),
    ("#9ccc3c", "DCA"),
    ("#b0105f", "CVQ-VAE"),
    ("#3355ff", "GPyTorch GPLVM"),
)
_MARKERS = "sD^vPX<>hpd8H"  # filled and distinguishable; the circle is reserved for NG-MVLVM
_OUR_MARKERS = "osD^vPX"
_LINES = ("-", "-.", ":")  # dashes are reserved for reference lines
_HATCHES = ("", "////", "....")


class MethodStyle(NamedTuple):
    """How a method is drawn.

    Attributes:
        colour: colour of lines, markers and bars.
        marker: marker at the points of a line.
        line: line style.
        hatch: hatching of bars.
        width: line width in points.
        layer: drawing order; a method in a higher layer is drawn on top.
    """

    colour: str
    marker: str
    line: str
    hatch: str
    width: float
    layer: int


def method_looks(methods: Iterable[str]) -> dict[str, MethodStyle]:
    """Return the style of every method; the styles are distinct for up to 48 methods.

    Each method of the library has a fixed colour and marker, and its variants, such as "MV-RFLVM, 200 steps" or
    "PCA (R)", share its colour. The colour of an unknown name is a hash of the name, or the next colour that is unused
    in the figure. Lines are solid and bars plain unless several methods of the figure share a colour.

    Args:
        methods: names of the methods that appear together in a figure; repeated names count once.

    Returns:
        name -> `MethodStyle`, in the order of `methods`.

    Example:
        >>> from mvlvm.plots import method_looks
        >>> method_looks(["NG-MVLVM", "PCA"])["NG-MVLVM"].colour
        '#d55e00'
    """
    names = list(dict.fromkeys(methods))
    styles: dict[str, MethodStyle] = {}
    for name in sorted(names, key=lambda name: (_family(name) is None, _is_variant(name), name)):
        taken = set(styles.values())
        styles[name] = next((style for style in _candidates(name, styles) if style not in taken), _style(0, 0))
    colours = [style.colour for style in styles.values()]
    shared = {colour for colour in colours if colours.count(colour) > 1}
    return {name: styles[name] if styles[name].colour in shared else _solid(styles[name]) for name in names}


def is_ours(method: str) -> bool:
    """Return whether a name is that of NG-MVLVM or of a variant of it."""
    return _normalised(base_name(method)) in _OURS


def _candidates(name: str, used: dict[str, MethodStyle]) -> Iterator[MethodStyle]:
    """Yield the styles that a method may have, in order of preference."""
    if is_ours(name):
        for k, marker in enumerate(_OUR_MARKERS):
            yield MethodStyle(OURS_COLOUR, marker, _LINES[k % 3], _HATCHES[k % 3], 2.2, 2)
    family = _family(name)
    if family is not None:
        first = [_normalised(method) for method in _FAMILIES[family][1:]].index(_normalised(base_name(name)))
        variants = range(len(_MARKERS))
        yield from (_style(family, k) for k in [*variants[first:], *variants[:first]])
    used_colours = {style.colour for style in used.values()}
    start = crc32(_normalised(base_name(name)).encode())
    order = [(start + step) % len(_FAMILIES) for step in range(len(_FAMILIES))]
    yield from (_style(family, 0) for family in order if _FAMILIES[family][0] not in used_colours)
    yield from (_style(family, k) for k in range(len(_MARKERS)) for family in order)


def _solid(style: MethodStyle) -> MethodStyle:
    return style._replace(line=_LINES[0], hatch=_HATCHES[0])


def _style(family: int, k: int) -> MethodStyle:
    """Return the k-th style of a colour: a different marker for each, cycling through three lines and hatches."""
    marker = _MARKERS[(family + 5 * k) % len(_MARKERS)]  # 5 and 13, the number of markers, are coprime
    return MethodStyle(_FAMILIES[family][0], marker, _LINES[k % 3], _HATCHES[k % 3], 1.1, 1)


def _family(name: str) -> int | None:
    """Return the index of the method's colour in `_FAMILIES`, or None for an unknown method."""
    wanted = _normalised(base_name(name))
    families = ([_normalised(method) for method in methods] for _, *methods in _FAMILIES)
    return next((k for k, methods in enumerate(families) if wanted in methods), None)


def base_name(name: str) -> str:
    """Return the method of a variant: the part of the name before a comma or parenthesis."""
    return name.partition(",")[0].partition("(")[0].strip()


def _is_variant(name: str) -> bool:
    return base_name(name) != name


def _normalised(name: str) -> str:
    """Return the letters and digits of a name in lower case: MV-ARFLVM, MVARFLVM and mv_arflvm are one method."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())

"""Figures. The only package that needs matplotlib: `pip install "mvlvm[plots]"`."""

from mvlvm.plots.bars import plot_bars
from mvlvm.plots.curves import plot_bounds, plot_curve_panels, plot_curves, plot_history
from mvlvm.plots.embedding import plot_embedding
from mvlvm.plots.heat_map import plot_heat_map
from mvlvm.plots.image_grids import plot_contact_sheet, plot_image_rows
from mvlvm.plots.kernel_matrices import plot_kernel_matrix, plot_kernels, plot_toy_comparison
from mvlvm.plots.latent_scatter import plot_labelled_latents, plot_latent_gallery, plot_latents_along_curve
from mvlvm.plots.overview import plot_overview
from mvlvm.plots.palette import method_looks
from mvlvm.plots.relevance import plot_explained_variance, plot_relevance
from mvlvm.plots.reliability import plot_reliability
from mvlvm.plots.style import write

__all__ = [
    "method_looks",
    "plot_bars",
    "plot_bounds",
    "plot_contact_sheet",
    "plot_curve_panels",
    "plot_curves",
    "plot_embedding",
    "plot_explained_variance",
    "plot_heat_map",
    "plot_history",
    "plot_image_rows",
    "plot_kernel_matrix",
    "plot_kernels",
    "plot_labelled_latents",
    "plot_latent_gallery",
    "plot_latents_along_curve",
    "plot_overview",
    "plot_relevance",
    "plot_reliability",
    "plot_toy_comparison",
    "write",
]

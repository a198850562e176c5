"""Views: several measurements of the same samples."""

from mvlvm.views.checking import as_views
from mvlvm.views.container import Views
from mvlvm.views.interop import Layout
from mvlvm.views.reading import read
from mvlvm.views.scaling import Scaling, fit_scaling, fit_scalings

__all__ = ["Layout", "Scaling", "Views", "as_views", "fit_scaling", "fit_scalings", "read"]

"""The Gibbs-Appell method and the classical forms of the equations."""
from .gibbs_appell import GibbsAppellMethod

__all__ = ['GibbsAppellMethod']

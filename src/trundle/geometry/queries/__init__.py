"""Questions to a boundary, as functions that `Shape` has as methods.

`sampling` turns expressions into numbers, `distance` and `locate` find closest points and chart coordinates, `mesh`
(and `marching` for level sets) and `mass` make meshes and moments, `regularity` checks shapes that users give.
"""

from trundle.geometry.queries.locate import refine
from trundle.geometry.queries.regularity import check_convex, check_regular, check_simple
from trundle.geometry.queries.sampling import numeric_charts

__all__ = [
    "check_convex",
    "check_regular",
    "check_simple",
    "numeric_charts",
    "refine",
]

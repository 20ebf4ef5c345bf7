"""Questions to a boundary, as functions that `Shape` has as methods.

`sampling` turns expressions into numbers, `distance` and `locate` find closest points and chart coordinates, `mesh`
(and `marching` for level sets) and `mass` make meshes and moments, `regularity` checks shapes that users give.
"""

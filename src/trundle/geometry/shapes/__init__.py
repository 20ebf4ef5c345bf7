"""Concrete shapes, each a frozen dataclass that gives its `Representations`.

`curves` are planar, `surfaces` and `revolution` spatial, `bodies` and `rounding` convex by their support functions,
`expressions` come from functions of the user, `abstract` has the bases to subclass with one method; `build` and
`star` make representations from expressions, `sizes` checks lengths. `trundle.geometry` hands on the names.
"""

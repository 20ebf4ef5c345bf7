"""The numbers of a model by name: masses, inertias, friction, sizes of shapes and coefficients of terrain.

`places` finds them, `changed` makes the same model with other numbers, or with symbols in their place: `freed` models
share what is compiled between all values of some numbers.
"""

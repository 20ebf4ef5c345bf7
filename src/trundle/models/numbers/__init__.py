"""The numbers of a model by name: masses, inertias, friction, sizes of shapes and coefficients of terrain.

`places` finds them, `change_numbers` makes the same model with other numbers, or with symbols in their place: models of
`free_numbers` share what is compiled between all values of some numbers.
"""

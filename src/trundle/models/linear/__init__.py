"""Models as mathematics: linear models about a state, equilibria and steady motions.

`constraints` says what a motion keeps, `sizes` what of it is round-off, `coordinates` chooses independent coordinates
on that manifold, `point` holds the equations of motion there, `steady` finds whether a state moves on as a whole,
`linearize` differentiates, `differences` checks it in every call, `equilibrium` searches.
"""

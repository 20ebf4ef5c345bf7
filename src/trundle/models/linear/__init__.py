"""Models as mathematics: linear models about a state, equilibria and steady motions.

`coordinates` chooses independent coordinates on the manifold of the constraints, `steady` finds whether a state moves
on as a whole, `linearize` differentiates the equations of motion there, `equilibrium` searches.
"""

"""Transfers: an object brought on a hand from a start to a goal by rolling.

`transfer` has what a user says (`Transfer`, `Goal`, limits, weights), `formulation` the optimal control problem of it,
`guess` where a solver starts. `refine.plan` solves on finer and finer meshes; after each `replay` simulates the inputs
and `check_limits` compares the replay with goal and limits. `paper2_collocation` is the program as paper 2 prints it.
"""

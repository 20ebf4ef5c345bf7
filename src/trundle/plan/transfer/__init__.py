"""Transfers: an object brought on a hand from a start to a goal by rolling.

`transfer` has what a user says (`Transfer`, `Goal`, limits, weights), `formulation` the optimal control problem of it,
`guess` where a solver starts. `refine.plan` solves on finer and finer meshes; after each `replay` simulates the inputs
and `judge` compares the replay with the goal. `rolling_ball` plans a ball on a plane by nodes of straight rolls.
"""

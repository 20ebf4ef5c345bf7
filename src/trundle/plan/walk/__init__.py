"""Walks: periodic gaits of a biped with soles, and limit cycles of passive walkers.

`walking` makes the optimal control problem of a step and its guess, `plan` solves it and keeps the result (`WalkPlan`),
`record` makes a trajectory of it. `limit_cycle` finds the fixed points of a stride map and their stability.
"""

"""Plans of walks: periodic gaits of a biped with soles, steps of robots, and transfers of a rolling ball.

`walking` makes the optimal control problem of a step and its guess, `plan` solves it and keeps the result (`WalkPlan`),
`record` makes a trajectory of it; `robot_steps` does all that for a robot of a URDF. `rolling_ball` plans a ball on a
plane by nodes of straight rolls.
"""

"""A step as an optimal control problem: its stages, contacts, feet, ground and goals.

`walking` and `gait` state the avatar's walk, `robot_gait` and `robot_steps` that of a robot of a URDF; `stepping`
has the phases, `supports`, `soles` and `ground` what stands where, `landing` the impact, `tracking` measured walking.
"""

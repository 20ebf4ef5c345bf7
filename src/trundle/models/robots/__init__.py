"""Particular robots and what surrounds them.

`humanoid` is a description with soles, hands and a posture from one TOML file; `joint_patterns` numbers by patterns of
joint names, `limbs` where arms and legs begin and how far they reach, `capsules` and `self_distance` which parts must
keep apart and how far they are. `obstacles` and `terrain` are what a robot does not touch and what it stands on.
`avatar` is a person of given size and mass (drawn with `body_shapes`), `passive_walker` two legs on a slope.
"""

"""Particular robots and what surrounds them.

`humanoid` is a description with soles, hands and a posture from one TOML file; `joint_patterns` numbers by patterns of
joint names, `capsules` which parts must keep apart, `inverse_kinematics` the configuration that puts frames in places.
"""

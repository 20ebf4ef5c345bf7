"""What surrounds a humanoid, and its twin in MuJoCo.

`terrain` is what it stands on, `obstacles` what it must not touch, `self_distance` how far its own parts are apart,
`limbs` and `limits` say where limbs begin and what they can bear; `mujoco_humanoid` simulates it.
"""

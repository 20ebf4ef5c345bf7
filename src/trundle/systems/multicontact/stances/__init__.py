"""Stances: sets of contacts of a humanoid, each with a configuration at rest on it, and the motions between them.

`pose.find_pose` finds the configuration, `equilibrium` whether contact forces and torques can
bear it, `stances.plan_stances` a sequence with its timing, `swing` the paths of the limbs. `arms` places hands alone,
`footsteps` searches for footholds, `resting` says where on the way a robot could rest, `checks` refuses what no pose
reaches.
"""

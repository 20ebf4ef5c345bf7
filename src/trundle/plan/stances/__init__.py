"""Stances: sets of contacts of a humanoid, each with a configuration at rest on it, and the motions between them.

`pose.find_pose` finds the configuration by inverse kinematics, `equilibrium` whether contact forces and torques can
bear it, `stances.plan_stances` a sequence with its timing, `swing` the paths of the limbs. `arms` places hands alone,
`checks` refuses footholds that no pose reaches.
"""

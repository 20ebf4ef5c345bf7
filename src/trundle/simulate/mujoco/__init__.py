"""Robots in MuJoCo under a sampled controller.

`mjcf` writes models (`mujoco.MjSpec`); `plant.MujocoPlant` runs one with a policy, `sensors` (noise, delay, faults) and
`pushes` (forces, actions at a time), and returns a `PlantRun`; `view` says what may be read meanwhile. Robots write
their own model with `mjcf`. MuJoCo itself is loaded when the first model is made.
"""

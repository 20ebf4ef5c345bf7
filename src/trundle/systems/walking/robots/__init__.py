"""What walks: a person of given size and mass, and robots with feet of a URDF.

`avatar` is the person (`avatar_feet`, drawn with `body_shapes`), `legged` a robot on its feet, `soles` their soles.
"""

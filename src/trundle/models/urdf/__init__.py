"""Robot descriptions (URDF): read, checked, and turned into models.

`xml` reads untrusted files, `checks` and `joints` refuse what is no robot, `description` repairs inertias, `meshes`
reads those of links. `lock` holds joints fixed, `tree` merges links that fixed joints hold together,
`robot` makes a `RollingTree` with feet of it (symbolic, for simulation and plans), `articulated` Pinocchio's model
(numbers, for control). `examples` finds the installed public robots.
"""

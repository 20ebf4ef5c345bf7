"""Trees of bodies: equations of motion in plane and space, with contacts.

`tree` is the builder; `joint` says how a body moves on its parent, `joints` and `rolling_joint` are the ways there are
(a joint of your own derives from `joint.VectorJoint` or `joint.Joint`); `multibody` the inertia and
constrained dynamics of any set of motions (`composite`, `constrained`), `model` the tree's own state and layout.
`system` holds the models of one set of bodies in all modes and charts, as `simulate` and `plan` read them; `approach`,
`touching` and `closing` find its start, `conversion` and `rolling_kinematics` its rolling coordinates.
"""

"""Control of the wall-bouncing robot: plans on two levels over a fast low level.

`level` is the problem both plans share, with the costs of `costs`; `ContactImplicit` finds contacts by soft forces,
`schedule` reads them off its plan, `HybridControl` keeps them. `plans` calls both from measured states along the
`reference`, whose path leads round boxes on the side that `visibility` finds shorter. `TwoLevel` runs them in time and
`LowLevel` follows the newest plan.
"""

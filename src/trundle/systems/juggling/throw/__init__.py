"""Throw and catch: an object thrown by a hand in the plane and caught at rest.

`throw.ThrowCatch` is the task; `profiles` has the pulses of the hand's acceleration, `shooting` the search for their
parameters through simulated flights, `goal` the phases a run must pass and how far it is from the goal, and
`policy.PlayThenHold` plays the planned motion.
"""

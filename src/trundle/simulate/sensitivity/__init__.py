"""Derivatives of simulations through their changes of mode, and parameters from measured motions.

`trace` runs and keeps what was integrated, `crossing` differentiates the instant of an event and what follows it,
`forward` carries sensitivities along, `backward` gradients of a cost; `identify` fits parameters with them.
"""

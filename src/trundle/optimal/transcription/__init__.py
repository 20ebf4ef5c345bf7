"""Transcription of optimal control problems to nonlinear programs.

`transcription.Transcription` makes the program of a problem by the trapezoidal rule, by Hermite-Simpson collocation or
by multiple shooting, and takes its solution apart again; `midpoint` holds the implicit midpoint rule of walks,
`shooting` multiple shooting over the same intervals with accelerations and forces eliminated,
`assembly` the assembly of Jacobians and Hessians from those of single intervals.
"""

"""Shapes and circles from measured points.

`sampled` has splines through points and height maps; `circle_fit` finds the circle nearest to points.
"""

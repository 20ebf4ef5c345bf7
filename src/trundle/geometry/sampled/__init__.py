"""Shapes and circles from measured points.

`sampled` has splines through points and height maps; `circle_fit` finds the circle nearest to points.
"""

from trundle.geometry.sampled.circle_fit import CircleFit, fit_circle
from trundle.geometry.sampled.sampled import HeightMap, SampledCurve, SampledSurface

__all__ = [
    "CircleFit",
    "HeightMap",
    "SampledCurve",
    "SampledSurface",
    "fit_circle",
]

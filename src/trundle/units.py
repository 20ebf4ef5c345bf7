"""Units and conversions: inside trundle everything is SI and radians."""

from __future__ import annotations

import math

GRAVITY = 9.81
"""Standard gravity used by every scenario, m/s2."""

DEGREE = math.pi / 180.0
"""One degree in rad."""

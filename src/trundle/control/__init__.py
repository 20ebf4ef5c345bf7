"""Controllers of pairs: linear-quadratic regulators on chart-free errors."""

from trundle.control.balancing import BalancingLQR
from trundle.control.linearization import Linearization
from trundle.control.local_error import LocalError
from trundle.control.lqr import TrackingLQR

__all__ = ["BalancingLQR", "Linearization", "LocalError", "TrackingLQR"]

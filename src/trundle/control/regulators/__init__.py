"""Linear-quadratic regulators on errors that know no charts.

`LocalError` measures how far a state is from a reference, `Linearization` differentiates its dynamics, `regulation`
solves for gains about an equilibrium. `BalancingLQR` and `TrackingLQR` feed back with them, `Switching` chooses among
policies by `attraction_level`. `lqr` returns gains of any model by the names of its states.
"""

from trundle.control.regulators.balancing import BalancingLQR
from trundle.control.regulators.hand_inputs import InputBound, InputLimit
from trundle.control.regulators.linearization import Linearization, dynamics_of
from trundle.control.regulators.local_error import LocalError
from trundle.control.regulators.lqr import lqr
from trundle.control.regulators.region import attraction_level
from trundle.control.regulators.rolling_state import in_rolling_coordinates
from trundle.control.regulators.switching import Switching
from trundle.control.regulators.tracking import TrackingLQR

__all__ = [
    "BalancingLQR",
    "InputBound",
    "InputLimit",
    "Linearization",
    "LocalError",
    "Switching",
    "TrackingLQR",
    "attraction_level",
    "dynamics_of",
    "in_rolling_coordinates",
    "lqr",
]

"""Wallbounce: a robot that balances on a ball and pushes off walls, under two levels of plans (paper 5).

`BallBalancer` is its model, `BalancerPlant` its twin in MuJoCo; `ContactImplicit` and `HybridControl` plan, `LowLevel`
follows, `TwoLevel` joins them; `impulse_bound` says how hard a push may be. `scenario` has what ``trundle run`` needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trundle.lazy import lazy_names

if TYPE_CHECKING:  # what editors and type checkers see; tests/test_imports.py keeps it equal to the table below
    from trundle.systems.wallbounce.bound import impulse_bound as impulse_bound
    from trundle.systems.wallbounce.control.contact_implicit import ContactImplicit as ContactImplicit
    from trundle.systems.wallbounce.control.hybrid import HybridControl as HybridControl
    from trundle.systems.wallbounce.control.low_level import LowLevel as LowLevel
    from trundle.systems.wallbounce.control.two_level import TwoLevel as TwoLevel
    from trundle.systems.wallbounce.plant import BalancerPlant as BalancerPlant
    from trundle.systems.wallbounce.robot import BallBalancer as BallBalancer

_HOMES = {
    "bound": "impulse_bound",
    "control.contact_implicit": "ContactImplicit",
    "control.hybrid": "HybridControl",
    "control.low_level": "LowLevel",
    "control.two_level": "TwoLevel",
    "plant": "BalancerPlant",
    "robot": "BallBalancer",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)  # pyright: ignore[reportUnsupportedDunderAll]

"""Trundle's contacts in other libraries: `pinocchio` and `crocoddyl`, loaded when they are first read.

``tr.interop.pinocchio`` gives contact rows in Pinocchio's coordinates, as numbers and as CasADi functions;
``tr.interop.crocoddyl`` a contact model made of them. `touch` evaluates one contact, `description` reads Pinocchio's
models, `functions` writes the CasADi functions.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trundle.interop import crocoddyl as crocoddyl
    from trundle.interop import pinocchio as pinocchio

_MODULES = ("comparison", "crocoddyl", "mujoco", "pinocchio")


def __getattr__(name: str) -> ModuleType:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return list(_MODULES)

"""Trundle's contacts and scenes in other libraries, loaded when they are first read.

``tr.interop.pinocchio`` gives contact rows in Pinocchio's coordinates, as numbers and as CasADi functions;
``tr.interop.crocoddyl`` a contact model made of them. `touch` evaluates one contact, `description` reads Pinocchio's
models, `functions` writes the CasADi functions.

``tr.interop.mujoco`` writes a pair or a tree for MuJoCo, ``tr.interop.comparison`` runs it in several simulators:
`scene` is what they take, made of `forms` of shapes, and `mujoco`, `pybullet` and `drake` run it (`peers`).
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trundle.interop import comparison as comparison
    from trundle.interop import crocoddyl as crocoddyl
    from trundle.interop import mujoco as mujoco
    from trundle.interop import pinocchio as pinocchio

_MODULES = ("comparison", "crocoddyl", "mujoco", "pinocchio")


def __getattr__(name: str) -> ModuleType:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return list(_MODULES)

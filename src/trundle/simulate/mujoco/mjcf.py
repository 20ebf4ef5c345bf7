"""MuJoCo models written at run time: what every plant's `mujoco.MjSpec` has in common."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from trundle.checks import FloatArray
from trundle.errors import InputError, optional
from trundle.numerics.rotations import quaternion_of

if TYPE_CHECKING:
    import mujoco

Vector = Sequence[float] | FloatArray
_log = logging.getLogger("trundle.mujoco")

ROLLING, TORSIONAL = 0.0001, 0.005
"""MuJoCo's default friction against rolling and torsion, m."""
_INERTIA = np.array([0, 1, 2, 0, 0, 1]), np.array([0, 1, 2, 1, 2, 2])


def load_mujoco() -> ModuleType:
    """Return the module `mujoco`.

    Its warnings go to Python's log, ``trundle.mujoco``, unless a function of the user's takes them: MuJoCo itself
    would write ``MUJOCO_LOG.TXT`` into the working directory.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    mj = optional("mujoco", "mujoco", "sim")
    if mj.get_mju_user_warning() is None:
        mj.set_mju_user_warning(_log.warning)
    return mj


def new_spec(name: str, step: float, gravity: Vector) -> mujoco.MjSpec:
    """Return an empty model: radians, implicitfast integrator of this `step` (s), elliptic friction cones.

    Tangential constraints are ten times as stiff as normal ones (``impratio``), against creep in friction.
    """
    mj = load_mujoco()
    spec = mj.MjSpec()
    spec.modelname = name
    spec.compiler.degree = False
    option = spec.option
    option.timestep, option.gravity, option.impratio = step, gravity, 10.0
    option.integrator, option.cone = mj.mjtIntegrator.mjINT_IMPLICITFAST, mj.mjtCone.mjCONE_ELLIPTIC
    return spec


def compile_mjcf(model: str | mujoco.MjSpec) -> mujoco.MjModel:
    """Return the compiled model of MJCF text or of a specification.

    Raises
    ------
    InputError
        If MuJoCo refuses it.
    """
    mj = load_mujoco()
    try:
        return (mj.MjSpec.from_string(model) if isinstance(model, str) else model).compile()
    except ValueError as error:
        raise InputError("model", " ".join(str(error).split()), "a model that MuJoCo accepts") from None


@dataclass(frozen=True)
class GeomContact:
    """Contact properties of a geom.

    Parameters
    ----------
    contype, conaffinity : int
        Bit masks: two geoms collide where the ``contype`` of one and the ``conaffinity`` of the other share a bit.
    friction : float
    torsional : float, m
    condim : int
        3: sliding friction; 4: torsional friction too.
    priority : int
        The geom with the higher one decides friction and impedance of the pair.
    solimp : 5 of float, optional
        Impedance.
    """

    contype: int
    conaffinity: int
    friction: float = 1.0
    torsional: float = TORSIONAL
    condim: int = 3
    priority: int = 0
    solimp: tuple[float, ...] | None = None


def add_geom(
    body: mujoco.MjsBody,
    name: str,
    kind: str,
    size: Vector,
    surface: GeomContact,
    *,
    position: Vector = (0.0, 0.0, 0.0),
    R: FloatArray | None = None,
    mass: float | None = None,
) -> mujoco.MjsGeom:
    """Add a geom to a body and return it.

    Parameters
    ----------
    kind : "plane", "box", "sphere", "ellipsoid", "capsule", "cylinder", "mesh" or "hfield"
    size : sequence of float, m
        As MuJoCo has it: half sides; radius; radius and half length.
    position, R : (3,) m, (3, 3)
        In the axes of the body.
    mass : float, optional
        Default: by MuJoCo's density, which matters only to bodies without an inertia of their own.
    """
    geom = body.add_geom(name=name, type=getattr(load_mujoco().mjtGeom, f"mjGEOM_{kind.upper()}"), pos=position)
    geom.size = np.resize(np.append(np.asarray(size, dtype=np.float64), np.zeros(3)), 3)
    if R is not None:
        geom.quat = quaternion_of(R)
    geom.contype, geom.conaffinity, geom.condim = surface.contype, surface.conaffinity, surface.condim
    geom.friction, geom.priority = [surface.friction, surface.torsional, ROLLING], surface.priority
    if surface.solimp is not None:
        geom.solimp = surface.solimp
    if mass is not None:
        geom.mass = mass
    return geom


def set_inertia(body: mujoco.MjsBody, mass: float, com: Vector, inertia: FloatArray) -> None:
    """Set mass (kg), centre of mass (3,) m and inertia (3, 3) about it, kg m2, in the body's axes.

    MuJoCo refuses A + B = C, that of a flat body: it is made thicker, by 1e-8.
    """
    body.mass, body.ipos, body.explicitinertial = mass, com, True
    a, b, c = np.linalg.eigvalsh(inertia)
    thick = inertia if a + b > c * (1 + 1e-9) else inertia + 1e-8 * c * np.eye(3)
    body.fullinertia = np.asarray(thick)[_INERTIA]


def add_motor(spec: mujoco.MjSpec, joint: str, name: str = "", *, limit: float | None = None) -> mujoco.MjsActuator:
    """Add a motor: its control is the joint's torque (N m) or force (N), within +-`limit`."""
    mj = load_mujoco()
    motor = spec.add_actuator(name=name, target=joint, trntype=mj.mjtTrn.mjTRN_JOINT)
    motor.gainprm[0] = 1.0
    if limit is not None:
        motor.ctrlrange, motor.ctrllimited = [-limit, limit], mj.mjtLimited.mjLIMITED_TRUE
    return motor


def add_pair(
    spec: mujoco.MjSpec,
    first: str,
    second: str,
    friction: float,
    *,
    torsional: float = TORSIONAL,
    rolling: float = ROLLING,
    condim: int = 3,
    solref: Vector | None = None,
    solimp: Vector | None = None,
) -> None:
    """Let two geoms, by name, collide whatever their masks say, with these coefficients of friction (m but the first).

    `solref` and `solimp` are MuJoCo's own unless given.
    """
    coefficients = [friction, friction, torsional, rolling, rolling]
    given = {key: value for key, value in (("solref", solref), ("solimp", solimp)) if value is not None}
    spec.add_pair(geomname1=first, geomname2=second, condim=condim, friction=coefficients, **given)

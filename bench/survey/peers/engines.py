"""The simulators with their settings, and their runs as the judge reads them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.survey.described import quaternion_turn
from bench.survey.peers.scenes import OUTPUT
from bench.survey.source import placed
from bench.survey.spec import Spec
from tests.oracles.laws import Motion, Pushes
from trundle.interop.peers import Peer, PeerRun, divide_interval, peer
from trundle.interop.scene import PeerScene, scene_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """A simulator with a step (s) and options of its ``run``, by name and value."""

    engine: str
    module: str
    said: str
    step: float
    options: tuple[tuple[str, Any], ...] = ()

    @property
    def label(self) -> str:
        """The engine and how it is set."""
        return f"{self.engine}, {self.said}"

    @property
    def actual_step(self) -> float:
        """The step (s) that divides the time between samples."""
        return divide_interval(np.array([0.0, OUTPUT]), self.step)[0]


def _at(engine: str, module: str, said: str, steps: tuple[float, ...], **options: Any) -> tuple[Setting, ...]:
    """Return a setting with several steps."""
    return tuple(Setting(engine, module, said, step, tuple(options.items())) for step in steps)


_SHORT = 0.25e-3  # s
_MODULUS = 1e7  # Pa, Drake's own
SETTINGS = (
    *_at("MuJoCo", "mujoco", "as it comes", (2e-3, _SHORT), contact="default", integrator="euler"),
    *_at(
        "MuJoCo",
        "mujoco",
        "elliptic cones, impratio 10, implicitfast",
        (2e-3, _SHORT),
        contact="default",
        impratio=10.0,
    ),
    *_at("MuJoCo", "mujoco", "the same, solref of two steps", (2e-3, _SHORT), contact="hard", impratio=10.0),
    *_at("Drake", "drake", "Lagged", (1e-3, _SHORT), contact="default", solver="lagged", modulus=_MODULUS),
    *_at("Drake", "drake", "SAP", (1e-3, _SHORT), contact="default", solver="sap", modulus=_MODULUS),
    *_at("Drake", "drake", "SAP, 1e7 N/m, 10 ms", (_SHORT,), solver="sap", modulus=1e8, stiffness=1e7, relaxation=1e-2),
    *_at("PyBullet", "pybullet", "as it comes", (1 / 240, _SHORT), contact="default"),
    *_at("PyBullet", "pybullet", "200 iterations", (_SHORT,), contact="hard"),
)
"""As they come, as their makers advise, and as hard as their steps allow.

Drake's boxes and cylinders touch by surfaces ("hydroelastic"), as its faces need, round bodies by points.
"""


def handed(spec: Spec) -> PeerScene:
    """Return a scene as other simulators take it, by the package's own way to hand scenes over."""
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(placed(spec), "<scene>", "exec"), names)  # the script is the survey's own text
    return scene_of(names["tree"], names["start"])


def engine_run(scene: PeerScene, spec: Spec, setting: Setting) -> PeerRun:
    """Return a simulator's run of a scene, with its contacts' impulses."""
    times = OUTPUT * np.arange(round(spec.duration / OUTPUT) + 1, dtype=np.float64)
    engine: Peer = peer(setting.module)
    return engine.run(scene, times, setting.step, pushes=True, **dict(setting.options))


def peer_motion(spec: Spec, scene: PeerScene, found: PeerRun, step: float) -> Motion:
    """Return what the judge reads of a simulator's run: bodies in the scene's order, at their centres of mass."""
    order = [[body.name for body in scene.bodies].index(one.name) for one in spec.bodies]
    poses = found.bodies[:, order]
    R = quaternion_turn(poses[..., 3:7])
    arm = np.einsum("nbij,bj->nbi", R, np.array([scene.bodies[k].com for k in order]))
    omega = poses[..., 7:10]
    return Motion(
        OUTPUT * np.arange(len(poses)),
        poses[..., :3] + arm,
        R,
        poses[..., 10:] + np.cross(omega, arm),
        omega,
        pushes=_pushes_of(spec, found, step),
    )


def _pushes_of(spec: Spec, found: PeerRun, step: float) -> Pushes:
    number = {one.name: i for i, one in enumerate(spec.bodies)} | {"": -1}
    rows = found.pushes

    def vectors(name: str) -> Array:
        return np.array([getattr(row, name) for row in rows]).reshape(-1, 3)

    def numbers(values: list[int]) -> NDArray[np.intp]:
        return np.array(values, dtype=np.intp)

    return Pushes(
        numbers([row.sample - 1 for row in rows]),
        numbers([number[row.first] for row in rows]),
        numbers([number[row.second] for row in rows]),
        vectors("normal"),
        vectors("impulse"),
        vectors("first_arm"),
        vectors("second_arm"),
        vectors("couple"),
        step,
    )

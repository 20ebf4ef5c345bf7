"""``python -m bench.interop``: what contact rows of rolling feet cost, in Pinocchio's coordinates and in trundle's own.

CPU time of one call, the least of seven batches. Crocoddyl's lines need it (`pip install '.[crocoddyl]'`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import process_time

import casadi as ca
import numpy as np

import trundle as tr
from trundle.checks import FloatArray
from trundle.contact.laws import ROLLING
from trundle.interop.crocoddyl import contact_model
from trundle.interop.pinocchio import RollingFeet
from trundle.numerics.compiled.buffered import BufferedFunction
from trundle.numerics.compiled.compile import compile_function

HOPPER = Path(__file__).resolve().parents[1] / "examples" / "hopper.urdf"
SOLE = tr.Ellipsoid([0.1, 0.05, 0.06])  # m
SIDES = ("left", "right")


def spent(call: Callable[[], object], calls: int = 300) -> float:
    """Return the CPU time of one call, us."""
    times = []
    for _ in range(7):
        start = process_time()
        for _ in range(calls):
            call()
        times.append((process_time() - start) / calls)
    return 1e6 * min(times)


def own(robot: tr.RollingTree) -> dict[str, BufferedFunction]:
    """Return trundle's compiled functions of a robot's (x, u): the contact rows, and the accelerations."""
    model = robot.model()
    dynamics = model.dynamics([ROLLING] * len(robot.parts))
    values = {"rows": ca.vertcat(ca.vec(dynamics.terms.J), dynamics.terms.b), "accelerations": dynamics.nudot}
    made = {name: ca.Function(name, [model.x, model.u], [ca.densify(value)]) for name, value in values.items()}
    return {name: BufferedFunction(compile_function(function)) for name, function in made.items()}


def crocoddyl_lines(feet: RollingFeet, x: FloatArray) -> list[tuple[str, float]]:
    """Time the contact dynamics of one node with rolling feet, and with Crocoddyl's own point contacts."""
    cd, pin = import_module("crocoddyl"), import_module("pinocchio")
    state, lines = cd.StateMultibody(feet.model), []
    drives = cd.ActuationModelFloatingBase(state)
    for label in ("rolling feet", "its own points"):
        contacts = cd.ContactModelMultiple(state, drives.nu)
        for one in feet.contacts:
            at = (one.frame, np.zeros(3), pin.LOCAL_WORLD_ALIGNED, drives.nu, np.zeros(2))
            contact = (
                cd.ContactModel3D(state, *at) if "own" in label else contact_model(state, feet, one.name, drives.nu)
            )
            contacts.addContact(one.name, contact)
        costs = cd.CostModelSum(state, drives.nu)
        dynamics = cd.DifferentialActionModelContactFwdDynamics(state, drives, contacts, costs, 0.0, True)
        data, u = dynamics.createData(), np.zeros(drives.nu)
        lines += [(f"Crocoddyl, {label}: calc of a node", spent(partial(dynamics.calc, data, x, u)))]
        lines += [(f"Crocoddyl, {label}: calcDiff", spent(partial(dynamics.calcDiff, data, x, u)))]
    return lines


def main() -> None:
    """Print the table of a biped with twelve freedoms and of the avatar, each on two ellipsoids."""
    avatar, shank = tr.walking.build_avatar(), (0.0, 0.0, -0.22)  # m
    robots = {
        "hopper": (tr.load_urdf(HOPPER), {side: tr.Foot(SOLE, f"{side}_shank", shank) for side in SIDES}),
        "avatar": (
            avatar.robot,
            {side: tr.Foot(avatar.foot.sole, f"{side}_foot", avatar.foot.center) for side in SIDES},
        ),
    }
    for name, (urdf, pads) in robots.items():
        feet, robot = RollingFeet(urdf, pads), tr.robot_from_urdf(urdf, pads)
        q, v = feet.neutral, np.full(feet.model.nv, 0.1)
        J, bias = (BufferedFunction(compile_function(f)) for f in (feet.functions().J, feet.functions().bias))
        lines = [("rows(q, v): J, bias, gap, frame, point", spent(partial(feet.rows, q, v)))]
        lines += [("slopes(q, v): J_q, bias_q, bias_v", spent(partial(feet.slopes, q, v), 30))]
        lines += [("functions(), compiled: J", spent(partial(J, q))), ("and bias", spent(partial(bias, q, v)))]
        x, u = (np.zeros(n.shape[0]) for n in (robot.model().x, robot.model().u))
        x[3] = 1.0
        lines += [(f"trundle's own tree, compiled: {of}", spent(partial(f, x, u))) for of, f in own(robot).items()]
        if find_spec("crocoddyl"):
            lines += crocoddyl_lines(feet, np.concatenate([q, v]))
        print(f"{name}, {feet.model.nv} freedoms, two feet, us of CPU")
        print("\n".join(f"  {label:45}{time:9.1f}" for label, time in lines))


if __name__ == "__main__":
    main()

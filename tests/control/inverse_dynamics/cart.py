"""A cart on two wheels that roll on level ground: torques change its speed and cannot change its pitch."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import trundle as tr
from trundle.contact.laws import ROLLING
from trundle.control.inverse_dynamics import tasks as tk
from trundle.control.inverse_dynamics.inverse_dynamics import InverseDynamics


@dataclass(frozen=True)
class Cart:
    """A cart that moves at 0.2 m/s, and a controller that shall stop it."""

    tree: tr.RollingTree
    start: tr.Start
    controller: InverseDynamics
    reference: NDArray[np.float64]


def cart_controller(level: int, form: str = "torque") -> Cart:
    """Return the cart with its pitch on level 0 and its speed on `level`."""
    robot = tr.Robot()
    base = robot.free(20.0, 1.2, name="base")
    for name, x in (("front", 0.3), ("rear", -0.3)):
        robot.revolute(base, (x, -0.3), 1.0, shape=tr.Circle(0.12), name=name)
    robot.terrain(tr.Line(), friction=3.0)
    tree = robot.finish()
    start = tree.place(base=(0.0, 0.42, 0.0), rates={"base": (0.0, 0.2, 0.0)})
    model = tree.system.model(start.atlas)
    dynamics = model.dynamics([ROLLING] * len(model.constraints))
    motion, reference = model.motions["base"], ca.SX.sym("speed")
    pitch = tk.angle(motion, model.x[model.layout["base.orientation"]])
    wishes = [
        pitch.tracking("pitch", kp=100.0, kd=20.0),
        tk.position(motion, axes=[[1.0, 0.0]]).tracking("speed", rate=reference, kd=20.0, level=level),
        tk.smallest_torques(2, level=1 + level),
    ]
    controller = InverseDynamics(dynamics, wishes, [tk.torque_limit(200.0)], reference=reference, form=form)
    return Cart(tree, start, controller, np.zeros(1))

"""The wheel-leg vehicle of paper 4 on a sinusoid: model, start and controller, for timing and for tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

BASE_HEIGHT, RADIUS, LINK, HIP = 0.62, 0.12, 0.32, 0.35  # m
SPEED, PERIOD, MU, TORQUE = 0.5, 0.01, 0.8, 150.0  # m/s, s, 1, N m


def rover(legs: int = 2, mu: float = MU) -> Any:
    """Return the tree: base, and per leg a thigh, a shank and a wheel, all driven; hips spread over the base."""
    import trundle as tr
    from trundle.contact.choice import make_contact

    tree = tr.Tree(2, (0.0, -9.81))
    ground, base = tree.ground(), tree.free(20.0, 1.2, name="base")
    wheel = tr.Circle(radius=RADIUS)
    terrain = tr.Sinusoid(amplitude=0.06, wavelength=0.8, phase=0.0)
    for i, x in enumerate(np.linspace(-HIP, HIP, legs)):
        rod = {"com": (0.0, -LINK / 2)}
        thigh = tree.revolute(base, (float(x), 0.0), 2.0, 2.0 * LINK**2 / 12, name=f"thigh{i}", **rod)
        shank = tree.revolute(thigh, (0.0, -LINK), 1.5, 1.5 * LINK**2 / 12, name=f"shank{i}", **rod)
        rim = tree.revolute(shank, (0.0, -LINK), 1.5, 1.5 * RADIUS**2 / 2, name=f"wheel{i}")
        tree.contact(make_contact(wheel, terrain, "chart"), rim, ground, mu=mu, name=f"contact{i}")
    return tree.finish()


def rolling(model: Any) -> Any:
    """Return the model's dynamics with every wheel rolling."""
    from trundle.contact.laws import ROLLING

    return model.dynamics([ROLLING] * len(model.constraints))


def placed(model: Any, dynamics: Any, x_base: float = 0.1) -> np.ndarray:
    """Return the state at rest with every wheel on the ground below its hip, by Newton's method."""
    legs = len(model.constraints)
    names = [f"{part}{i}.joint" for i in range(legs) for part in ("thigh", "shank")]
    names += [f"contact{i}.coordinates" for i in range(legs)]
    free = np.concatenate([np.r_[model.layout[name]] for name in names])
    hips = np.linspace(-HIP, HIP, legs)
    rows = []
    for i, k in enumerate(dynamics.kin):
        rows += [k.gap, k.misalignment, model.motions[f"wheel{i}"].p[0] - x_base - hips[i]]
    residual = ca.vertcat(*rows)
    jacobian = ca.jacobian(residual, model.x)[:, free.tolist()]
    newton = ca.Function("newton", [model.x], [residual, jacobian])
    x = np.zeros(model.x.shape[0])
    x[model.layout["base.position"]] = x_base, BASE_HEIGHT
    for i in range(legs):
        x[model.layout[f"thigh{i}.joint"]], x[model.layout[f"shank{i}.joint"]] = 0.7, -1.4
        # The wheel's chart is its angle, the ground's its x: the lowest point, below the hip.
        x[model.layout[f"contact{i}.coordinates"]] = -np.pi / 2, x_base + hips[i]
    for _ in range(50):
        value, slope = (np.array(part) for part in newton(x))
        step = np.linalg.lstsq(slope, -value.ravel(), rcond=None)[0]
        x[free] += step * min(1.0, 0.3 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-13:
            break
    return x


@dataclass(frozen=True)
class Wishes:
    """Tasks and limits of the rover, expressions of the model's state and of `reference` (v, height, pitch)."""

    tasks: list[Any]
    limits: list[Any]
    reference: ca.SX


def wishes(
    model: Any, dynamics: Any, *, price: float | None = None, secondary: str = "damping", touching: Any = None
) -> Wishes:
    """Return the sheet's tasks: speed, height, pitch, wheels below their hips; cone and torque limits."""
    from trundle.control.inverse_dynamics import tasks as tk

    terms, reference = dynamics.terms, ca.SX.sym("reference", 3)
    legs, size = len(model.constraints), terms.J.shape[0]
    base = model.motions["base"]
    v_wanted, height, pitch = ca.vertsplit(reference)
    x_axis, z_axis = [[1.0, 0.0]], [[0.0, 1.0]]
    forward, gains = tk.position(base, axes=x_axis), {"kp": 60.0, "kd": 16.0}
    turn = tk.angle(base, model.x[model.layout["base.orientation"]])
    tasks = [
        forward.tracking("speed", rate=v_wanted, kd=8.0),
        tk.position(base, axes=z_axis).tracking("height", height, **gains),
        turn.tracking("pitch", pitch, **gains),
    ]
    for i, hip in enumerate(np.linspace(-HIP, HIP, legs)):
        wheel = tk.position(model.motions[f"wheel{i}"], axes=x_axis)
        offset = tk.MotionQuantity(
            wheel.J - forward.J, wheel.bias - forward.bias, wheel.value - forward.value, wheel.rate - forward.rate
        )
        tasks.append(offset.tracking(f"wheel{i}", float(hip), **gains))
    limits = [tk.torque_limit(TORQUE)]
    limits += tk.contact_limits(model.constraints, terms.kin, terms.split, minimum=1.0, price=price, touching=touching)
    if secondary == "tangential":
        tasks.append(tk.smallest_tangential_forces([k.frame for k in terms.kin], terms.split, size, level=1))
    return Wishes(tasks, limits, reference)


def controller(model: Any, dynamics: Any, **options: Any) -> Any:
    """Return the compiled inverse dynamics of the rover; `switched`: a call says which wheels touch."""
    from trundle.control.inverse_dynamics.inverse_dynamics import InverseDynamics

    if options.pop("switched", False):
        options["touching"] = ca.SX.sym("touching", len(model.constraints))
    asked = wishes(
        model,
        dynamics,
        **{key: options.pop(key) for key in ("price", "secondary") if key in options},
        touching=options.get("touching"),
    )
    return InverseDynamics(dynamics, asked.tasks, asked.limits, reference=asked.reference, **options)


def drive(model: Any, dynamics: Any, run: Any, ticks: int = 1000, speed: float = SPEED) -> np.ndarray:
    """Return the states (ticks, n_x) at which a closed loop at `PERIOD` asks for torques (RK4, ten steps a tick)."""
    from trundle.numerics.compiled.compile import compile_function

    rate = compile_function(ca.Function("rate", [dynamics.x, dynamics.u], [dynamics.xdot]))
    x, states, h = placed(model, dynamics), [], PERIOD / 10
    for _ in range(ticks):
        states.append(x)
        u = run(x, [speed, BASE_HEIGHT, 0.0]).u
        for _ in range(10):
            k = [np.array(rate(x, u)).ravel()]
            for part in (h / 2, h / 2, h):
                k.append(np.array(rate(x + part * k[-1], u)).ravel())
            x = x + h / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3])
    return np.array(states)

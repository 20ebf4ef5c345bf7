"""The Whipple bicycle: Meijaard, Papadopoulos, Ruina and Schwab, Proc. R. Soc. A 463 (2007), table 1 and appendix A."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.optimize import brentq

from bench.classics.classic import Answer, Classic, Quantity, clocked, timed, tree_samples
from bench.classics.scene import GRAVITY, Body, Geom, Joint, Scene, part, rotation

W, C, TILT = 1.02, 0.08, np.pi / 10  # m wheel base, m trail, rad steer axis tilt
RR, MR, IR = 0.3, 2.0, (0.0603, 0.12, 0.0603)  # rear wheel: radius, mass, moments
RF, MF, IF = 0.35, 3.0, (0.1405, 0.28, 0.1405)
MB, XB, ZB = 85.0, 0.3, 0.9  # rear frame with the rider; heights here are upward, the paper's downward
IB = np.array([[9.2, 0, -2.4], [0, 11, 0], [-2.4, 0, 2.8]])
MH, XH, ZH = 4.0, 0.9, 0.7  # handlebar and fork
IH = np.array([[0.05892, 0, 0.00756], [0, 0.06, 0], [0.00756, 0, 0.00708]])
AXIS = (-np.sin(TILT), 0.0, np.cos(TILT))
SPEED, KICK = 5.0, 0.01  # m/s, rad/s of roll, of the motion that is simulated


def matrices() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return M, C1, K0, K2 of M q'' + v C1 q' + (g K0 + v^2 K2) q = 0, q = (lean, steer): appendix A."""
    s, c = np.sin(TILT), np.cos(TILT)
    zB, zH, IBxz, IHxz = -ZB, -ZH, -IB[0, 2], -IH[0, 2]
    mT = MR + MB + MH + MF
    xT, zT = (XB * MB + XH * MH + W * MF) / mT, (-RR * MR + zB * MB + zH * MH - RF * MF) / mT
    ITxx = IR[0] + IB[0, 0] + IH[0, 0] + IF[0] + MR * RR**2 + MB * zB**2 + MH * zH**2 + MF * RF**2
    ITxz = IBxz + IHxz - MB * XB * zB - MH * XH * zH + MF * W * RF
    ITzz = IR[0] + IB[2, 2] + IH[2, 2] + IF[0] + MB * XB**2 + MH * XH**2 + MF * W**2
    mA = MH + MF
    xA, zA = (XH * MH + W * MF) / mA, (zH * MH - RF * MF) / mA
    IAxx = IH[0, 0] + IF[0] + MH * (zH - zA) ** 2 + MF * (RF + zA) ** 2
    IAxz = IHxz - MH * (XH - xA) * (zH - zA) + MF * (W - xA) * (RF + zA)
    IAzz = IH[2, 2] + IF[0] + MH * (XH - xA) ** 2 + MF * (W - xA) ** 2
    uA = (xA - W - C) * c - zA * s
    IAll = mA * uA**2 + IAxx * s**2 + 2 * IAxz * s * c + IAzz * c**2
    IAlx, IAlz = -mA * uA * zA + IAxx * s + IAxz * c, mA * uA * xA + IAxz * s + IAzz * c
    mu, SF = C / W * c, IF[1] / RF
    ST, SA = IR[1] / RR + SF, mA * uA + mu * mT * xT
    M = np.array([[ITxx, IAlx + mu * ITxz], [IAlx + mu * ITxz, IAll + 2 * mu * IAlz + mu**2 * ITzz]])
    K0 = np.array([[mT * zT, -SA], [-SA, -SA * s]])
    K2 = np.array([[0, (ST - mT * zT) / W * c], [0, (SA + SF * s) / W * c]])
    forward = mu * ST + SF * c
    C1 = np.array([[0, forward + ITxz / W * c - mu * mT * zT], [-forward, IAlz / W * c + mu * (SA + ITzz / W * c)]])
    return M, C1, K0, K2


def eigenvalues(speed: float) -> np.ndarray:
    """Return the four eigenvalues (1/s) of lean and steer at a forward speed, by real then imaginary part."""
    M, C1, K0, K2 = matrices()
    stiffness = np.linalg.solve(M, GRAVITY * K0 + speed**2 * K2)
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [-stiffness, -np.linalg.solve(M, speed * C1)]])
    return np.sort_complex(np.linalg.eigvals(A))


def critical_speeds() -> tuple[float, float]:
    """Return the speeds at which the weave becomes stable and the capsize unstable, m/s."""

    def weave(v: float) -> float:
        values = eigenvalues(v)
        return float(values[np.argmax(abs(values.imag))].real)

    _, _, K0, K2 = matrices()
    return float(brentq(weave, 3.0, 5.0, xtol=1e-14)), float(
        brentq(lambda v: np.linalg.det(GRAVITY * K0 + v**2 * K2), 5.0, 8.0, xtol=1e-14)
    )


def robot(speed: float, roll_rate: float = 0.0) -> tuple[Any, Any]:
    """Return trundle's bicycle on knife-edge wheels and its start."""
    import casadi as ca

    import trundle as tr

    def wheel(radius: float) -> tr.geometry.ExpressionBody:  # the axis of a `Disc` is z and cannot be turned
        return tr.geometry.ExpressionBody(lambda x, y, z: radius * ca.sqrt(x**2 + z**2))

    made = tr.Robot(gravity=(0, 0, -GRAVITY))
    frame = made.free(MB, IB, center_of_mass=(XB, 0, ZB), name="frame")  # origin: rear contact
    foot = np.array([W + C, 0, 0])  # where the steer axis meets the ground
    head = tuple(np.array([XH, 0, ZH]) - foot)
    fork = made.revolute(frame, tuple(foot), MH, IH, center_of_mass=head, axis=AXIS, name="fork", actuated=False)
    made.revolute(frame, (0, 0, RR), MR, IR, axis=(0, 1, 0), shape=wheel(RR), name="rear", actuated=False)
    hub = tuple(np.array([W, 0, RF]) - foot)
    made.revolute(fork, hub, MF, IF, axis=(0, 1, 0), shape=wheel(RF), name="front", actuated=False)
    made.terrain(tr.Plane(), friction=1.0)
    tree = made.finish()
    rates = {"frame": [roll_rate, 0, 0, speed, 0, 0], "fork": 0.0, "rear": speed / RR, "front": speed / RF}
    return tree, tree.place(frame=(0, 0, 0), rates=rates)


def linearised(speed: float) -> np.ndarray:
    """Return the eigenvalues of trundle's bicycle at a speed that belong to lean and steer.

    The others (place, heading, the wheels' turns, the speed) are zero.
    """
    import trundle as tr

    values = tr.linearize(*robot(speed)).eigenvalues
    return np.array([values[np.argmin(abs(values - wanted))] for wanted in eigenvalues(speed)])


def scene() -> Scene:
    """Return the bicycle at `SPEED`, kicked into a roll about the line of its contacts."""
    turned = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)

    def moving(position: tuple[float, ...]) -> dict[str, Any]:
        v = np.array([SPEED, 0, 0]) + np.cross([KICK, 0, 0], position)
        return {"position": position, "spin": (KICK, 0.0, 0.0), "velocity": tuple(v)}

    def wheel(radius: float) -> tuple[Geom, ...]:
        return (Geom("disc", (radius,), quaternion=turned),)

    y, rear, front, foot = (0.0, 1.0, 0.0), (0.0, 0.0, RR), (W, 0.0, RF), (W + C, 0.0, 0.0)
    bodies = (
        Body("frame", MB, IB, **moving((XB, 0.0, ZB))),
        Body("fork", MH, IH, (XH, 0.0, ZH), joint=Joint("frame", "hinge", AXIS, foot)),
        Body("rear", MR, IR, rear, wheel(RR), Joint("frame", "hinge", y, rear, SPEED / RR)),
        Body("front", MF, IF, front, wheel(RF), Joint("fork", "hinge", y, front, SPEED / RF)),
    )
    return Scene(bodies, np.linspace(0, 3, 151))


def measure(scene: Scene, samples: np.ndarray) -> Mapping[str, float]:
    """Return the weave of a motion: the eigenvalues of the map from one sample to the next."""
    R, fork = rotation(part(samples, "quaternion", 0)), rotation(part(samples, "quaternion", 1))
    relative = np.swapaxes(R, -1, -2) @ fork
    axial = relative[:, [2, 0, 1], [1, 2, 0]] - relative[:, [1, 2, 0], [2, 0, 1]]
    spin, steering = part(samples, "spin", 0), part(samples, "spin", 1)
    heading = R[:, :, 0] / np.linalg.norm(R[:, :, 0], axis=1)[:, None]
    rate = np.einsum("ni,ni->n", steering - spin, R @ np.array(AXIS))
    states = np.column_stack(
        [
            np.arctan2(R[:, 2, 1], R[:, 2, 2]),
            0.5 * axial @ AXIS,
            np.einsum("ni,ni->n", spin, heading),
            rate,
        ]
    )
    step = np.linalg.lstsq(states[:-1], states[1:], rcond=None)[0].T
    values = np.log(np.linalg.eigvals(step).astype(complex)) / scene.spacing
    weave = values[np.argmax(np.where(abs(values.imag) < 20, values.imag, 0))]
    return {"decay of a motion": float(weave.real), "rate of a motion": float(weave.imag)}


def quantities() -> tuple[Quantity, ...]:
    """Return the eigenvalues at 5 m/s, the critical speeds and all eigenvalues at 0 to 10 m/s as one error."""
    values, (weave, capsize) = eigenvalues(SPEED), critical_speeds()
    return (
        Quantity("weave decay", float(values[1].real), "1/s"),
        Quantity("weave rate", float(abs(values[1].imag)), "rad/s"),
        Quantity("decay of a motion", float(values[1].real), "1/s"),
        Quantity("rate of a motion", float(abs(values[1].imag)), "rad/s"),
        Quantity("capsize", float(values[3].real), "1/s"),
        Quantity("castering", float(values[0].real), "1/s"),
        Quantity("weave speed", weave, "m/s"),
        Quantity("capsize speed", capsize, "m/s"),
        Quantity("0 to 10 m/s, worst error", 0.0, "1/s", 1.0),
    )


def _trundle() -> Answer:
    import trundle as tr

    def found() -> dict[str, float]:
        values = linearised(SPEED)
        worst = max(float(np.max(abs(linearised(v) - eigenvalues(v)))) for v in range(11))
        speeds = critical_speeds()
        shift = [_crossing(i, v) for i, v in enumerate(speeds)]
        return {
            "weave decay": float(values[1].real),
            "weave rate": float(abs(values[1].imag)),
            "capsize": float(values[3].real),
            "castering": float(values[0].real),
            "0 to 10 m/s, worst error": worst,
            "weave speed": shift[0],
            "capsize speed": shift[1],
        }

    linear = clocked(found)
    tree, start = robot(SPEED, KICK)
    times = scene().times
    run = tr.simulate(tree, start, times[-1], output_step=times[1])
    motion = measure(scene(), tree_samples(run))
    note = f"{run.status.label}; linearising 11 speeds and finding both critical ones took {linear.seconds:.1f} s"
    return Answer(dict(linear.values) | dict(motion), timed(run), note)


def _crossing(which: int, near: float) -> float:
    """Return the speed near `near` where trundle's weave (0) or capsize (1) crosses zero."""

    def real(v: float) -> float:
        values = linearised(v)
        return float(values[np.argmax(abs(values.imag))].real if which == 0 else values[np.argmin(abs(values))].real)

    return float(brentq(real, near - 1e-3, near + 1e-3, xtol=1e-14, rtol=1e-14))


CLASSIC = Classic(
    name="bicycle",
    title="Whipple bicycle",
    text="25 parameters, knife-edge wheels; the eigenvalues of upright riding. "
    "The weave of a motion is read off 3 s after a kick of 0.01 rad/s.",
    source="Meijaard, Papadopoulos, Ruina, Schwab, Proc. R. Soc. A 463 (2007) 1955, appendix A",
    quantities=quantities,
    trundle=_trundle,
    scene=scene,
    measure=measure,
)

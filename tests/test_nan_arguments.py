"""NaN in, error out: every number a public constructor or verb takes, replaced by NaN, is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import trundle as tr


def ball_on_hand(**hand: Any) -> tr.RollingPair:
    """Return a ball on a plate."""
    return tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=0.2), tr.Hand(tr.Plane(), **hand))


def ellipse_on_hand() -> tr.RollingPair:
    """Return an ellipse on a straight hand."""
    return tr.RollingPair(tr.RigidBody(tr.Ellipse((0.05, 0.03)), mass=0.1, inertia=1e-4), tr.Hand(tr.Line()))


def transfer(goal: Any, **given: Any) -> object:
    """Return a plan of the ellipse on its hand that is stopped at once."""
    pair = ellipse_on_hand()
    more = {name: given.pop(name) for name in ("hand_limits", "contact_limits", "weights") if name in given}
    task = tr.juggling.Transfer(
        pair, pair.place(contact_on_hand=(0, 0)), tr.juggling.Goal(**goal), given.pop("duration", 0.8), **more
    )
    return tr.juggling.plan(task, max_iterations=0, max_refinements=0, starts=1, **given)


def spatial_transfer(**goal: Any) -> object:
    """Return a plan of the ball on its plate that is stopped at once."""
    pair = ball_on_hand()
    task = tr.juggling.Transfer(pair, pair.place(), tr.juggling.Goal(**goal), 1.0)
    return tr.juggling.plan(task, max_iterations=0, max_refinements=0, starts=1)


def run(place: dict[str, Any] | None = None, **given: Any) -> object:
    """Return a short simulation of the ball on its plate."""
    pair = ball_on_hand()
    return tr.simulate(pair, pair.place(**(place or {})), **given)


def balanced(**given: Any) -> object:
    """Return a policy that balances the ellipse."""
    pair = ellipse_on_hand()
    return tr.BalancingLQR(pair, pair.place(contact_on_hand=(0, 0), object_angle=np.pi / 2), **given)


def actuated(**given: Any) -> object:
    """Return a policy behind actuators."""
    return tr.control.Actuated(balanced(**WEIGHTS), 3, **given)  # type: ignore[arg-type]


def sensed(camera: dict[str, Any], encoders: dict[str, Any], **given: Any) -> object:
    """Return a policy behind sensors."""
    policy: Any = balanced(**WEIGHTS)
    return tr.control.Sensed(
        policy, ellipse_on_hand(), tr.control.Camera(**camera), tr.control.Encoders(**encoders), **given
    )


def tree(body: dict[str, Any], hinge: dict[str, Any], slide: dict[str, Any], place: dict[str, Any], **more: Any) -> Any:
    """Return a planar robot and its start."""
    robot = tr.Robot(gravity=more.pop("gravity", 9.81))
    wheel = robot.free(**body, shape=tr.Circle(0.1), name="wheel")
    arm = robot.revolute(wheel, **hinge, name="arm")
    robot.prismatic(arm, **slide, name="rod")
    robot.terrain(tr.Line(), **more)
    return robot.finish().place(**place)


WEIGHTS: dict[str, Any] = {
    "Q": {"object_rotation": 10.0, "hand_position": 1.0, "relative_velocity": 0.1},
    "R": {"hand_acceleration": 1e-3, "hand_angular_acceleration": 1e-3},
    "period": 0.001,
}
AXES3, AXES2 = (0.3, 0.2, 0.1), (0.3, 0.2)
CALLS: dict[str, tuple[Callable[..., object], dict[str, Any]]] = {
    "arc": (tr.Arc, {"radius": 1.0, "center": (0.0, 0.0)}),
    "box": (tr.Box, {"half_extents": AXES3}),
    "capsule": (tr.Capsule, {"radius": 0.1, "length": 0.3}),
    "circle": (tr.Circle, {"radius": 0.1}),
    "cylinder": (tr.Cylinder, {"radius": 0.1}),
    "disc": (tr.Disc, {"radius": 0.1, "rounding": 0.01}),
    "dish": (tr.Dish, {"semi_axes": AXES3}),
    "ellipse": (tr.Ellipse, {"semi_axes": AXES2}),
    "ellipsoid": (tr.Ellipsoid, {"semi_axes": AXES3}),
    "fourier": (tr.FourierRadius, {"radius": 0.3, "cos": (0.1,), "sin": (0.05,)}),
    "height map": (tr.HeightMap, {"x": np.arange(6.0), "y": np.arange(6.0), "z": np.zeros((6, 6))}),
    "line": (tr.Line, {"slope": 0.1, "offset": 0.0}),
    "parabola": (tr.Parabola, {"curvature": 1.0}),
    "polytope": (tr.Polytope, {"vertices": ((0.0, 0, 0), (1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0))}),
    "rounded": (lambda **k: tr.Rounded(tr.Box(AXES3), **k), {"radius": 0.01}),
    "curve": (tr.geometry.SampledCurve, {"points": [(0.1 * i, 0.01 * i * i) for i in range(9)]}),
    "sinusoid": (tr.Sinusoid, {"amplitude": 0.1, "wavelength": 1.0, "phase": 0.1}),
    "sphere": (tr.Sphere, {"radius": 0.1}),
    "superellipsoid": (tr.Superellipsoid, {"semi_axes": AXES3, "exponents": 2.5, "rounding": 0.01}),
    "torus": (tr.Torus, {"major": 0.3, "minor": 0.1}),
    "tube": (tr.Tube, {"radius": 0.1}),
    "body": (
        lambda **k: tr.RigidBody(tr.Sphere(0.1), **k),
        {"mass": 0.1, "inertia": (1e-3, 1e-3, 1e-3), "center_of_mass": (0.0, 0.0, 0.01)},
    ),
    "hand": (
        ball_on_hand,
        {"position": (0.0, 0.0, 0.0), "rpy": (0.0, 0.1, 0.0), "twist": (0.0,) * 6, "extent": (1.0, 1.0)},
    ),
    "planar hand": (lambda **k: tr.Hand(tr.Line(), **k), {"angle": 0.1, "position": (0.0, 0.0), "twist": (0.0,) * 3}),
    "sinusoid motion": (tr.SinusoidMotion, {"amplitude": (0.1,) * 6, "frequency": (1.0,) * 6, "phase": (0.1,) * 6}),
    "sampled motion": (tr.SampledMotion, {"times": np.arange(3.0), "values": np.zeros((3, 6))}),
    "pair": (
        lambda **k: tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=0.2), tr.Ground(tr.Plane()), **k),
        {"friction": 1.0, "torsional_friction": 0.01, "gravity": (0.0, 0.0, -9.81)},
    ),
    "simulate": (
        run,
        {
            "duration": 0.01,
            "output_step": 0.005,
            "relative_tolerance": 1e-8,
            "place": {
                "contact_on_hand": (0.0, 0.0, 0.0),
                "object_quaternion": (1.0, 0.0, 0.0, 0.0),
                "object_angular_velocity": (1.0, 0.0, 0.0),
            },
        },
    ),
    "simulate, fixed step": (run, {"duration": 0.01, "step": 1e-3}),
    "tree": (
        tree,
        {
            "gravity": 9.81,
            "friction": 1.0,
            "body": {"mass": 1.0, "inertia": 0.01, "center_of_mass": (0.0, 0.01), "shape_at": (0.0, 0.0)},
            "hinge": {"at": (0.0, 0.0), "mass": 0.5, "inertia": 0.01, "center_of_mass": (0.0, 0.2)},
            "slide": {"at": (0.0, 0.3), "axis": (0.0, 1.0), "mass": 0.5, "inertia": 0.01},
            "place": {
                "wheel": (0.0, 0.1, 0.0),
                "arm": 0.1,
                "rod": 0.0,
                "rates": {"wheel": 0.5, "arm": 0.1, "rod": 0.1},
            },
        },
    ),
    "transfer": (
        transfer,
        {
            "goal": {"contact_on_hand": (0.02, 0.0), "hand_position": (0.0, 0.1), "hand_angle": 0.0},
            "duration": (0.5, 0.8),
            "hand_limits": {
                "angular_acceleration": 50.0,
                "linear_acceleration": 20.0,
                "angular_velocity": 20.0,
                "velocity": 3.0,
                "tilt": 1.0,
                "position": (1.0, 1.0),
            },
            "contact_limits": {"normal_force": 0.05, "friction_margin": 0.9},
            "weights": {
                "acceleration": (1.0, 1.0, 1.0),
                "contact_speed": 0.1,
                "hand_rate": 0.1,
                "tilt": 0.1,
                "duration": 0.1,
            },
            "position_tolerance": 1e-4,
            "rotation_tolerance": 1e-3,
            "velocity_tolerance": 1e-3,
            "angular_velocity_tolerance": 1e-2,
            "tolerance": 1e-8,
            "sigma": 0.01,
            "time_limit": 9.0,
        },
    ),
    "angle goal": (lambda **k: transfer(k), {"object_angle": 0.5, "relative_angular_velocity": (0.0,)}),
    "release": (
        lambda **k: transfer(k | {"release": True, "contact_on_hand": (0.02, 0.0)}),
        {"object_velocity": (0.0, 1.0), "object_angular_velocity": (1.0,)},
    ),
    "spatial goal": (
        spatial_transfer,
        {"contact_on_hand": (0.02, 0.0, 0.0), "object_quaternion": (1.0, 0.0, 0.0, 0.0), "hand_rpy": (0.0, 0.0, 0.0)},
    ),
    "balancing": (balanced, {**WEIGHTS, "input_limit": (9.0, 9.0, 9.0)}),
    "actuated": (
        actuated,
        {"delay": 0.001, "limit": (9.0,) * 3, "rate_limit": (99.0,) * 3, "bias": (0.1,) * 3},
    ),
    "sensed": (
        sensed,
        {
            "camera": {"period": 0.004, "delay": 0.01, "position_sigma": 1e-4, "angle_sigma": 1e-3},
            "encoders": {
                "position_sigma": 1e-4,
                "angle_sigma": 1e-3,
                "velocity_sigma": 1e-3,
                "rate_sigma": 1e-3,
            },
            "acceleration_sigma": 20.0,
            "drift_sigma": 0.02,
        },
    ),
}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where numbers are: keys of mappings, indices of sequences (the first and the last)."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, np.ndarray):
        yield (*path, (0,) * value.ndim)
    elif isinstance(value, tuple | list):
        for i in sorted({0, len(value) - 1}):
            yield from leaves(value[i], (*path, i))
    elif isinstance(value, float):
        yield path


def spoiled(value: Any, path: tuple[Any, ...]) -> Any:
    """Return `value` with NaN at `path`."""
    if not path:
        return float("nan")
    head, *rest = path
    if isinstance(value, np.ndarray):
        copy = value.copy()
        copy[head] = np.nan
        return copy
    if isinstance(value, dict):
        return value | {head: spoiled(value[head], tuple(rest))}
    items = list(value)
    items[head] = spoiled(items[head], tuple(rest))
    return type(value)(items)


CASES = [(name, path) for name, (_, arguments) in CALLS.items() for path in leaves(arguments)]


@pytest.mark.parametrize("name", CALLS)
def test_call_is_good_as_it_stands(name: str) -> None:
    make, arguments = CALLS[name]
    assert make(**arguments) is not None


@pytest.mark.parametrize(("name", "path"), CASES, ids=[f"{n}-{'.'.join(map(str, p))}" for n, p in CASES])
def test_nan_is_refused(name: str, path: tuple[Any, ...]) -> None:
    make, arguments = CALLS[name]
    with pytest.raises(tr.TrundleError, match=r"nan|NaN|finite"):
        make(**spoiled(arguments, path))

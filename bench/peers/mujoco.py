"""MuJoCo on the two cases.

Plate: a 300 kg box on a hinge that spins freely (a mocap body would not carry its surface velocity into the
contact). Ellipse: an ellipsoid geom on slide x, slide z and hinge joints over a height field; in the plane of
motion the ellipsoid's section is the ellipse.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from functools import partial

import mujoco
import numpy as np

from bench.measure import Run, Samples, milliseconds, output_grid
from bench.reference import GRAVITY, BallCase, EllipseCase, ellipse_start

NAME = "MuJoCo"


def version() -> str:
    """Return the engine's version."""
    return str(mujoco.__version__)


STEPS = (5e-3, 2e-3, 1e-3, 0.5e-3, 0.2e-3, 0.1e-3)  # s
QUICK = (2e-3, 1e-3)


def _options(
    step: float, stiff: bool, integrator: str, noslip: int = 0, impratio: float = 1e4, ccd: float = 1e-10
) -> str:
    """Return the <option> element: the engine's own settings, or the stiffest useful ones."""
    basic = f'timestep="{step}" gravity="0 0 {-GRAVITY}"'
    if not stiff:
        return f"<option {basic}/>"
    return (
        f'<option {basic} cone="elliptic" impratio="{impratio:g}" integrator="{integrator}" tolerance="1e-12" '
        f'iterations="100" ls_iterations="100" ccd_tolerance="{ccd:g}" ccd_iterations="200" '
        f'noslip_iterations="{noslip}" noslip_tolerance="1e-14"/>'
    )


def _softness(step: float, stiff: bool, refine: float = 2.0) -> str:
    """Return the geom attributes of the contact: time constant `refine` steps and a hard impedance."""
    if not stiff:
        return ""
    return f'solref="{refine * step} 1" solimp="0.999 0.9999 0.0001 0.5 2"'


def _step(model: mujoco.MjModel, data: mujoco.MjData, grid: np.ndarray, read: Callable[[], list[float]]) -> tuple:
    """Step over the output grid; return what `read` gave at each time, the wall time (s) and the step count."""
    every = round((grid[1] - grid[0]) / model.opt.timestep)
    rows = [read()]
    begin = clock.perf_counter()
    for _ in range(len(grid) - 1):
        mujoco.mj_step(model, data, every)
        rows.append(read())
    wall = clock.perf_counter() - begin
    if np.any(data.warning.number):
        raise RuntimeError("the engine warned of a bad state")
    return np.array(rows), wall, every * (len(grid) - 1)


def ball_model(
    case: BallCase, step: float, stiff: bool, integrator: str = "Euler", **options: float
) -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Return the ball on the plate for one time step (s), and its start."""
    refine = options.pop("refine", 2.0)
    soft = _softness(step, stiff, refine)
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco>{_options(step, stiff, integrator, **options)}
    <worldbody>
      <body><joint type="hinge" axis="0 0 1" damping="0"/>
        <inertial pos="0 0 0" mass="300" diaginertia="400 400 800"/>
        <geom type="box" size="2 2 .1" pos="0 0 -.1" friction="{case.friction} 0 0" condim="3" {soft}/></body>
      <body pos="0 0 {case.radius}"><freejoint/>
        <inertial pos="0 0 0" mass="{case.mass}" diaginertia="{case.inertia} {case.inertia} {case.inertia}"/>
        <geom type="sphere" size="{case.radius}" friction="{case.friction} 0 0" condim="3" {soft}/></body>
    </worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qvel[0] = case.plate_rate
    data.qvel[1:4] = case.start_velocity
    data.qvel[4:7] = case.ball_rate
    mujoco.mj_forward(model, data)
    return model, data


def ball(case: BallCase, step: float, stiff: bool, integrator: str = "Euler", **options: float) -> Samples:
    """Run the ball on the plate with one time step (s)."""
    model, data = ball_model(case, step, stiff, integrator, **options)
    rows, wall, steps = _step(model, data, output_grid(case), lambda: [data.qpos[1], data.qpos[2]])
    return Samples(rows, None, wall, steps)


def ellipse(
    case: EllipseCase, step: float, stiff: bool, width: float, integrator: str = "Euler", **options: float
) -> Samples:
    """Run the ellipse on a height field with cells of `width` (m)."""
    refine = options.pop("refine", 2.0)
    soft = _softness(step, stiff, refine)
    low, high = -0.4, 1.6
    columns = round((high - low) / width) + 1
    depth, deepest = 0.1, 2.0 * case.amplitude
    a, b = case.semi_axes
    _, centre = ellipse_start(case)
    model = mujoco.MjModel.from_xml_string(f"""
    <mujoco>{_options(step, stiff, integrator, **options)}
    <asset><hfield name="terrain" nrow="2" ncol="{columns}"
       size="{(high - low) / 2} {case.half_length} {deepest} {depth}"/></asset>
    <worldbody>
      <geom type="hfield" hfield="terrain" pos="{(low + high) / 2} 0 {-case.amplitude}"
        friction="{case.friction} 0 0" condim="3" {soft}/>
      <body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><joint type="hinge" axis="0 -1 0"/>
        <inertial pos="0 0 0" mass="{case.mass}" diaginertia="{case.inertia} {case.inertia} {case.inertia}"/>
        <geom type="ellipsoid" size="{a} {case.half_length} {b}" friction="{case.friction} 0 0" condim="3" {soft}/>
      </body>
    </worldbody></mujoco>""")
    heights = case.height(np.linspace(low, high, columns))
    model.hfield_data[:] = np.tile((heights + case.amplitude) / deepest, 2)
    data = mujoco.MjData(model)
    data.qpos[:] = [centre[0], centre[1], case.angle]
    mujoco.mj_forward(model, data)
    rows, wall, steps = _step(model, data, output_grid(case), lambda: [data.qpos[0], data.qpos[1], data.qpos[2]])
    return Samples(rows[:, :2], rows[:, 2], wall, steps)


def _ball_runs(case: BallCase) -> Iterator[Run]:
    for name, stiff, integrator in (
        ("defaults", False, "Euler"),
        ("stiff", True, "Euler"),
        ("stiff, RK4", True, "RK4"),
    ):
        for step in STEPS:
            yield Run(
                NAME,
                "ball",
                name,
                milliseconds(step),
                partial(ball, case, step, stiff, integrator),
                quick=step in QUICK and integrator == "Euler",
            )


def _ellipse_runs(case: EllipseCase) -> Iterator[Run]:
    settings = (
        ("defaults, height field 5 mm", False, 5e-3, {}, STEPS[:5]),
        ("stiff, height field 20 mm", True, 20e-3, {}, STEPS[:5]),
        ("stiff, height field 5 mm", True, 5e-3, {}, STEPS),
        ("stiff, height field 2.5 mm", True, 2.5e-3, {}, STEPS[2:]),
        ("stiff, height field 5 mm, noslip", True, 5e-3, {"noslip": 5}, STEPS[:5]),
        ("stiff, height field 2.5 mm, ccd_tolerance default", True, 2.5e-3, {"ccd": 1e-6}, STEPS[2:]),
    )
    for name, stiff, width, options, steps in settings:
        for step in steps:
            yield Run(
                NAME,
                "ellipse",
                name,
                milliseconds(step),
                partial(ellipse, case, step, stiff, width, **options),
                quick=step in QUICK and width == 5e-3 and not options,
            )


def runs(case: BallCase | EllipseCase) -> Iterator[Run]:
    """Yield the runs of one case: settings times time steps."""
    return _ball_runs(case) if isinstance(case, BallCase) else _ellipse_runs(case)

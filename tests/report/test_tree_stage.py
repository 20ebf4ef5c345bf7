from __future__ import annotations

import numpy as np

import trundle as tr
from trundle.report.scene import build_stage
from trundle.report.viewer import render


def dropped() -> tr.Trajectory:
    robot = tr.Robot(gravity=9.81, on_slip="slide", on_separation="fly")
    base = robot.free(20.0, 1.2, name="base")
    for name, x in (("rear", -0.4), ("front", 0.4)):
        robot.revolute(base, at=(x, -0.2), mass=1.0, inertia=0.01, shape=tr.Circle(0.12), name=name)
    robot.terrain(tr.Line(), friction=0.8)
    cart = robot.finish()
    start = cart.place(contacts=["rear"], base=(0.0, 0.36, 0.1), tolerance=0.1)
    return tr.simulate(cart, start, 0.4, output_step=0.005)


def test_the_force_of_every_wheel_is_drawn_while_it_touches() -> None:
    run = dropped()
    assert [str(name) for name in run["contact"]] == ["rear", "front"]
    stage = build_stage(run)
    ((point, force),) = stage.others
    touching = np.any(force != 0.0, axis=1)
    landed = run.metadata["transitions"][0]["time"]
    times = run.time[0] + stage.seconds * stage.lapse * np.arange(len(force))
    np.testing.assert_array_equal(touching, times >= landed + 1e-9)
    k = int(np.argmin(np.abs(run.time - times[-1])))
    np.testing.assert_allclose(force[-1][[0, 2]], run["contact_force"][k, 1], atol=1e-9)
    np.testing.assert_allclose(point[-1][[0, 2]], run["contact_position"][k, 1], atol=1e-9)
    lengths = stage.force_scale * np.linalg.norm(np.concatenate([stage.forces, force]), axis=1)
    assert np.quantile(lengths[lengths > 0], 0.95) <= 1.5 * stage.size * (1 + 1e-9)
    page = render(stage)
    assert len(page) > 100_000

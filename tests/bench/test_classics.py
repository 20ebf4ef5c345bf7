"""The classics of `bench.classics`: their answers against published numbers, and trundle against them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.classics import (
    HOMES,
    bicycle,
    blocks,
    coaster,
    coin,
    disk,
    funnel,
    impacts,
    named,
    oracles,
    page,
    turntable,
    wheels,
)
from bench.classics.__main__ import result_of, run_engine
from bench.classics.classic import Quantity
from bench.classics.engines import ENGINES, Setting
from bench.classics.scene import GRAVITY, Geom, part

G = GRAVITY


# The answers


def test_bicycle_matrices_are_the_published_ones() -> None:
    """Meijaard et al. (2007): M, C1, K0 and K2 of the benchmark bicycle."""
    M, C1, K0, K2 = bicycle.matrices()
    np.testing.assert_allclose(M, [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]], rtol=1e-13)
    np.testing.assert_allclose(K0, [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]], rtol=1e-13)
    np.testing.assert_allclose(K2, [[0, 76.59734589573222], [0, 2.65431523794604]], rtol=1e-13)
    np.testing.assert_allclose(C1, [[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]], rtol=1e-13)


def test_bicycle_eigenvalues_are_the_published_ones() -> None:
    """The same paper: at 5 m/s, and the speeds of weave and capsize."""
    castering, weave, _, capsize = bicycle.eigenvalues(5.0)
    assert castering.real == pytest.approx(-14.07838969279822, rel=1e-13)
    assert weave.real == pytest.approx(-0.77534188219585, rel=1e-13)
    assert abs(weave.imag) == pytest.approx(4.46486771378823, rel=1e-13)
    assert capsize.real == pytest.approx(-0.32286642900409, rel=1e-12)
    assert bicycle.critical_speeds() == pytest.approx((4.29238253634111, 6.02426201538837), rel=1e-12)


def test_a_rolling_coin_is_a_disc_of_the_oracle() -> None:
    """The wobble of the formula and of the rolling equations of a flat ellipsoid."""
    m, r = coin.MASS, coin.RADIUS
    body = oracles.Ellipsoid((r, r, 1e-6), m, np.diag([coin.A, coin.A, coin.C]))
    times = np.linspace(0, 1, 41)
    states = oracles.rolling(body, coin.UPRIGHT, (1e-4, coin.SPEED / r, 0.0), times)
    samples = np.zeros((len(times), 1, 13))
    samples[:, 0, 3:7] = states[:, :4]
    scene = replace(coin.scene(), times=times)
    found = coin.measure(scene, samples)["wobble at 1.5 of it"]
    assert found == pytest.approx(np.sqrt(-coin.squared_rate(coin.SPEED)), rel=1e-6)


def test_rolling_keeps_energy() -> None:
    """The oracle of a body that rolls does no work."""
    body = oracles.Ellipsoid((0.2, 0.03, 0.02), 1.0, np.diag([2e-4, 1.6e-3, 1.7e-3]), (0.0, 0.0, -0.01))
    times = np.linspace(0, 0.5, 6)
    states = oracles.rolling(body, (1.0, 0.0, 0.0, 0.0), (0.5, 0.3, -5.0), times)
    energy = []
    for state in states:
        R, w = _rotation(state[:4]), state[4:]
        r = R @ body.contact_at(R.T @ oracles.Z)
        v = np.cross(r, w)
        energy.append(0.5 * w @ R @ body.inertia @ R.T @ w + 0.5 * v @ v - G * r[2])
    assert np.ptp(energy) < 1e-11


def _rotation(q: np.ndarray) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(q, scalar_first=True).as_matrix()


def test_sliding_keeps_jellett_s_integral() -> None:
    body = oracles.Ellipsoid((0.02,) * 3, 0.02, 8e-6 * np.diag([0.44, 0.44, 0.40]), (0.0, 0.0, -0.006))
    q = np.array([np.cos(0.05), np.sin(0.05), 0, 0])
    states = oracles.sliding(body, 0.1, q, (0, 0, 150), (0, 0, 0), np.linspace(0, 0.3, 31))
    values = []
    for state in states:
        R = _rotation(state[:4])
        values.append(state[4:7] @ R @ body.inertia @ body.contact_at(R.T @ oracles.Z))
    assert len(states) == 31
    assert np.ptp(values) < 1e-11 * abs(values[0])


def test_the_steady_circle_in_a_funnel_is_steady() -> None:
    """The closed form sqrt(g tan(slope) / ((1 + k) rho)) against the rolling equations."""
    center, w, _ = funnel.start(faster=1.0)
    path = oracles.ball_inside(funnel.normal, funnel.RADIUS, center, w, np.linspace(0, 1, 11))
    assert np.ptp(path[:, 2]) < 1e-11
    turned = np.unwrap(np.arctan2(path[:, 1], path[:, 0]))[-1]
    assert turned == pytest.approx(funnel.steady_rate(), rel=1e-10)


def test_sleigh_s_closed_form_solves_its_equations() -> None:
    times = np.linspace(0, 4, 4001)
    v, w, angle = wheels.sleigh_motion(times)
    M = wheels.MASS + wheels.WHEEL + wheels.SPIN / wheels.RADIUS**2
    about = wheels.INERTIA + wheels.MASS * wheels.AHEAD**2 + wheels.ACROSS
    ma = wheels.MASS * wheels.AHEAD
    inner = slice(2, -2)
    np.testing.assert_allclose(M * np.gradient(v, times)[inner], (ma * w * w)[inner], atol=1e-4)
    np.testing.assert_allclose(about * np.gradient(w, times)[inner], (-ma * v * w)[inner], atol=1e-4)
    np.testing.assert_allclose(np.gradient(angle, times)[inner], w[inner], atol=1e-4)
    assert (v[0], w[0]) == pytest.approx((wheels.BACKWARD, wheels.TURN), rel=1e-12)


def test_painleve_s_friction_is_four_thirds_for_a_sharp_rod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impacts, "TIP", 0.0)
    assert impacts.critical_friction() == pytest.approx(4 / 3, rel=1e-14)
    angles = np.linspace(0.3, 1.5, 2001)
    least = min(impacts.critical_friction(angle) for angle in angles)
    assert least == pytest.approx(4 / 3, rel=1e-6)  # the smallest of all angles


def test_bounces_last_as_long_as_their_sum() -> None:
    total = np.sqrt(2 * impacts.HEIGHT / G) * (1 + 2 * sum(impacts.BOUNCE**k for k in range(1, 400)))
    assert impacts.ball_quantities()[-1].exact == pytest.approx(total, rel=1e-14)


@pytest.mark.parametrize("count", [3, 5])
def test_elastic_balls_struck_at_once_keep_momentum_and_energy(count: int) -> None:
    before = np.eye(count)[0]
    after = impacts.at_once(np.ones(count), before)
    assert np.sum(after) == pytest.approx(1.0, abs=1e-13)
    assert after @ after == pytest.approx(1.0, abs=1e-13)
    assert np.all(np.diff(after) > -1e-13)
    np.testing.assert_allclose(after, [2 / count - 1, *[2 / count] * (count - 1)], atol=1e-13)


def test_a_slender_block_rocks_by_housner_s_formula() -> None:
    """Times of the exact equation tend to acosh(a / (a - tilt)) / p where the tilt is small."""
    p = np.sqrt(0.75 * G / blocks.REACH)
    slender = np.arccosh(blocks.SLENDER / (blocks.SLENDER - 1e-3)) / p
    assert blocks.fall(1e-3) == pytest.approx(slender, rel=2e-2)
    assert blocks.next_tilt(blocks.TILT) < blocks.TILT


def test_a_coaster_s_ball_leaves_where_nothing_pushes() -> None:
    x, _ = coaster.leaving()
    assert abs(coaster.normal_force(x)) < 1e-10
    assert coaster.normal_force(x - 0.01) > 0


def test_laws_of_dissipation_end_a_disk_as_their_equations_do() -> None:
    """a' of each law, integrated to where the disk is taken as flat."""
    r = disk.RADIUS
    ends = list(disk.end_times().values())
    power = (
        lambda a: disk.RESISTING * disk.MASS * G * np.sqrt(4 * G / (r * a)) * a,
        lambda a: disk.RUNNING * disk.MASS * G * np.sqrt(4 * G / (r * a)),
        lambda a: np.pi * disk.AIR * G * r**2 / a**2,
    )
    tilts = (disk.SCENE_TILT, disk.FLAT), (disk.SCENE_TILT, disk.FLAT), (disk.AIR_TILT, disk.AIR_FLAT)
    from scipy.integrate import quad

    for exact, loss, (tilt, flat) in zip(ends, power, tilts, strict=True):
        time, _ = quad(lambda a, loss=loss: 1.5 * disk.MASS * G * r / loss(a), flat, tilt, epsabs=0, epsrel=1e-10)
        assert time == pytest.approx(exact, rel=1e-8)


def test_dominoes_are_hit_faster_and_faster_at_first() -> None:
    times = np.array(blocks.domino_times())
    gaps = np.diff(times)
    assert np.all(gaps > 0)
    assert np.all(gaps[1:] <= gaps[:-1] * 1.001)


# trundle


@pytest.mark.parametrize(("name", "digits"), [("coin", 5), ("sleigh", 9)])
def test_trundle_reaches_the_answer(name: str, digits: float) -> None:
    _reaches(name, digits)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(HOMES))
def test_trundle_reaches_every_answer(name: str) -> None:
    least = {"bicycle": 4, "coin": 5, "rattleback": 8, "tippe-top": 8, "egg": 8, "rocking-block": 5, "dominoes": 6}
    least |= {"bouncing-ball": 5, "euler-disk": 3}
    _reaches(name, least.get(name, 9))


def _reaches(name: str, least: float) -> None:
    chosen = named(name)
    answer = chosen.trundle()
    found = [q.digits(answer.values[q.name]) for q in chosen.quantities() if q.name in answer.values]
    assert found
    assert min(found) >= least, dict(answer.values)


# The command


def test_digits() -> None:
    assert Quantity("q", 2.0, "m").digits(2.002) == pytest.approx(3.0, abs=1e-9)
    assert Quantity("q", 0.0, "m", 10.0).digits(0.01) == pytest.approx(3.0)
    assert Quantity("q", 2.0, "m").digits(2.0) == 16.0
    assert np.isnan(Quantity("q", 2.0, "m").digits(float("nan")))


def test_a_step_divides_the_samples() -> None:
    setting, count = Setting("s", 2e-3, False).fitted(5e-3)
    assert (setting.step, count) == (pytest.approx(2.5e-3), 2)
    assert Setting("s", 2e-3, False).label(1e-3) == "s, 1 ms"


def test_engines_that_are_missing_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.classics.__main__.find_spec", lambda name: None)
    assert [run_engine(engine, "coin")[0]["note"] for engine in ENGINES] == ["not installed"] * 3


def test_a_page_has_every_number_of_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {q.name: q.exact for q in named("coin").quantities()}
    row = {"engine": "trundle", "setting": "", "values": values, "seconds": 0.5, "note": "success"}
    monkeypatch.setattr("bench.classics.__main__.run_engine", lambda engine, name: [dict(row)])
    result = json.loads(json.dumps(result_of("coin", ("trundle",))))
    machine = {"processor": "p", "cores": 2, "load_average": [0.5], "versions": {"trundle": "1"}}
    text = page.page({"machine": machine, "classics": [result]})
    assert "| trundle |  | 0.5718391 (16.0)" in text


def test_scenes_are_whole() -> None:
    """Names, parents and samples of every scene; balls and boxes fixed to the world have a place."""
    for name in HOMES:
        scene = named(name).scene()
        names = [body.name for body in scene.bodies]
        assert len(set(names)) == len(names)
        parents = [body.joint.parent for body in scene.bodies if body.joint is not None]
        assert {p for p in parents if p is not None} <= set(names)
        np.testing.assert_allclose(np.diff(scene.times), scene.spacing, rtol=1e-9)
        assert all(isinstance(geom, Geom) for geom in scene.ground)


def test_mujoco_agrees_on_the_turntable() -> None:
    pytest.importorskip("mujoco")
    from bench.classics.engines import mujoco

    scene = named("turntable").scene()
    scene = replace(scene, times=scene.times[:51])
    samples, _ = mujoco.run(scene, Setting("", 1e-3, True))
    path = part(samples, "position", 1)[:, :2]
    assert np.linalg.norm(path - turntable.CASE.circle_centre, axis=1) == pytest.approx(0.1, rel=0.02)


def test_the_page_was_written_by_the_command() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "classics.md").read_text(encoding="utf-8")
    assert text.startswith(page.HEAD)
    for name in HOMES:
        assert f"## {named(name).title}\n" in text

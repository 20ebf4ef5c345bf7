"""The survey's judge over other simulators: known answers come out, planted faults are seen, scenes are common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from bench.survey.described import scene_of
from bench.survey.peers.engines import Setting, engine_run, handed, peer_motion
from bench.survey.peers.known import Known, known_scenes, missed
from bench.survey.peers.measured import Row
from bench.survey.peers.scenes import KINDS, OUTPUT, SIZE, shared_scenes
from bench.survey.peers.table import amounts_table, shares_table
from tests.oracles.laws import Amounts, Motion, Pushes, measure

pytest.importorskip("mujoco")

HARD = Setting(
    "MuJoCo",
    "mujoco",
    "hard",
    1e-3,
    (
        ("contact", "hard"),
        ("impratio", 10.0),
    ),
)
PLAIN = Setting(
    "MuJoCo",
    "mujoco",
    "plain",
    2e-3,
    (
        ("contact", "default"),
        ("integrator", "euler"),
    ),
)
OTHERS = (
    Setting("PyBullet", "pybullet", "plain", 1e-3, (("contact", "default"),)),
    Setting(
        "Drake",
        "drake",
        "SAP",
        1e-3,
        (
            ("contact", "default"),
            ("solver", "sap"),
            ("modulus", 1e7),
        ),
    ),
)


@cache
def known(said: str) -> Known:
    return next(one for one in known_scenes() if one.said == said)


@cache
def motion(said: str, setting: Setting = HARD) -> Motion:
    scene = handed(known(said).spec)
    return peer_motion(known(said).spec, scene, engine_run(scene, known(said).spec, setting), setting.actual_step)


@pytest.mark.parametrize("said", [one.said for one in known_scenes()])
def test_known_answers_come_out_of_mujoco(said: str) -> None:
    off, amounts = missed(known(said), motion(said))
    slid = float(np.linalg.norm(np.diff(motion(said).position[[0, -1]], axis=0), axis=-1).max())
    assert off < 1e-4 + 0.03 * slid  # m; soft contact lets a block rock while it slides
    assert amounts.momentum < 1e-12  # its impulses are all that changes momenta
    assert amounts.cone < 1e-12
    assert amounts.overlap < 2e-3
    assert not amounts.broken & {"momentum", "cone"}


@pytest.mark.parametrize("setting", OTHERS, ids=lambda setting: setting.engine)
@pytest.mark.parametrize("said", ["block slides", "ball rolls", "balls meet"])
def test_impulses_of_others_are_what_changes_momenta(said: str, setting: Setting) -> None:
    pytest.importorskip({"drake": "pydrake"}.get(setting.module, setting.module))
    off, amounts = missed(known(said), motion(said, setting))
    assert off < 6e-3
    assert amounts.momentum < 1e-5  # Drake's solver ends at 1e-6
    assert amounts.cone < 1e-5


def changed_pushes(run: Motion, **more: Callable) -> Motion:
    """Return a run of which some arrays of its pushes are changed."""
    pushes = run.pushes
    assert isinstance(pushes, Pushes)
    return replace(
        run, pushes=replace(pushes, **{name: change(getattr(pushes, name)) for name, change in more.items()})
    )


def moved(run: Motion, by: tuple[float, float, float]) -> Motion:
    return replace(run, position=run.position + np.array(by))


FAULTS: dict[str, tuple[Callable[[Motion], Motion], str]] = {
    "an impulse scaled by 1.01": (lambda run: changed_pushes(run, impulse=lambda J: 1.01 * J), "momentum"),
    "an impulse that acts a millimetre beside": (lambda run: changed_pushes(run, arm_A=lambda r: r + 1e-3), "momentum"),
    "an impulse turned round": (lambda run: changed_pushes(run, impulse=lambda J: -J), "cone"),
    "a normal turned by a degree": (
        lambda run: changed_pushes(run, normal=lambda n: n + np.array([np.radians(1.0), 0.0, 0.0])),
        "cone",
    ),
    "a velocity that grows": (
        lambda run: replace(run, velocity=run.velocity * (1.0 + run.time[:, None, None])),
        "energy",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault: str) -> None:
    plant, law = FAULTS[fault]
    scene = scene_of(known("ball rolls").spec)
    before, after = measure(scene, motion("ball rolls")), measure(scene, plant(motion("ball rolls")))
    assert law in after.broken
    assert getattr(after, law) > 1e-3 > getattr(before, law)


def test_a_body_that_is_put_deeper_overlaps_by_as_much() -> None:
    scene, run = scene_of(known("ball rolls").spec), motion("ball rolls")
    deeper = measure(scene, moved(run, (0.0, 0.0, -1e-3)))
    assert deeper.overlap - measure(scene, run).overlap == pytest.approx(1e-3, abs=1e-9)
    assert "gap" in deeper.broken


def test_less_friction_than_the_simulator_had_is_seen() -> None:
    told = known("ball rolls").spec
    less = scene_of(replace(told, friction=0.9 * told.friction))
    assert measure(less, motion("ball rolls")).cone > 0.01


def test_a_contact_without_friction_has_none_in_mujoco() -> None:
    run = motion("ball falls", PLAIN)
    assert np.allclose(run.velocity[:, 0, 0], 0.5, atol=1e-12)
    pushes = run.pushes
    assert isinstance(pushes, Pushes)
    assert len(pushes.A)
    assert np.all(pushes.impulse[:, :2] == 0.0)


def test_scenes_are_such_as_every_simulator_has() -> None:
    found = list(shared_scenes(3, 12, 4))
    assert [number for number, _ in found] == sorted({number for number, _ in found})
    assert {spec.kind for _, spec in found} == {"drops", "pairs"}
    for _, spec in found:
        assert spec.size == SIZE
        assert spec.restitution == spec.lever == 0.0
        assert spec.duration == pytest.approx(OUTPUT * round(spec.duration / OUTPUT))
        assert {part.shape.kind for part in spec.parts.values()} <= set(KINDS)
        assert {pair.friction for pair in spec.pairs} <= {spec.friction}
    numbers = [number for number, spec in found if len(spec.bodies) > 1][:1]
    (scene,) = [handed(spec) for number, spec in found if number in numbers]
    assert {contact.restitution for contact in scene.contacts} == {0.0}


def test_coefficients_of_pairs_are_products_of_those_of_bodies() -> None:
    pytest.importorskip("pybullet")
    from trundle.errors import InputError
    from trundle.interop.pybullet import factors

    sides = [("a", "floor"), ("b", "floor"), ("a", "b")]
    found = factors("friction", sides, [0.6, 0.3, 0.5])
    assert [found[a] * found[b] for a, b in sides] == pytest.approx([0.6, 0.3, 0.5])
    with pytest.raises(InputError, match="friction"):
        factors("friction", [*sides, ("c", "a"), ("c", "b"), ("c", "floor")], [0.5, 0.5, 0.5, 0.5, 0.5, 0.1])


def test_tables_tell_medians_worst_ones_and_what_never_ran() -> None:
    right = Amounts(1e-3, 1e-4, 1e-5, 0.0, frozenset({"gap"}))
    rows = [
        Row("A", 2e-3, 0, "end", True, right, 0.002),
        Row("A", 2e-3, 1, "end", True, replace(right, overlap=3e-3, broken=frozenset()), 0.004),
        Row("trundle", None, 0, "TypeError", False),
    ]
    own, other = amounts_table(rows).splitlines()[2:]
    assert own == "| trundle | events | - | - | - | - | - |"
    assert other == "| A | 2 | 2, 3 | 1.0e-5, 1.0e-5 | 1.0e-4, 1.0e-4 | 0, 0 | 3 |"
    own, other = shares_table(rows).splitlines()[2:]
    assert own == "| trundle | events | 0 % | 0 % | 0 % | 0 % | 0 % | 0 % |"
    assert other == "| A | 2 | 100 % | 50 % | 100 % | 100 % | 100 % | 50 % |"

"""A survey of models as mathematics: `place`, `linearize`, `equilibrium` and `lqr` on random scenes.

Run with ``python -m bench.survey_models --scenes N --seed S [--kind linearize ...]``. Each answer is judged by what
shares no code with it: gaps of whole shapes by `bench.model_shapes`, differences of simulations from starts that
`place` makes, statics, and other forms, units, mirrors of the same scene. What fails is printed with a script that
makes it.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

import trundle as tr
from bench.model_judges import FORMS, Failure, against_flow, against_forms, answered, made_of
from bench.model_scenes import PairScene, random_pair, random_tree
from bench.model_shapes import Array

CLOSED = 1e-9
"""Gap of whole shapes over the body's size that counts as closed: far above round-off, far below what a user sees."""
SLIPS = 1e-6
"""Slip in sizes a natural time that counts as none: the least gap tells its place to the root of round-off."""
HELD = 0.1
"""Sizes by which a body that is no ball may come to rest beside its place, from a hundredth of a size beside it."""


@dataclass(frozen=True)
class Verdict:
    """What became of a scene: labels to count, and the failures."""

    labels: tuple[str, ...]
    failures: tuple[Failure, ...] = ()


def survey_place(seed: int) -> Verdict:
    """Judge a start in every form of contact: whole shapes touch, and their points do not slip."""
    scene, failures, labels = random_pair(seed), [], []
    scene = replace(scene, turning=tuple((np.random.default_rng(seed).normal(size=3) / scene.time).tolist()))
    scene = replace(scene, law="rolling")
    for form in ("auto", *FORMS):
        of_form = replace(scene, form=form)
        made = made_of(of_form.script)
        labels.append(f"place {form} {'refused' if made is None else 'placed'}")
        if made is None:
            continue
        gap, point = of_form.gap(made["pair"], made["start"])
        slip = _slip(of_form, made["pair"], made["start"], point)
        if abs(gap) > CLOSED * scene.size:
            text = f"gap of whole shapes {gap / scene.size:.3g} sizes in the form {form}"
            failures.append(Failure("place", seed, text, of_form.script))
        if slip * scene.time > SLIPS * scene.size and not of_form.touches_along_a_line(made["pair"], made["start"]):
            text = f"slip of {slip * scene.time / scene.size:.3g} sizes in a natural time in the form {form}"
            failures.append(Failure("place", seed, text, of_form.script))
    return Verdict(tuple(labels), tuple(failures))


def survey_linearize(seed: int) -> Verdict:
    """Judge linear models of a pair or a tree by the flow of simulations, and by other forms of the same scene."""
    random = np.random.default_rng(seed)
    if random.random() < 0.3:
        return _linear_tree(seed)
    scene = replace(random_pair(seed), ignores=True)
    moves = random.random() < 0.5
    if moves:
        scene = replace(scene, turning=tuple((random.normal(size=3) / scene.time).tolist()), law="rolling")
    else:
        found = _equilibrium(scene)
        if found is None:
            return Verdict(("linearize without an equilibrium",))
        scene = found
    made = made_of(scene.script)
    if made is None:
        return Verdict(("linearize not placed",))
    linear = answered(lambda: tr.linearize(made["pair"], made["start"]))
    if isinstance(linear, tr.InputError):
        return Verdict(("linearize refused: " + str(linear)[-60:],))
    failures = against_flow(seed, scene, made["pair"], made["start"], linear)
    if not moves:
        failures += against_forms(seed, scene, linear)
    return Verdict((f"linearize {'moving' if moves else 'at rest'}",), tuple(failures))


def survey_equilibrium(seed: int) -> Verdict:
    """Judge equilibria: whole shapes touch, weight and contact force balance within friction, a simulation stays."""
    scene = _near_rest(random_pair(seed, hand=False))
    made = made_of(scene.script)
    if made is None:
        return Verdict(("equilibrium not placed",))
    pair = made["pair"]
    found = answered(lambda: tr.equilibrium(pair, made["start"]))
    if isinstance(found, tr.InputError):
        return Verdict(("equilibrium refused: " + str(found)[-60:],))
    label = f"equilibrium {found.status.label}"
    script = scene.script + "found = tr.equilibrium(pair, start)\n"

    def failed(text: str) -> Failure:
        return Failure("equilibrium", seed, text, script)

    if found.status is not tr.Status.SUCCESS:
        return Verdict((label,))
    failures = []
    gap, point = scene.gap(pair, found.start)
    if abs(gap) > CLOSED * scene.size:
        failures.append(failed(f"gap of whole shapes {gap / scene.size:.3g} sizes"))
    lever, angle = _statics(scene, pair, found.start, point)
    if lever > 1e-6:
        failures.append(failed(f"the weight turns about the contact with a lever of {lever:.3g} sizes"))
    if np.tan(angle) > scene.friction * (1 + 1e-6):
        failures.append(failed(f"friction {np.tan(angle):.3g} is needed, there is {scene.friction:.3g}"))
    growth = float(np.max(tr.linearize(pair, found.start).eigenvalues.real, initial=0.0))
    duration = min(3 * scene.time, 5 / growth) if growth > 0 else 3 * scene.time
    run = tr.simulate(pair, found.start, duration)
    moved = float(np.max(np.abs(run["object_position"][-1] - run["object_position"][0]))) / scene.size
    if run.status.label not in ("success", "rest") or moved > 1e-6:
        failures.append(failed(f"a simulation ends as {run.status.label}, moved by {moved:.3g} sizes"))
    return Verdict((label,), tuple(failures))


def survey_lqr(seed: int) -> Verdict:
    """Judge regulators by simulations of the closed loop from beside the equilibrium."""
    scene = _equilibrium(replace(random_pair(seed, hand=True), law="rolling"))
    if scene is None:
        return Verdict(("lqr without an equilibrium",))
    script = scene.script + 'start = tr.equilibrium(pair, start, hold=("hand.position", "hand.orientation")).start\n'
    made = made_of(script)
    if made is None:
        return Verdict(("lqr not placed",))
    pair, start = made["pair"], made["start"]
    weights = {"object.position": 1 / scene.size**2, "hand.position": 1 / scene.size**2, "hand.orientation": 1.0}
    linear = answered(lambda: tr.linearize(pair, start))
    if isinstance(linear, tr.InputError):
        return Verdict(("lqr not linear",))
    Q = {name: weights[key] for name in linear.states if (key := name.rpartition(".")[0]) in weights}
    R = {name: scene.time**4 * (1.0 if "angular" in name else 1 / scene.size**2) for name in linear.inputs}
    law = answered(lambda: tr.lqr(pair, start, Q, R, 0.05 * scene.time))
    if isinstance(law, tr.InputError):
        return Verdict(("lqr refused: " + str(law)[-60:],))
    random = np.random.default_rng(seed)
    moved = answered(lambda: replace(scene, contact=_beside(scene, random), turning=(0.0,) * 3).placed(pair))
    if isinstance(moved, tr.InputError):
        return Verdict(("lqr start refused",))
    run = tr.simulate(pair, moved, 60 * scene.time, policy=law)
    script += f"law = tr.lqr(pair, start, {Q}, {R}, {0.05 * scene.time!r})\n"
    text = _lost(scene, run)
    return Verdict((f"lqr {run.status.label}",), (Failure("lqr", seed, text, script),) if text else ())


def _lost(scene: PairScene, run: tr.Trajectory) -> str:
    """Return in words how a closed loop lost the body, nothing where it holds it.

    A ball is brought back. Of other bodies rolling keeps what no input can move, place less the angle that it turned
    by: they come to rest next to where they were.
    """
    if run.status.label not in ("success", "rest"):
        return f"the closed loop ends as {run.status.label}"
    off = np.linalg.norm(run["contact_on_hand"] - np.asarray(scene.contact), axis=1) / scene.size
    moved = [float(np.ptp(part, axis=0).max()) for part in np.array_split(run["contact_on_hand"], 6)]
    allowed = 0.1 * off[0] if scene.body.ball and not any(scene.center) else HELD
    if off[-1] > allowed + 1e-5:
        return f"the contact goes from {off[0]:.3g} to {off[-1]:.3g} sizes off"
    return "the contact moves on and on" if moved[-1] > 0.95 * max(moved) else ""


def _beside(scene: PairScene, random: np.random.Generator) -> tuple[float, ...]:
    return tuple((np.asarray(scene.contact) + 0.01 * scene.size * random.uniform(-1, 1, 3)).tolist())


def _near_rest(scene: PairScene) -> PairScene:
    """Return the scene with the body near the ground's lowest or highest point."""
    random = np.random.default_rng(1)
    at = scene.ground.lowest + 0.3 * scene.size * random.uniform(-1, 1, 3)
    return replace(scene, contact=tuple(at.tolist()))


def _equilibrium(scene: PairScene) -> PairScene | None:
    """Return the scene placed at an equilibrium that trundle finds; None if there is none."""
    scene = _near_rest(scene)
    held = replace(scene, hand=False)
    made = made_of(held.script)
    if made is None:
        return None
    found = answered(lambda: tr.equilibrium(made["pair"], made["start"]))
    if isinstance(found, tr.InputError) or found.status is not tr.Status.SUCCESS:
        return None
    _, point = held.gap(made["pair"], found.start)
    layout = made["pair"].model(found.start.atlas).layout
    turned = found.start.x[layout["object.orientation"]]
    return replace(scene, contact=tuple(point.tolist()), quaternion=tuple((turned / np.linalg.norm(turned)).tolist()))


def _slip(scene: PairScene, pair: tr.RollingPair, start: tr.Start, point: Array) -> float:
    """Return the speed (m/s) of the body's material point at the contact against a hand or ground at rest."""
    layout, x = pair.model(start.atlas).layout, start.x
    world = point
    if scene.hand:
        R = Rotation.from_quat(x[layout["hand.orientation"]], scalar_first=True).as_matrix()
        world = R @ point + x[layout["hand.position"]]
    arm = world - x[layout["object.position"]]
    velocity = x[layout["object.velocity"]] + np.cross(x[layout["object.angular_velocity"]], arm)
    return float(np.linalg.norm(velocity))


def _statics(scene: PairScene, pair: tr.RollingPair, start: tr.Start, point: Array) -> tuple[float, float]:
    """Return the lever of the weight about the contact (sizes) and the angle of the normal from the vertical."""
    layout = pair.model(start.atlas).layout
    arm = start.x[layout["object.position"]] - point
    up = -np.asarray(scene.gravity) / np.linalg.norm(scene.gravity)
    lever = float(np.linalg.norm(np.cross(up, arm))) / scene.size
    h = 1e-7 * scene.ground.size
    steps = point + h * np.vstack([np.eye(3), -np.eye(3)])
    values = scene.ground.distance(steps)
    n = (values[:3] - values[3:]) / (2 * h)
    return lever, float(np.arccos(np.clip(up @ n / np.linalg.norm(n), -1, 1)))


def _linear_tree(seed: int) -> Verdict:
    scene = random_tree(seed)
    made = made_of(scene.script)
    if made is None:
        return Verdict(("linearize tree not placed",))
    tree, start = made["tree"], made["start"]
    linear = answered(lambda: tr.linearize(tree, start))
    if isinstance(linear, tr.InputError):
        return Verdict(("linearize tree refused: " + str(linear)[-60:],))
    return Verdict(("linearize tree",), tuple(against_flow(seed, scene, tree, start, linear)))


KINDS: dict[str, Callable[[int], Verdict]] = {
    "place": survey_place,
    "linearize": survey_linearize,
    "equilibrium": survey_equilibrium,
    "lqr": survey_lqr,
}


def main() -> None:
    """Run the survey and print what failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scenes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", action="append", choices=sorted(KINDS))
    arguments = parser.parse_args()
    labels: Counter[str] = Counter()
    failures: list[Failure] = []
    begun = time.perf_counter()
    for kind in arguments.kind or KINDS:
        for seed in range(arguments.seed, arguments.seed + arguments.scenes):
            verdict = KINDS[kind](seed)
            labels.update(verdict.labels)
            failures += verdict.failures
            for failure in verdict.failures:
                print(f"--- {failure.kind}, seed {failure.seed}: {failure.text}\n{failure.script}", flush=True)
    for label, count in sorted(labels.items()):
        print(f"{count:5d} {label}")
    print(f"{len(failures)} failures, {time.perf_counter() - begun:.0f} s")


if __name__ == "__main__":
    main()

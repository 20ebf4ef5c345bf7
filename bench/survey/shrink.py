"""Smaller scenes that fail alike: fewer bodies, shapes and pairs, rounder numbers, shorter."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from bench.survey.draw import least_gap, rounded
from bench.survey.source import script
from bench.survey.spec import BodySpec, Judged, Spec
from bench.survey.variants import drawn_change
from bench.survey.work import Task, watched


def shrunk(task: Task, judged: Judged, limit: float, seconds: float) -> str:
    """Return the script of the smallest scene found that breaks the same law, with what is wrong in its head."""
    spec, best = judged.spec or task.drawn(), judged
    law = judged.laws[0] if judged.laws else judged.verdict
    way = judged.compared if judged.invariance else None
    end = time.monotonic() + (seconds if law != "time-out" else 0.0)
    limit = min(limit, 2.0 * max(judged.seconds, 1.0) + 2.0)
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for candidate in candidates(spec, best.more.get("first", spec.duration)):
            if time.monotonic() > end:
                break
            if not _starts(candidate):
                continue
            again = watched(replace(task, spec=candidate, invariance=way), limit)
            if ("wrong" in again.verdict and law in again.laws) or (again.verdict, law) == ("crash", "crash"):
                spec, best, smaller = candidate, again, True
                break
    return headed(task, best, spec)


_TOLD = """E = np.ravel(run["energy"])
print(run.status.label, run.feasible, "largest rise of the energy", np.max(E - np.minimum.accumulate(E)), "J")
for name in run.dataset:
    if name.endswith("_position") and "contact" not in name:
        print(name, "at the end", run[name][-1].tolist())
"""
"""What scripts print."""


def _starts(spec: Spec) -> bool:
    try:
        return bool(spec.bodies) and least_gap(spec) > -1e-9 * spec.size
    except (ValueError, KeyError, IndexError):
        return False


def headed(task: Task, judged: Judged, spec: Spec) -> str:
    """Return the script with what is wrong in its first lines."""
    found = [f for f in (*judged.findings, judged.invariance, judged.reason) if f]
    lines = [f'"""{task.kind}, seed {task.seed}, scene {task.number}: {judged.verdict} (status {judged.status}).', ""]
    lines += [f"- {f}" for f in found] or ["- it does not end"]
    text = "\n".join([*lines, '"""', "", script(spec) + _TOLD])
    if not judged.invariance:
        return text
    _, change = drawn_change(spec, task.seed, task.number, judged.compared)
    again = "".join(script(change.spec).splitlines(keepends=True)[2:])  # without the imports
    return f"{text}\n# The same scene in other words ({judged.compared}): it has to move alike.\n{again}{_TOLD}"


def candidates(spec: Spec, first: float) -> Iterator[Spec]:
    """Yield smaller scenes, the boldest first; `first` (s) is when the first law was broken."""
    soon = rounded(1.1 * first, 2)
    if 0.0 < soon < 0.9 * spec.duration:
        yield replace(spec, duration=soon)
    for body in spec.bodies:
        if len(spec.bodies) > 1:
            yield spec.without_body(body.name)
    for i in range(len(spec.pairs)):
        yield replace(spec, pairs=(*spec.pairs[:i], *spec.pairs[i + 1 :]))
    for share in (0.25, 0.5, 0.8):
        yield replace(spec, duration=rounded(share * spec.duration, 2))
    yield from _plainer(spec)
    for i, body in enumerate(spec.bodies):
        for other in _plainer_body(spec, body):
            if other != body:
                yield replace(spec, bodies=(*spec.bodies[:i], other, *spec.bodies[i + 1 :])).tidy()


def _plainer(spec: Spec) -> Iterator[Spec]:
    """Yield the scene with plainer coefficients."""
    changes = (
        {"restitution": 0.0}, {"friction": 0.0}, {"lever": 0.0}, {"restitution": 0.5}, {"friction": 0.5},
        {"gravity": (*(0.0,) * (spec.d - 1), -9.81)}, {"restitution": rounded(spec.restitution, 1)},
        {"friction": rounded(spec.friction, 1)},
    )  # fmt: skip
    for change in changes:
        other = replace(spec, **change)
        if (
            other != spec
            and (change.get("restitution") != 0.5 or spec.restitution)
            and (change.get("friction") != 0.5 or spec.friction)
        ):
            yield other
    for key in ("friction", "restitution"):
        plain = replace(spec, pairs=tuple(replace(p, **{key: 0.0}) for p in spec.pairs))
        if plain != spec:
            yield plain


def _plainer_body(spec: Spec, body: BodySpec) -> Iterator[BodySpec]:
    """Yield a body with fewer shapes, at rest, upright, with rounder numbers."""
    if len(body.parts) > 1:
        for k in range(1, len(body.parts)):
            yield replace(body, parts=(*body.parts[:k], *body.parts[k + 1 :]))
        yield replace(body, parts=body.parts[1:])
    d, k = spec.d, len(body.rate) - spec.d
    if any(p.name in spec.closed for p in body.parts):
        return
    if body.input:
        yield replace(body, input=0.0)
    if body.joint != "free":
        return
    if any(body.center):
        yield replace(body, center=(0.0,) * d)
    if any(body.rate):
        yield replace(body, rate=(0.0,) * len(body.rate))
        yield replace(body, rate=(*(0.0,) * k, *body.rate[k:]))
        yield replace(body, rate=(*body.rate[:k], *(0.0,) * d))
        yield replace(body, rate=tuple(rounded(v, 1) for v in body.rate))
        yield replace(body, rate=tuple(rounded(v, 2) for v in body.rate))
    upright = (1.0, 0.0, 0.0, 0.0) if d == 3 else (0.0,)
    if body.position[d:] != upright:
        yield replace(body, position=(*body.position[:d], *upright))
    if d == 2:
        yield replace(body, position=(*body.position[:d], rounded(body.position[d], 1)))
    yield replace(body, position=(*(rounded(x, 1) for x in body.position[:d]), *body.position[d:]))
    yield replace(body, position=(*(rounded(x, 2) for x in body.position[:d]), *body.position[d:]))
    yield replace(body, mass=1.0, inertia=tuple(rounded(v / body.mass, 2) for v in body.inertia))
    parts = []
    for part in body.parts:
        numbers = tuple((name, _round(value, 2)) for name, value in part.shape.numbers)
        parts.append(
            replace(part, shape=replace(part.shape, numbers=numbers), at=tuple(rounded(x, 2) for x in part.at))
        )
    yield replace(body, parts=tuple(parts))


def _round(value: object, digits: int) -> object:
    if isinstance(value, list):
        return [_round(v, digits) for v in value]
    return rounded(value, digits) if isinstance(value, float) else value

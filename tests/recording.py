"""Good calls of all public callables, and an instance of each public class, recorded while docstring examples run."""

from __future__ import annotations

import contextlib
import doctest
import enum
import importlib
import inspect
import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

import trundle as tr

FAMILIES = (
    "contact control geometry models numerics.ilqr optimal records scenarios simulate report "
    "systems.juggling systems.multicontact systems.planar systems.walking systems.wallbounce"
).split()
PUBLIC: dict[str, Any] = {name: getattr(tr, name) for name in tr.__all__ if name not in {"__version__", *tr._SLICES}}
"""Public names of the package, then those that only its families have."""
for family in FAMILIES:
    home = importlib.import_module(f"trundle.{family}")
    PUBLIC |= {name: getattr(home, name) for name in home.__all__ if name not in PUBLIC}
NAMES = [name for name, public in PUBLIC.items() if getattr(public, "__module__", "").startswith("trundle.")]
MORE = """
import numpy as np
patch = tr.FlatPatch.rectangle(0.2, 0.1, friction=0.7)
w = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 10.0])
patch.edge_distance(w); patch.friction_use(w); tr.FlatPatch.point(0.5); patch.uses([w])
place = tr.PlacedPatch("left", patch, (0.0, 0.1, 0.0)); place.world(w)
body = tr.multicontact.Centroidal(10.0); state = tr.multicontact.CentroidalState((0.0, 0.0, 0.5))
body.rate(state, [place], [w], [tr.multicontact.Push()]); body.advance(state, [place], [w], 0.01)
both, joint = body.with_body(state, 1.0, state); both.without_body(joint, 1.0, state)
ball = tr.Sphere(0.1); ball.closest([[1.0, 0, 0]]); ball.distance([[1.0, 0, 0]]); ball.locate([0.1, 0, 0])
ball.mass_properties("solid"); ball.mesh(8); ball.sample(5); ball.points_with_normal([0, 0, 1.0])
disk = tr.Ellipse((0.2, 0.1)); disk.closest([[1.0, 0]]); disk.locate([0.2, 0.0])
soft = tr.SoftLaw(); wall = tr.Wall((0.5, 0, 0), (-1.0, 0, 0))
touch = tr.SoftTouch.at([0.45, 0.0, 0.0], [0.0, 0.1, 0.0], 0.05, wall)
touch.landing(0.03, 0.02); touch.no_slip(ca.SX(1.0), 5.0); touch.force(ca.SX(1.0), ca.SX([0, 1]))
robot = tr.Robot(); wheel = robot.free(1.0, 0.01, shape=tr.Circle(0.1), name="wheel")
robot.prismatic(wheel, at=(0.0, 0.2), mass=0.5, inertia=0.01, axis=(0.0, 1.0), name="rod")
arm = robot.revolute(wheel, at=(0.0, 0.0), mass=0.5, inertia=0.01, name="arm")
robot.attach(arm, tr.Circle(0.02), at=(0.0, 0.3)); robot.terrain(tr.Line()); tree = robot.finish()
tree.place(wheel=(0.0, 0.1, 0.0), contacts=["wheel"]); tree.given_state(wheel=(0.0, 0.1, 0.0)); tree.scaled(mass=1.1)
tree.with_springs({"rod": 10.0}, {"rod": 1.0}, {"rod": 0.0})
bare = tr.Tree(2, (0.0, -9.81)); link = bare.free(1.0, 0.1); bare.prismatic(link, (0.0, 0.1), 0.5, 0.01)
bare.revolute(link, (0.0, 0.1), 0.5, 0.01, name="other"); bare.finish(); bare.scaled(1.1); bare.with_specs(bare.specs)
sine = tr.SinusoidMotion((0.1,) * 6, (1.0,) * 6); sine.is_still(0.1); sine.parameters(0.1)
still = tr.SampledMotion(np.arange(3.0), np.zeros((3, 6))); still.is_still(0.1); still.parameters(0.1)
pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 0.1), tr.Hand(tr.Plane())); start = pair.place()
pair.start(start.placement) if hasattr(start, "placement") else None
pair.model(); pair.tree()
tr.juggling.HandLimits().acceleration(3); tr.juggling.HandLimits().components(3)
tr.Foot(tr.Sphere(0.1)).contacts("left")
tr.Box((0.1, 0.2, 0.3)).bundle(); tr.Capsule(0.1, 0.2).bundle(); tr.Disc(0.1, 0.01).bundle(); tr.Sphere(0.1).bundle()
tr.Ellipsoid((0.1, 0.2, 0.3)).polar_chart(); tr.Sphere(0.1).polar_chart(); sine.rate(0.1, sine.parameters(0.1)[0])
"""
"""Calls that no example makes."""
OWN = (str(Path(tr.__file__).parent), "<string>")
"""Where objects come from: trundle's functions, and constructors of dataclasses."""


@dataclass
class Recorded:
    """Calls by function, the public names each belongs to, and objects by public class."""

    calls: dict[Callable[..., Any], dict[str, Any]] = field(default_factory=dict)
    names: dict[Callable[..., Any], list[str]] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)


def functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield name and function of every public callable: functions, constructors, methods."""
    for name in NAMES:
        public = PUBLIC[name]
        if inspect.isfunction(public):
            yield name, public
        elif isinstance(public, type) and not issubclass(public, Exception | enum.Enum):
            for key, member in inspect.getmembers_static(public):
                function = getattr(member, "__func__", member)
                ours = inspect.isfunction(function) and function.__module__.startswith("trundle")
                if ours and (key in ("__init__", "__call__") or not key.startswith("_")):
                    yield f"{name}.{key}", function


def inner(function: Callable[..., Any]) -> Any:
    """Return the code that runs, of a dataclass or a guarded function too."""
    return getattr(inspect.unwrap(function), "__code__", None)


@cache
def recorded() -> Recorded:
    """Run every docstring example of a public name, and `MORE`, and note who is called with what."""
    found, known = Recorded(), {}
    for name, function in functions():
        known[id(inner(function))] = function
        found.names.setdefault(function, []).append(name)
    classes = {PUBLIC[name]: name for name in NAMES if isinstance(PUBLIC[name], type)}

    def note(frame: Any, event: str, value: Any) -> Any:
        code = frame.f_code
        if event == "call":
            function = known.get(id(code))
            if function is not None:
                found.calls.setdefault(function, dict(frame.f_locals))
            frame.f_trace_lines = False
            return note if code.co_filename.startswith(OWN) else None
        own = frame.f_locals.get("self") if event == "return" and code.co_varnames[:1] == ("self",) else value
        if event == "return" and type(own) in classes:
            found.objects.setdefault(classes[type(own)], own)
        return note

    texts = [(inspect.getdoc(PUBLIC[name]) or "", vars(sys.modules[PUBLIC[name].__module__])) for name in NAMES]
    sources = [("".join(e.source for e in doctest.DocTestParser().get_examples(t)), v) for t, v in texts if t]
    before = sys.gettrace()
    for source, names in [*sources, (MORE, {"ca": ca, "np": np})]:
        sys.settrace(note)
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(tr.TrundleError):
                exec(source, {**names, "tr": tr})
        finally:
            sys.settrace(before)
    return found

"""Pairs and trees in MuJoCo: `to_mjcf` writes a scene as an `MjSpec`, `run` steps it."""

from __future__ import annotations

import math
import time as clock
from typing import TYPE_CHECKING, Literal

import numpy as np

from trundle.checks import FloatArray, choice, positive
from trundle.errors import InputError
from trundle.interop.peers import Contact, PeerRun, divide_interval
from trundle.interop.scene import Model, PeerBody, PeerContact, PeerGeom, PeerScene, scene_of
from trundle.models.tree.system import Start
from trundle.numerics.rotations import quaternion_of
from trundle.simulate.mujoco.mjcf import GeomContact, add_geom, add_motor, add_pair, load_mujoco, new_spec, set_inertia

if TYPE_CHECKING:
    import mujoco

__all__ = ["run", "start_of", "to_mjcf"]

Integrator = Literal["euler", "implicitfast", "rk4"]

START = "start"
"""Name of the keyframe of the start."""
_HARD = (0.999, 0.9999, 1e-4, 0.5, 2.0)
_SLAB = 2.0  # m, half sides of a plane that moves, and twice its thickness
_BASE = 0.1  # m, below the lowest point of a height field
_NONE = GeomContact(0, 0)


def to_mjcf(
    model: Model,
    start: Start,
    *,
    step: float = 1e-3,
    contact: Contact = "hard",
    integrator: Integrator = "implicitfast",
    reach: float | None = None,
    cells: int = 200,
    name: str = "trundle",
) -> mujoco.MjSpec:
    """Return a pair or a tree as a MuJoCo model, with its start as the keyframe ``"start"``.

    Bodies, joints and geoms have the names of the tree; of a body in the plane the joints are ``<body>-x``,
    ``<body>-z`` and ``<body>-angle`` (about -y). Spheres, ellipsoids, boxes, capsules, cylinders and planes are
    primitives, other convex shapes meshes of which MuJoCo takes the hull, terrain is a height field. Exactly the
    contacts of the model are pairs. What is another thing in MuJoCo is said in ``spec.comment``.

    Parameters
    ----------
    model : RollingPair, RollingTree or ContactSystem
    start : Start
        From ``model.place(...)``.
    step : float, s
        The model's ``timestep``.
    contact : "hard" or "default"
        ``"hard"``: ``solref = (2 step, 1)``, ``solimp = (0.999, 0.9999, 1e-4, 0.5, 2)``, elliptic cones with ``impratio
        = 1e4``, tight solver tolerances. ``"default"``: all of them as MuJoCo has it.
    integrator : "implicitfast", "euler" or "rk4"
        ``"rk4"`` is the most exact while the normal force is even; on curved ground and moving hands it is not.
    reach : float, m, optional
        Half the width of terrain that is written as heights, about the start (default: 20 sizes of what rolls on it).
    cells : int
        Of heights, along each side.
    name : str
        Of the model.

    Raises
    ------
    InputError
        If MuJoCo has no such thing: a hand whose twist changes, a law of force of depth, adhesion, joints of one's
        own, external forces, a surface that does not face upwards.
    MissingExtraError
        If MuJoCo is not installed.

    Examples
    --------
    >>> pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), mass=0.5), tr.Hand(tr.Plane(), rpy=(0, 0.1, 0)))
    >>> spec = tr.interop.mujoco.to_mjcf(pair, pair.place())
    >>> spec.compile().body("object").mass.tolist()  # kg
    [0.5]
    """
    return spec_of(scene_of(model, start, reach=reach, cells=cells), step, contact, integrator, name)


def spec_of(
    scene: PeerScene,
    step: float,
    contact: Contact,
    integrator: Integrator,
    name: str = "trundle",
    impratio: float | None = None,
) -> mujoco.MjSpec:
    """Return the model of a scene, see `to_mjcf`."""
    choice("contact", contact, ("hard", "default"))
    choice("integrator", integrator, ("euler", "implicitfast", "rk4"))
    positive("step", step, "s")
    spec = new_spec(name, step, scene.gravity)
    _set_options(spec, contact, integrator, impratio)
    spec.comment = "; ".join(scene.notes)
    made = {"": spec.worldbody}
    for body in scene.bodies:
        made[body.name] = _add_body(spec, made[body.parent], body)
    for geom in scene.geoms:
        _add_geom(spec, made[geom.body], geom)
    for one in scene.contacts:
        _add_contact(spec, one, step, contact)
    for i, (first, at, second, at_second) in enumerate(scene.pins):
        sites = [made[body].add_site(name=f"pin{i}-{k}", pos=p) for k, (body, p) in
                 enumerate([(first, at), (second, at_second)])]  # fmt: skip
        kinds = load_mujoco()
        spec.add_equality(
            type=kinds.mjtEq.mjEQ_CONNECT, objtype=kinds.mjtObj.mjOBJ_SITE, name1=sites[0].name, name2=sites[1].name
        )
    for follower, leader, ratio, offset in scene.couplings:
        kinds = load_mujoco()
        polynomial = np.zeros(kinds.mjNEQDATA)  # of the leader's coordinate
        polynomial[:2] = offset, ratio
        spec.add_equality(
            type=kinds.mjtEq.mjEQ_JOINT,
            objtype=kinds.mjtObj.mjOBJ_JOINT,
            name1=follower,
            name2=leader,
            data=polynomial,
        )
    try:
        model = spec.compile()
    except ValueError as error:
        raise InputError("model", name, f"one that MuJoCo accepts ({error})") from None
    data = load_mujoco().MjData(model)
    for body in scene.bodies:
        _put(model, data, body)
    spec.add_key(name=START, qpos=data.qpos, qvel=data.qvel)
    return spec


def _set_options(spec: mujoco.MjSpec, contact: Contact, integrator: Integrator, impratio: float | None) -> None:
    mj, option = load_mujoco(), spec.option
    option.integrator = getattr(mj.mjtIntegrator, f"mjINT_{integrator.upper()}")
    if contact == "default":
        option.impratio, option.cone = impratio or 1.0, mj.mjtCone.mjCONE_PYRAMIDAL
        if impratio:
            option.cone = mj.mjtCone.mjCONE_ELLIPTIC
        return
    option.impratio, option.tolerance, option.iterations, option.ls_iterations = impratio or 1e4, 1e-12, 100, 100
    option.ccd_tolerance, option.ccd_iterations = 1e-10, 200


def _add_body(spec: mujoco.MjSpec, parent: mujoco.MjsBody, body: PeerBody) -> mujoco.MjsBody:
    mj = load_mujoco()
    kinds = mj.mjtJoint
    planar = body.joint == "in-plane"
    turn = np.eye(3) if planar else body.R
    here = parent.add_body(name=body.name, pos=np.zeros(3) if planar else body.position, quat=quaternion_of(turn))
    if body.mass:
        set_inertia(here, body.mass, body.com, body.inertia)
    here.gravcomp = float(body.weightless)
    if body.joint == "free":
        here.add_freejoint(name=body.name)
    elif planar:
        for label, kind, axis in (("x", "SLIDE", (1, 0, 0)), ("z", "SLIDE", (0, 0, 1)), ("angle", "HINGE", (0, -1, 0))):
            here.add_joint(name=f"{body.name}-{label}", type=getattr(kinds, f"mjJNT_{kind}"), axis=axis)
    elif body.joint != "weld":
        kind = kinds.mjJNT_HINGE if body.joint == "hinge" else kinds.mjJNT_SLIDE
        joint = here.add_joint(name=body.name, type=kind, axis=body.axis, frictionloss=body.dry_friction)
        joint.damping, joint.stiffness, joint.springref = [body.damping, 0, 0], [body.stiffness, 0, 0], body.rest
        if math.isfinite(body.low) or math.isfinite(body.high):
            joint.range, joint.limited = [max(body.low, -1e6), min(body.high, 1e6)], mj.mjtLimited.mjLIMITED_TRUE
        if body.actuated:
            add_motor(spec, body.name, body.name)
    return here


def _add_geom(spec: mujoco.MjSpec, body: mujoco.MjsBody, geom: PeerGeom) -> None:
    form, at, R = geom.form, geom.position, geom.R
    kind, size = form.kind, list(form.size)
    if kind == "plane" and not geom.body:
        size = [0.0, 0.0, 0.1]
    elif kind == "plane":  # MuJoCo's planes do not move
        kind, size, at = "box", [_SLAB, _SLAB, _SLAB / 4], at - R[:, 2] * _SLAB / 4
    elif kind == "hull":
        spec.add_mesh(name=geom.name, uservert=form.points.ravel())
        made = add_geom(body, geom.name, "mesh", [], _NONE, position=at, R=R)
        made.meshname = geom.name
        return
    elif kind == "heights":
        low, high = float(form.heights.min()), float(form.heights.max())
        rows, columns = form.heights.shape
        field = spec.add_hfield(name=geom.name, nrow=rows, ncol=columns, userdata=form.heights.ravel() - low)
        field.size = [*size, max(high - low, 1e-6), _BASE]
        made = add_geom(body, geom.name, "hfield", [], _NONE, position=at + R[:, 2] * low, R=R)
        made.hfieldname = geom.name
        return
    add_geom(body, geom.name, kind, size, _NONE, position=at, R=R)


def _add_contact(spec: mujoco.MjSpec, one: PeerContact, step: float, contact: Contact) -> None:
    solref = (2.0 * step, 1.0)
    if one.restitution:
        stiffness, log = (0.2 / step) ** 2, -math.log(one.restitution)  # an impact lasts some 16 steps
        solref = (-stiffness, -2.0 * math.sqrt(stiffness) * log / math.hypot(math.pi, log))
    hard = {"solref": solref, "solimp": _HARD} if contact == "hard" or one.restitution else {}
    # A pyramid of no width makes forces of round-off along the surface: the engine has frictionless contacts.
    condim = 1 if one.resists == 3 and not one.friction else one.resists
    add_pair(
        spec, one.first, one.second, one.friction, torsional=one.torsional, rolling=one.rolling, condim=condim, **hard
    )  # fmt: skip


def _put(model: mujoco.MjModel, data: mujoco.MjData, body: PeerBody) -> None:
    """Put a body where the scene begins."""
    if body.joint == "free":
        joint = data.joint(body.name)
        joint.qpos[:] = [*body.position, *quaternion_of(body.R)]
        joint.qvel[:] = [*body.twist[3:], *(body.R.T @ body.twist[:3])]
    elif body.joint == "in-plane":
        angle = math.atan2(body.R[2, 0], body.R[0, 0])
        values = (body.position[0], body.position[2], angle)
        rates = (body.twist[3], body.twist[5], -body.twist[1])
        for label, value, rate in zip(("x", "z", "angle"), values, rates, strict=True):
            joint = data.joint(f"{body.name}-{label}")
            joint.qpos[0], joint.qvel[0] = value, rate
    elif body.joint != "weld":
        joint = data.joint(body.name)
        joint.qpos[0], joint.qvel[0] = body.value, body.rate


def start_of(model: mujoco.MjModel) -> mujoco.MjData:
    """Return the data of a model of `to_mjcf` at its start."""
    mj = load_mujoco()
    data = mj.MjData(model)
    mj.mj_resetDataKeyframe(model, data, model.key(START).id)
    mj.mj_forward(model, data)
    return data


def run(
    scene: PeerScene,
    times: FloatArray,
    step: float,
    limit: float = np.inf,
    *,
    contact: Contact = "hard",
    integrator: Integrator = "implicitfast",
    impratio: float | None = None,
    pushes: bool = False,
) -> PeerRun:
    """Return a scene's run, sampled at even `times` (n,) s, with `step` (s) or the next that divides their spacing.

    It ends early where stepping takes more than `limit` (s) of CPU. An `impratio` is MuJoCo's own, with elliptic cones.
    With `pushes` it keeps what contacts gave in each step; those of "rk4" are of its last stage alone.
    """
    mj = load_mujoco()
    step, every = divide_interval(times, step)
    model = spec_of(scene, step, contact, integrator, impratio=impratio).compile()
    data = start_of(model)
    found = PeerRun.of(scene, len(times), limit)
    for i in range(len(times)):
        if i:
            for _ in range(every if pushes else 1):
                begin = clock.process_time()
                mj.mj_step(model, data, 1 if pushes else every)
                found.seconds += clock.process_time() - begin
                if pushes:
                    _keep_pushes(model, data, found, i)
            mj.mj_forward(model, data)
        for k, body in enumerate(scene.bodies):
            number, twist = model.body(body.name).id, np.zeros(6)
            mj.mj_objectVelocity(model, data, mj.mjtObj.mjOBJ_XBODY, number, twist, 0)
            found.bodies[i, k] = [*data.xpos[number], *data.xquat[number], *twist]
            if body.joint in ("hinge", "slide"):
                joint = data.joint(body.name)
                found.joints[i, k] = joint.qpos[0], joint.qvel[0]
        if found.late(i, times[i]):
            break
    if np.any(data.warning.number):
        found.note = "MuJoCo warned of a bad state"
    return found


def _keep_pushes(model: mujoco.MjModel, data: mujoco.MjData, found: PeerRun, sample: int) -> None:
    """Keep what contacts gave in the step that was made; poses in `data` are still those before it."""
    mj, force = load_mujoco(), np.zeros(6)
    centers = {model.body(k).name: np.array(data.xipos[k]) for k in range(1, model.nbody)}
    for k in range(data.ncon):
        contact = data.contact[k]
        mj.mj_contactForce(model, data, k, force)
        if not np.any(force):
            continue
        # The frame's first axis points from the first geom to the second one, on which the force acts.
        frame = np.array(contact.frame).reshape(3, 3)
        numbers = [int(model.geom_bodyid[geom]) for geom in contact.geom[::-1]]
        first, second = (model.body(number).name if number else "" for number in numbers)
        impulse = model.opt.timestep * (frame.T @ force[:3])
        point = np.array(contact.pos)
        found.push(sample, (first, second), (point, point), frame[0], impulse, centers)

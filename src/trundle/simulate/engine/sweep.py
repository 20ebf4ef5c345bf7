"""Sweep: the bodies of a model as tables over kernels of kinds of joints; nothing is compiled for the model itself."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import casadi as ca
import numpy as np

from trundle.checks import FloatArray
from trundle.contact.stops import JointStop
from trundle.models.tree.force import generalized_force
from trundle.models.tree.joint import VectorJoint
from trundle.models.tree.joints import BodySpec, FreeJoint
from trundle.models.tree.model import DRY, TIME
from trundle.simulate.engine.bodies import Bodies
from trundle.simulate.engine.joint_kernels import KindsOfJoints, told_size
from trundle.simulate.engine.kernels import Kernel, KernelStruct, compile_kernel, struct_of
from trundle.simulate.engine.moving import WORLD, MovingBody, is_known

HELD, JOINTED, FREE = range(3)
"""How a body moves, as in bodies_core.h."""


_PLURAL = {
    "node": "nodes",
    "side": "sides",
    "stop": "stops",
    "resistance": "resistances",
    "motor": "motors",
}


def _integers(names: str) -> list[tuple[str, type]]:
    return [(name, ctypes.c_longlong) for name in names.split()]


def _doubles(**sizes: int) -> list[tuple[str, type]]:
    return [(name, ctypes.c_double if size == 1 else ctypes.c_double * size) for name, size in sizes.items()]


class NodeStruct(ctypes.Structure):
    """Mirror of ``Node``."""

    _fields_ = [
        *_integers(
            "kind parent up root size column own width M q nq v nv u timed turned turned_on plain weighs carries ball"
        ),
        *_doubles(at=3, axes=9, on=9, mass=1, com=3, inertia=9),
        *((name, KernelStruct) for name in ("joint", "rate", "moved")),
    ]


class SideStruct(ctypes.Structure):
    """Mirror of ``Side``."""

    _fields_ = [*_integers("node at J offset turned"), *_doubles(place=3, axes=9)]


class StopStruct(ctypes.Structure):
    """Mirror of ``Stop``."""

    _fields_ = [*_integers("at q v axis"), *_doubles(side=1, end=1)]


class ResistanceStruct(ctypes.Structure):
    """Mirror of ``Resistance``."""

    _fields_ = [*_integers("column q v"), *_doubles(damping=1, dry=1, width=1, stiffness=1, rest=1)]


class MotorStruct(ctypes.Structure):
    """Mirror of ``Motor``."""

    _fields_ = _integers("column u")


class SweepStruct(ctypes.Structure):
    """Mirror of ``KinematicSweep``."""

    _fields_ = [
        *_integers("d n nv inputs idle nodes sides stops resistances motors size top_at"),
        *_integers("coordinates_at coordinates time_at told n_arg n_res n_iw n_w"),
        *((name, ctypes.c_void_p) for name in "node side stop resistance motor constants".split()),
        *_doubles(gravity=3),
        *((name, KernelStruct) for name in ("inputs_of", "force")),
    ]


MIRRORS: dict[str, type[ctypes.Structure]] = {
    "sweep_size": SweepStruct,
    "sweep_node_size": NodeStruct,
    "sweep_side_size": SideStruct,
    "sweep_stop_size": StopStruct,
    "sweep_resistance_size": ResistanceStruct,
    "sweep_motor_size": MotorStruct,
}


class KinematicSweep:
    """The bodies of a model as the core goes through them (final).

    Attributes
    ----------
    struct : SweepStruct
    kernels : list of Kernel
        All that it calls.

    Parameters
    ----------
    bodies : Bodies
    inputs : (n_i,)
        Symbols of the input parameters, with which p begins.
    u : (n_u,)
        The model's inputs as an expression of them and of the time.
    t : scalar
    """

    def __init__(self, bodies: Bodies, inputs: ca.SX, u: ca.SX, t: ca.SX) -> None:
        model = self.model = bodies.model
        self._bodies = bodies
        self.kernels: list[Kernel] = []
        tables = {
            "node": (NodeStruct, self._nodes()),
            "side": (SideStruct, self._sides()),
            "stop": (StopStruct, self._stops()),
            "resistance": (ResistanceStruct, self._resistances()),
            "motor": (MotorStruct, self._motors()),
        }
        self._tables = {name: _array(kind, structs) for name, (kind, structs) in tables.items()}
        self._constants = self._constant()
        coordinates = [model.layout[f"{one.name}.coordinates"] for one in model.constraints if one.contact.size]
        inputs_of, force = self._inputs_of(inputs, u, t), self._force()
        work = np.max([(8, 2, 1, 1), *(kernel.native.work_sizes for kernel in self.kernels)], axis=0).tolist()
        self.struct = SweepStruct(
            d=model.d,
            n=model.x.shape[0],
            nv=model.nv,
            inputs=model.u.shape[0],
            idle=int(u.is_zero()),
            size=bodies.size,
            top_at=bodies.top_at,
            coordinates_at=coordinates[0].start if coordinates else 0,
            coordinates=sum(where.stop - where.start for where in coordinates),
            time_at=model.layout[TIME].start if TIME in model.layout else -1,
            told=max((_most_told(body) for body in bodies.moving.bodies), default=1),
            constants=self._constants.ctypes.data,
            gravity=_three(np.array(ca.DM(model.gravity)).ravel()),
            inputs_of=inputs_of,
            force=force,
            **dict(zip(("n_arg", "n_res", "n_iw", "n_w"), work, strict=True)),
            **{_PLURAL[name]: len(structs) for name, (_, structs) in tables.items()},
            **{name: ctypes.addressof(structs) for name, structs in self._tables.items()},
        )

    def evaluate(self, library: ctypes.CDLL, name: str, *given: FloatArray, times: int = 1) -> FloatArray:
        """Return what the core makes of one sweep, `times` over, with memory of its own: for tests and measurements.

        Parameters
        ----------
        library : ctypes.CDLL
            The loaded core.
        name : "bodies", "rate", "moved" or "nudge"
        given : arrays
            (t, x, p), (t, x, p, nudot, rates of contact coordinates), (x, step) or (x, step).
        """
        values = [np.ascontiguousarray(value, dtype=np.float64) for value in given]
        out = np.zeros(self.struct.size if name == "bodies" else self.struct.n)
        arguments = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
        what = ctypes.c_longlong(("bodies", "rate", "moved", "nudge").index(name))
        failed = library["sweep_alone"](
            ctypes.byref(self.struct), what, ctypes.c_longlong(times), arguments, ctypes.c_void_p(out.ctypes.data)
        )
        return np.full_like(out, np.nan) if failed else out

    # bodies -----------------------------------------------------------------------------------------------

    def _nodes(self) -> list[NodeStruct]:
        kinds, nodes = KindsOfJoints(), list[NodeStruct]()
        moving = self._bodies.moving
        heavy = [body.mass is not None for body in moving.bodies]
        for i in range(len(heavy) - 1, -1, -1):
            parent = moving.bodies[i].on.node
            if heavy[i] and parent != WORLD:
                heavy[parent] = True
        for i, body in enumerate(moving.bodies):
            node = self._place_node(body)
            self._let_carry(node, i, body, heavy[i])
            made = kinds.kernels(body.joint)
            for name in ("joint", "rate", "moved"):
                setattr(node, name, self._struct_of(getattr(made, name)))
            nodes.append(node)
        return nodes

    def _place_node(self, body: MovingBody) -> NodeStruct:
        """Return a node with its places in x, u and nu, and on the node before it."""
        spec, joint = body.spec, body.joint
        q, v = (self._places(spec, tuple(names())) for names in (joint.configuration, joint.velocity))
        kind = FREE if isinstance(joint, FreeJoint) else JOINTED if joint.size else HELD
        unit = np.eye(self.model.d)
        return NodeStruct(
            kind=kind,
            parent=body.on.node,
            size=joint.size,
            column=body.columns[0] if body.columns else 0,
            q=q.start,
            nq=q.stop - q.start,
            v=v.start,
            nv=v.stop - v.start,
            u=min((self.model.input_layout[f"{spec.name}.{name}"].start for name in joint.inputs), default=-1),
            timed=int(joint.by_time),
            turned=int(not np.array_equal(body.on.R, unit)),
            turned_on=int(not np.array_equal(body.turned, unit)),
            plain=int(isinstance(joint, VectorJoint)),
            at=_three(body.on.p),
            axes=_nine(body.on.R),
            on=_nine(body.turned),
        )

    def _let_carry(self, node: NodeStruct, number: int, body: MovingBody, heavy: bool) -> None:
        """Tell a node its tree, and what it weighs."""
        bodies, moving = self._bodies, self._bodies.moving
        node.up, node.root, before = WORLD, WORLD, body.on.node
        while before != WORLD and node.up == WORLD:
            node.up, before = (before if moving.bodies[before].columns else WORLD), moving.bodies[before].on.node
        if body.path:
            tree = bodies.trees.of(body.path)
            own = bodies.trees.columns[tree]
            node.root = next(i for i, one in enumerate(moving.bodies) if one.path[:1] == body.path[:1])
            node.own, node.width = own.index(body.columns[0]) if body.columns else 0, len(own)
            node.M, node.carries = int(bodies.tables["tree_M"][tree]), int(heavy)
        if body.mass is None:
            return
        node.weighs, node.mass, node.com = 1, body.mass.mass, _three(body.mass.com)
        node.inertia = _nine(body.mass.inertia)
        node.ball = int(moving.is_alone(number) and body.mass.even and not np.any(body.mass.com))

    def _places(self, spec: BodySpec, names: Sequence[str]) -> slice:
        """Return where variables of a body are in x, one after the other."""
        found = [self.model.layout[f"{spec.name}.{name}"] for name in names]
        return slice(found[0].start, found[-1].stop) if found else slice(0, 0)

    # sides ------------------------------------------------------------------------------------------------

    def _sides(self) -> list[SideStruct]:
        sides, unit = [], np.eye(self.model.d)
        for frame in self._bodies.frames:
            if frame.place.node == WORLD:
                continue
            place, told = frame.place, frame.tree >= 0 and not frame.free
            side = SideStruct(node=place.node, at=frame.at, J=frame.J if told else -1)
            side.offset, side.turned = int(np.any(place.p)), int(not np.array_equal(place.R, unit))
            side.place, side.axes = _three(place.p), _nine(place.R)
            sides.append(side)
        return sides

    def _stops(self) -> list[StopStruct]:
        stops = []
        for frame in self._bodies.frames:
            if (joint := frame.joint) is not None:
                q, v = (self.model.layout[f"{frame.body}.{name}"].start for name in ("joint", "rate"))
                end = joint.end if isinstance(joint, JointStop) else 0.0
                place = q if isinstance(joint, JointStop) else -1
                stops.append(StopStruct(frame.at, place, v + joint.coordinate, joint.axis, joint.gain, end))
        return stops

    def _constant(self) -> FloatArray:
        """Return what is told (size,) before the first sweep: all that no sweep changes."""
        bodies, d, k = self._bodies, self.model.d, self.model.k
        told, rows = np.zeros(bodies.size), d + k
        for frame in bodies.frames:
            if frame.place.node == WORLD:
                told[frame.at : frame.at + d * d] = frame.place.R.T.ravel()
                told[frame.at + d * d : frame.at + d * d + d] = frame.place.p
            if frame.joint is not None:
                told[frame.J + rows * frame.columns[0] + k + frame.joint.axis] = frame.joint.gain
            elif frame.tree >= 0 and bodies.has_free_root(frame.tree):
                told[frame.J : frame.J + rows * rows] = np.eye(rows).ravel()
        for node, body in zip(self._tables["node"], bodies.moving.bodies, strict=True):
            if node.ball and body.mass is not None:
                M = told[node.M : node.M + rows * rows].reshape(rows, rows)
                M[:] = np.diag([*np.diag(body.mass.inertia), *[body.mass.mass] * d])
        return told

    # what acts beside inertia -----------------------------------------------------------------------------

    def _motors(self) -> list[MotorStruct]:
        motors = []
        for spec in self.model.specs:
            if spec.actuated:
                where, first = self.model.input_layout[f"{spec.name}.torque"], self.model.columns[spec.name]
                motors += [MotorStruct(first + i, where.start + i) for i in range(where.stop - where.start)]
        return motors

    def _resistances(self) -> list[ResistanceStruct]:
        resistances = []
        for spec in self.model.specs:
            if not (spec.damping or spec.smooth_friction or spec.stiffness):
                continue
            q, v = (self.model.layout[f"{spec.name}.{name}"] for name in ("joint", "rate"))
            sprung = spec.stiffness and q.stop - q.start == spec.joint.size
            for i in range(spec.joint.size):
                one = ResistanceStruct(self.model.columns[spec.name] + i, q.start + i if sprung else -1, v.start + i)
                one.damping, one.dry, one.width = spec.damping, spec.smooth_friction, DRY
                one.stiffness, one.rest = spec.stiffness, spec.rest
                resistances.append(one)
        return resistances

    def _inputs_of(self, inputs: ca.SX, u: ca.SX, t: ca.SX) -> KernelStruct:
        """Return the kernel (t, p) -> u, none where p begins with u or u is zero."""
        if u.is_zero() or (u.shape == inputs.shape and ca.is_equal(u, inputs)):
            return KernelStruct()
        return self._struct_of(compile_kernel(ca.Function("inputs", [t, inputs], [ca.densify(u)], {"cse": True})))

    def _force(self) -> KernelStruct:
        """Return the kernel x -> Q (nv,) of external forces, none without them."""
        model = self.model
        _, _, _, _, forces, origins, _ = model.given
        if not forces:
            return KernelStruct()
        t = model.x[model.layout[TIME]] if TIME in model.layout else ca.SX.sym(TIME)
        Q, _ = generalized_force(model, forces, model.motions, model.to_world, t, origins)
        return self._struct_of(compile_kernel(ca.Function("force", [model.x], [ca.densify(Q)], {"cse": True})))

    def _struct_of(self, kernel: Kernel | None) -> KernelStruct:
        if kernel is None:
            return KernelStruct()
        self.kernels.append(kernel)
        return struct_of(kernel)


def can_sweep(bodies: Bodies) -> bool:
    """Return whether the sweep knows all joints of a model."""
    return all(is_known(body.joint) for body in bodies.moving.bodies)


def _most_told(body: MovingBody) -> int:
    """Return the most numbers that a kernel of a joint gives: what it does, or the rates of its variables."""
    variables = {**body.joint.configuration(), **body.joint.velocity()}
    return max(told_size(body.joint), sum(variables.values()))


def _array(kind: type[ctypes.Structure], structs: Sequence[ctypes.Structure]) -> ctypes.Array[ctypes.Structure]:
    return (kind * max(len(structs), 1))(*structs)


def _three(values: FloatArray) -> ctypes.Array[ctypes.c_double]:
    return (ctypes.c_double * 3)(*values)


def _nine(matrix: FloatArray) -> ctypes.Array[ctypes.c_double]:
    """Return a matrix by columns."""
    return (ctypes.c_double * 9)(*matrix.T.ravel())

"""What `trundle.interop` uses of Pinocchio: it has no types of its own."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]

__version__: str

class ReferenceFrame: ...

LOCAL: ReferenceFrame
LOCAL_WORLD_ALIGNED: ReferenceFrame

class Motion:
    linear: _Array
    angular: _Array
    vector: _Array

class Force:
    linear: _Array
    angular: _Array
    def __init__(self, linear: _Array, angular: _Array) -> None: ...

class SE3:
    rotation: _Array
    translation: _Array
    def __init__(self, rotation: _Array, translation: _Array) -> None: ...
    def __mul__(self, other: SE3) -> SE3: ...
    def act(self, force: Force) -> Force: ...
    def actInv(self, other: SE3) -> SE3: ...  # noqa: N802
    def inverse(self) -> SE3: ...

class Inertia:
    mass: float
    lever: _Array
    inertia: _Array

class JointModel:
    nq: int
    nv: int
    idx_q: int
    idx_v: int
    def shortname(self) -> str: ...

class JointModelFreeFlyer(JointModel): ...

class JointData:
    S: _Array

class FrameType:
    BODY: FrameType

class Frame:
    name: str
    type: FrameType
    parentJoint: int
    placement: SE3

class Model:
    name: str
    nq: int
    nv: int
    njoints: int
    names: Sequence[str]
    parents: Sequence[int]
    joints: Sequence[JointModel]
    jointPlacements: Sequence[SE3]
    inertias: Sequence[Inertia]
    frames: Sequence[Frame]
    armature: _Array
    gravity: Motion
    def createData(self) -> Data: ...  # noqa: N802
    def getFrameId(self, name: str) -> int: ...  # noqa: N802
    def copy(self) -> Model: ...

class Data:
    oMi: Sequence[SE3]
    joints: Sequence[JointData]
    J: _Array

def buildModelFromXML(text: str, root: JointModel) -> Model: ...  # noqa: N802
def skew(v: _Array) -> _Array: ...
def neutral(model: Model) -> _Array: ...
def crba(model: Model, data: Data, q: _Array) -> _Array: ...
def forwardKinematics(model: Model, data: Data, q: _Array, v: _Array, a: _Array) -> None: ...  # noqa: N802
def computeJointJacobians(model: Model, data: Data, q: _Array) -> _Array: ...  # noqa: N802
def computeForwardKinematicsDerivatives(  # noqa: N802
    model: Model, data: Data, q: _Array, v: _Array, a: _Array
) -> None: ...
def getFrameVelocity(  # noqa: N802
    model: Model, data: Data, joint: int, placement: SE3, axes: ReferenceFrame
) -> Motion: ...
def getFrameAcceleration(  # noqa: N802
    model: Model, data: Data, joint: int, placement: SE3, axes: ReferenceFrame
) -> Motion: ...
def getFrameClassicalAcceleration(  # noqa: N802
    model: Model, data: Data, joint: int, placement: SE3, axes: ReferenceFrame
) -> Motion: ...
def getFrameJacobian(  # noqa: N802
    model: Model, data: Data, joint: int, placement: SE3, axes: ReferenceFrame
) -> _Array: ...
def getFrameVelocityDerivatives(  # noqa: N802
    model: Model, data: Data, joint: int, placement: SE3, axes: ReferenceFrame
) -> tuple[_Array, _Array]: ...
def getFrameAccelerationDerivatives(  # noqa: N802
    model: Model, data: Data, joint: int, placement: SE3, axes: ReferenceFrame
) -> tuple[_Array, _Array, _Array, _Array]: ...

"""What trundle uses of coal, the distance library that comes with Pinocchio: it has no types of its own."""

import numpy as np
from numpy.typing import NDArray

class CollisionGeometry:
    def computeLocalAABB(self) -> None: ...  # noqa: N802

class Box(CollisionGeometry):
    def __init__(self, x: float, y: float, z: float) -> None: ...

class Capsule(CollisionGeometry):
    def __init__(self, radius: float, length: float) -> None: ...

class Sphere(CollisionGeometry):
    def __init__(self, radius: float) -> None: ...

class Halfspace(CollisionGeometry):
    def __init__(self, normal: NDArray[np.float64], offset: float) -> None: ...

class Mesh(CollisionGeometry):
    convex: CollisionGeometry
    def buildConvexHull(self, keep_triangles: bool, options: str) -> None: ...  # noqa: N802

class MeshLoader:
    def load(self, file: str, scale: NDArray[np.float64]) -> Mesh: ...

class Transform3s:
    def __init__(self, R: NDArray[np.float64], p: NDArray[np.float64]) -> None: ...

class DistanceRequest:
    enable_signed_distance: bool

class DistanceResult:
    normal: NDArray[np.float64]
    def clear(self) -> None: ...
    def getNearestPoint1(self) -> NDArray[np.float64]: ...  # noqa: N802
    def getNearestPoint2(self) -> NDArray[np.float64]: ...  # noqa: N802

def distance(
    a: CollisionGeometry,
    at_a: Transform3s,
    b: CollisionGeometry,
    at_b: Transform3s,
    request: DistanceRequest,
    result: DistanceResult,
) -> float: ...

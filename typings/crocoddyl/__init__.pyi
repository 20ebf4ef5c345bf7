"""What `trundle.interop` uses of Crocoddyl: it has no types of its own."""

import numpy as np
import pinocchio
from numpy.typing import NDArray

_Array = NDArray[np.float64]

__version__: str

class StateMultibody:
    nq: int
    nv: int
    pinocchio: pinocchio.Model

class ContactDataAbstract:
    Jc: _Array
    a0: _Array
    da0_dx: _Array
    dtau_dq: _Array
    df_dx: _Array
    df_du: _Array
    f: pinocchio.Force
    fext: pinocchio.Force
    frame: int
    jMf: pinocchio.SE3
    pinocchio: pinocchio.Data
    def __init__(self, model: ContactModelAbstract, data: pinocchio.Data) -> None: ...

class ContactModelAbstract:
    nc: int
    state: StateMultibody
    def __init__(self, state: StateMultibody, type: pinocchio.ReferenceFrame, nc: int, nu: int = ...) -> None: ...
    def createData(self, data: pinocchio.Data) -> ContactDataAbstract: ...  # noqa: N802

class ContactModel3D(ContactModelAbstract):
    def __init__(
        self, state: StateMultibody, frame: int, at: _Array, type: pinocchio.ReferenceFrame, nu: int
    ) -> None: ...

class ContactDataMultiple:
    contacts: dict[str, ContactDataAbstract]

class DataCollectorContact:
    contacts: ContactDataMultiple

class ResidualDataAbstract:
    r: _Array
    Rx: _Array
    Ru: _Array
    shared: DataCollectorContact

class ResidualModelAbstract:
    state: StateMultibody
    def __init__(self, state: StateMultibody, nr: int, nu: int, of_q: bool, of_v: bool, of_u: bool) -> None: ...

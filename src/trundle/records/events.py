"""Events in a record: what each impulse of a run did, along a dimension of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trundle.records.variables import EVENT, Variable

if TYPE_CHECKING:
    import xarray

_VARIABLES = {
    "event_time": Variable((EVENT,), "s", "none", "time of the impulse; of time steps the end of the last one"),
    "event_contact": Variable((EVENT,), "1", "none", "name of the contact"),
    "event_impulse": Variable((EVENT, "xyz"), "N s", "world", "impulse on the object or body (A) of the contact"),
    "event_velocity_before": Variable(
        (EVENT, "xyz"), "m/s", "world", "velocity of A's material point minus that of B's before the impulse"
    ),
    "event_velocity_after": Variable((EVENT, "xyz"), "m/s", "world", "the same after it"),
}


def with_events(
    dataset: xarray.Dataset,
    times: NDArray[np.float64],
    contacts: Sequence[str],
    vectors: Sequence[NDArray[np.float64]],
) -> xarray.Dataset:
    """Return the dataset with what impulses did; as it is where there are none.

    Parameters
    ----------
    times : (k,) s
    contacts : sequence of str
        Their contacts.
    vectors : three of (k, 3)
        Impulses (N s), and velocities (m/s) of the material points before and after them; world, A minus B.
    """
    if not len(times):
        return dataset
    planar = "xz" in dataset.dims
    columns = {}
    for (name, one), values in zip(
        _VARIABLES.items(), (times, np.array(contacts, dtype=np.str_), *vectors), strict=True
    ):
        dims = tuple("xz" if planar and dim == "xyz" else dim for dim in one.dims)
        columns[name] = (dims, values[:, [0, 2]] if dims[-1] == "xz" else values, one.attributes)
    return dataset.assign(columns)

"""Tables [faults] and [watchdog] of tasks with a controller, and the policy that they make of its own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from trundle.control.sensing.faults import Faults, Faulty, Watchdog
from trundle.errors import InputError
from trundle.parameters import Real
from trundle.records import Policy
from trundle.scenarios.problems import Allowed
from trundle.scenarios.schema import Array, Table, fault, in_files, table_of

STALE = 0.05
"""s without a change after which a scenario's watchdog takes a measurement for lost."""

_Number = Annotated[Real, in_files(Real)]
_Bias = _Number | Annotated[tuple[_Number, ...], Array, Field(min_length=1, max_length=512)]
_Entries = Annotated[tuple[Annotated[int, Field(ge=0, le=511)], ...], Array, Field(max_length=512)]
_FAILING = ("begin", "end", "dropped", "nan", "lost", "frozen", "late", "bias", "entries")
_NARROWER = {
    "bias": Annotated[_Bias, Allowed("a number, or 1 to 512 of them, each from -1e12 to 1e12")],
    "entries": Annotated[_Entries, Allowed("at most 512 integers from 0 to 511")],
}


class FaultsTable(table_of(Faults, _FAILING, narrower=_NARROWER)):
    """What fails between the sensors and the controller; drawn with the scenario's seed."""

    def _check(self) -> None:
        try:
            self.make()
        except InputError as error:
            raise fault(error.key, f"must be {error.allowed}") from None


class WatchdogTable(table_of(Watchdog, ("patience", "settle", "stale"), defaults={"stale": STALE})):
    """When the controller stops because what it measures is lost, and what it does then."""

    enabled: bool = Field(default=True, description="false: measurements fail and nothing stops the controller")
    stop: Literal["let-go", "hold"] = Field(default="let-go", description="inputs after the stop: zero, or the last")


class ControlledTable(Table):
    """What every task with a controller has: faults of what it measures, and a watchdog."""

    faults: FaultsTable | None = Field(default=None, description="left out: nothing fails")
    watchdog: WatchdogTable | None = Field(default=None, description="left out: as below, but only with [faults]")


def guard_policy(policy: Policy, size: int, tables: ControlledTable, seed: int) -> Policy:
    """Return a policy of `size` inputs inside the watchdog and the faults of the tables; itself without tables."""
    table = tables.watchdog or (WatchdogTable() if tables.faults else None)
    if table is not None and table.enabled:
        policy = Watchdog(policy, size, stop=table.stop, **table.values())
    return policy if tables.faults is None else Faulty(policy, Faults(**tables.faults.values(), seed=seed))

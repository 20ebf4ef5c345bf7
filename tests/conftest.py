"""What every test shares: no windows, no other machine, repeatable random tests."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.cores import built_cores
from tests.named import NamedRuns

os.environ.setdefault("MPLBACKEND", "Agg")

# A shell that starts the suite in the background lets it ignore Ctrl-C, and every process it starts: tests send it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

_LOCAL = ("127.", "::1", "localhost", "0.0.0.0")


def _is_local(address: Any) -> bool:
    return not isinstance(address, tuple) or str(address[0]).startswith(_LOCAL)


@pytest.fixture(scope="session")
def named(tmp_path_factory: pytest.TempPathFactory) -> NamedRuns:
    """Give the small runs of the named scenarios, which all test processes of the session share."""
    base = tmp_path_factory.getbasetemp()
    return NamedRuns((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "named")


@pytest.fixture(scope="session")
def cores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ctypes.CDLL]:
    """Give the cores of the package, built as an installation builds them; see `tests.cores.choose`."""
    return built_cores(tmp_path_factory.mktemp("cores"))


@pytest.fixture(autouse=True)
def trials_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep trials in the test's own process unless it asks for more: the tests themselves fill all cores."""
    monkeypatch.setattr("trundle.scenarios.engine.trials.cores", lambda: 1)


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Any:
    """Refuse connections to other machines, so that a test that needs one fails here and not only elsewhere."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def guarded(original: Any) -> Any:
        def call(self: socket.socket, address: Any) -> Any:
            if not _is_local(address):
                raise OSError(f"tests may not connect to {address}")
            return original(self, address)

        return call

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", guarded(connect))
        patch.setattr(socket.socket, "connect_ex", guarded(connect_ex))
        yield

"""The motion of a run that goes on: looked at while it is simulated, and on the page that waits for its end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
import webbrowser
from pathlib import Path

import numpy as np
import pytest

import trundle as tr
from tests.report.browser import chromium
from tests.scenarios.files import written
from trundle.cli import view
from trundle.report.viewer import live
from trundle.scenarios import load_scenario, run
from trundle.simulate.watching import watch_runs

SHORT = """kind = "juggling"
task = "simulate"
[object]
shape = { type = "sphere", radius = 0.2 }
mass = 0.1
[hand]
shape = { type = "plane" }
angular_velocity = [0.0, 0.0, 7.0]
[initial]
contact_on_hand = [0.0, 0.0, 0.0]
object_angular_velocity = [1.0, 0.0, 0.0]
[simulation]
duration = 0.3
[parts.longer.simulation]
duration = 0.4
"""


def rolled() -> tr.Trajectory:
    pair = tr.RollingPair(tr.RigidBody(tr.Sphere(0.1), 0.1), tr.Hand(tr.Plane()))
    still = tr.FunctionPolicy(0.01, lambda time, state: np.zeros(6))
    return tr.simulate(pair, pair.place(object_angular_velocity=(1.0, 2.0, 0.0)), 0.1, policy=still)


def test_the_motion_so_far_is_that_of_the_finished_run() -> None:
    looked = []
    with watch_runs(lambda make: looked.append(make())):
        whole = rolled()
    seen = [one for one in looked if one is not None]
    ends = [one.time[-1] for one in seen]
    assert ends == sorted(ends)
    assert 0.0 < ends[0] < 0.05
    assert ends[-1] > 0.08
    for one in seen:
        np.testing.assert_array_equal(one["object_position"], whole["object_position"][: len(one)])
    assert rolled().time.tolist() == whole.time.tolist(), "nobody looks any more"
    assert len(looked) < 100


def test_the_page_shows_the_motion_of_parts_that_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("viser")
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(live, "_GONE", 60.0)
    monkeypatch.setattr(view, "_SOON", 0.0)

    def asked(path: str) -> bytes:
        with urllib.request.urlopen(f"{opened[0]}{path}") as answer:
            return answer.read()

    with view.watch_in_browser(True, "ball", lambda what, share: None) as (tell, show):
        assert b"as soon as some of it is recorded" in asked("")
        done = run(load_scenario(written(tmp_path, SHORT)), tmp_path / "out", plots=False, progress=tell)
        state = json.loads(asked("state"))
        assert state["motion"] >= 1
        page = asked(f"motion?{state['motion']}").decode()
        assert "running, " in page
        assert "trundle" in page
        show(done.directory)
        assert json.loads(asked("state"))["ready"]
        assert asked("") == (done.directory / "viewer.html").read_bytes()


@pytest.mark.slow
def test_a_browser_shows_progress_then_the_motion_so_far_then_the_page(tmp_path: Path) -> None:
    pytest.importorskip("viser")
    opener, address, out = tmp_path / "opener", tmp_path / "address", tmp_path / "out"
    opener.write_text(f'#!/bin/sh\necho "$1" > "{address}.new" && mv "{address}.new" "{address}"\n')
    opener.chmod(0o755)
    command = [sys.executable, "-c", "from trundle.cli import main; main()"]
    command += ["run", "rover-sinusoid", "--view", "--no-plots", "--quiet", "--out", str(out)]
    with chromium(tmp_path / "profile") as tab:
        run = subprocess.Popen(command, env={**os.environ, "BROWSER": f"{opener} %s"})
        try:
            while not address.is_file():
                assert run.poll() is None
                time.sleep(0.05)
            tab.call("Page.navigate", url=address.read_text().strip())
            tab.until("document.getElementById('share')?.value > 0.0")
            assert tab.run("document.getElementById('what').textContent") not in ("", "starting")
            # In the frame, below what is said: a motion long enough to see.
            tab.until("document.getElementById('motion')?.contentWindow.trundle?.length > 0.1")
            told = "[m.hidden, ...['h1', 'small'].map(s => m.contentWindow.document.querySelector(s).textContent)]"
            hidden, title, status = tab.run(f"(m => {told})(document.getElementById('motion'))")
            assert (hidden, title) == (False, "rover-sinusoid")
            assert status.startswith("running, ")
            # Then the page of the run, in the same tab, without being asked for.
            tab.until("document.title === 'rover-sinusoid - trundle' && typeof trundle === 'object'")
            assert tab.run("document.querySelector('#head small').textContent") == "success"
            assert run.wait(timeout=60) == 0
            assert tab.errors == []
        finally:
            run.kill()
            run.wait()

"""Standing on two feet under a sustained sideways pull of 20 N, announced to preview control or not.

Told, it leans against the pull before it comes; not told, it is dragged off and back. The whole momentum is simulated.
"""

from __future__ import annotations

import argparse

import numpy as np

import trundle as tr

MASS, HEIGHT = 33.0, 0.7  # kg, m
PULL, START, END = 20.0, 1.0, 4.0  # N, s, s
TICK, DURATION = 0.05, 6.0  # s


def feet() -> list[tr.multicontact.Held]:
    """Return two soles on flat ground."""
    sole = tr.FlatPatch.rectangle(0.2, 0.08, friction=0.7)  # m
    return [
        tr.multicontact.Held(tr.PlacedPatch(name, sole, (0.0, y, 0.0))) for name, y in (("left", 0.1), ("right", -0.1))
    ]


def stand(told: bool) -> tuple[np.ndarray, ...]:
    """Return times (s), sideways position of the centre of mass and of the centre of pressure (m)."""
    pull = tr.multicontact.Pushed(tr.multicontact.Push((0.0, PULL, 0.0)), START, END)
    known, model = tr.multicontact.Forecast(feet(), [pull] if told else []), tr.multicontact.Centroidal(MASS)
    preview, still = tr.multicontact.Preview(model), tr.multicontact.PointPath([0.0], [(0.0, 0.0, HEIGHT)])
    state, rows = tr.multicontact.CentroidalState((0.0, 0.0, HEIGHT)), []
    for time in np.arange(0.0, DURATION, TICK):
        plan = preview(time, state, known, still)
        w = plan.wrenches[0]
        pushing = sum(c.world(one)[[0, 5]] for c, one in zip(plan.contacts, w, strict=True))  # mx, fz about the origin
        rows.append((time, state.position[1], pushing[0] / pushing[1]))
        acting = [pull.push] if pull.start <= time < pull.end else []
        state = model.advance(state, plan.contacts, w, TICK, acting)
    return tuple(np.array(rows).T)


def main(plot: str | None = None) -> float:
    """Print how far the pull drags; return the error of the held pressure against F h / (m g), m."""
    runs = {"announced": stand(True), "not announced": stand(False)}
    lever = PULL * HEIGHT / (MASS * 9.81)  # m, how far the pressure must stay off the centre of mass to hold the pull
    for name, (_, y, _) in runs.items():
        print(f"{name}: the centre of mass sways {1e3 * y.min():.1f} to {1e3 * y.max():.1f} mm")
    time, y, pressure = runs["announced"]
    held = np.argmin(np.abs(time - 3.0))
    error = abs(pressure[held] - y[held] - lever)
    print(f"the pull is held by pressure {1e3 * lever:.1f} mm off the centre of mass, to {error:.1e} m")
    if plot:
        from matplotlib import pyplot as plt

        _, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 5), layout="constrained")
        for (name, (time, y, pressure)), colour in zip(runs.items(), ("#2166ac", "#e08214"), strict=True):
            axes[0].plot(time, 1e3 * y, color=colour, label=name)
            axes[1].step(time, 1e3 * pressure, color=colour, where="post", label=name)
        for ax, what in zip(axes, ("centre of mass", "centre of pressure"), strict=True):
            ax.axvspan(START, END, color="#eeeeee", zorder=0)
            ax.set_ylabel(f"{what},\nsideways (mm)")
        axes[0].legend(frameon=False)
        axes[0].set_title("A pull of 20 N from 1 s to 4 s", loc="left")
        axes[1].set_xlabel("time (s)")
        axes[0].figure.savefig(plot)
    return float(error)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)

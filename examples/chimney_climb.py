"""Climbing between two walls: nothing supports from below, friction alone carries.

The privileged axis is horizontal, from wall to wall: along it nothing sways and the forces cancel, and the climb
itself is left to preview control. Hands and feet move up one after the other; the whole momentum is simulated.
"""

from __future__ import annotations

import argparse

import numpy as np

import trundle as tr

MASS, HALF_GAP, RISE = 33.0, 0.35, 0.2  # kg, m, m
TICK, STEP, CYCLES = 0.05, 0.6, 3  # s, s; each cycle moves the four limbs once
LIMBS = {"left foot": (1, -0.4), "right hand": (-1, 0.4), "right foot": (-1, -0.4), "left hand": (1, 0.4)}  # wall, m


def schedule() -> tuple[tr.multicontact.Forecast, tr.multicontact.PointPath]:
    """Return the holds, of which three or four are always there, and where the centre of mass should be."""
    pad, held, cycle = tr.FlatPatch.rectangle(0.12, 0.08, friction=0.9), [], STEP * len(LIMBS)  # m
    for i, (name, (side, height)) in enumerate(LIMBS.items()):
        R = np.array([[1.0, 0, 0], [0, 0, -side], [0, side, 0]])  # the normal points away from the wall
        moves = [-np.inf, *(1.0 + i * STEP + k * cycle for k in range(CYCLES)), np.inf]
        for k in range(CYCLES + 1):
            lift = 0.4 if k < CYCLES else 0.0  # s in the air before the next hold
            start = moves[k]
            contact = tr.PlacedPatch(name, pad, (0.1 * height, side * HALF_GAP, height + k * RISE), R)
            held.append(tr.multicontact.Held(contact, start, moves[k + 1] - lift))
    end = 1.0 + CYCLES * cycle
    return tr.multicontact.Forecast(held), tr.multicontact.PointPath(
        [0.6, end], [(0.0, 0.0, 0.0), (0.0, 0.0, CYCLES * RISE)]
    )


def main(plot: str | None = None) -> float:
    """Print height, friction use and sway; return the sway along the privileged axis, m."""
    known, path = schedule()
    model, state, rows = tr.multicontact.Centroidal(MASS), tr.multicontact.CentroidalState((0.0, 0.0, 0.0)), []
    preview = tr.multicontact.Preview(model, axis=(0.0, 1.0, 0.0))
    for time in np.arange(0.0, path.times[-1] + 1.0, TICK):
        plan = preview(time, state, known, path)
        if not plan.usable:
            raise SystemExit(f"{time:.2f} s: {plan.status.label}")
        normal = float(plan.wrenches[0, :, 5].sum())
        rows.append((time, *state.position, normal, plan.friction_use[0].max(), *state.angular_momentum))
        state = model.advance(state, plan.contacts, plan.wrenches[0], TICK)
    table = np.array(rows)
    sway = float(np.abs(table[:, 2]).max())
    print(f"climbed {state.position[2]:.3f} m; friction used at most {table[:, 5].max():.2f}")
    print(f"sway between the walls {sway:.1e} m; the walls are pushed with up to {table[:, 4].max():.0f} N together")
    print(f"angular momentum about the axis, which preview control does not see: {np.ptp(table[:, 7]):.2f} kg m2/s")
    if plot:
        from matplotlib import pyplot as plt

        _, axes = plt.subplots(3, 1, sharex=True, figsize=(7, 6.5), layout="constrained")
        axes[0].plot(table[:, 0], table[:, 3], label="height")
        axes[0].plot(table[:, 0], path(table[:, 0])[0][:, 2], ":", color="black", label="path")
        axes[1].step(table[:, 0], table[:, 4], where="post")
        for column, name in ((6, "L about x"), (7, "about y, the axis"), (8, "about z")):
            axes[2].plot(table[:, 0], table[:, column], label=name)
        for ax, what in zip(axes, ("height (m)", "normal forces (N)", "L (kg m²/s)"), strict=True):
            ax.set_ylabel(what)
        axes[0].legend(frameon=False)
        axes[2].legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 0.97))
        axes[2].set_xlabel("time (s)")
        axes[0].figure.savefig(plot)
    return sway


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="write a picture")
    main(parser.parse_args().plot)

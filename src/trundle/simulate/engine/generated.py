"""Generated: the bodies of one model as four functions of its own, where its joints are not all known to the sweep."""

from __future__ import annotations

import casadi as ca

from trundle.simulate.engine.bodies import Bodies


def body_functions(bodies: Bodies, inputs: ca.SX, u: ca.SX, t: ca.SX, parameter_count: int) -> dict[str, ca.Function]:
    """Return the functions of a model that the core calls in place of the sweep.

    Parameters
    ----------
    bodies : Bodies
    inputs : (n_i,)
        Symbols of the input parameters, with which p begins.
    u : (n_u,)
        The model's inputs as an expression of them and of the time.
    t : scalar
    parameter_count : int
        Entries of p.

    Returns
    -------
    dict of name -> casadi.Function
        ``bodies`` (t, x, p) -> what is told; ``rate`` (t, x, p, nudot, rates of contact coordinates) -> x'; ``moved``
        and ``nudge`` (x, step) -> x with poses, or velocities, changed by the step (nv,).
    """
    model, nv = bodies.model, bodies.model.nv
    p, time = ca.SX.sym("p", parameter_count), ca.SX.sym("t")
    u_of = ca.Function("u_of", [t, inputs], [ca.densify(u)])(time, p[: inputs.shape[0]])
    sizes = sum(one.contact.size for one in model.constraints)
    nudot, s_rate, step = ca.SX.sym("nudot", nv), ca.SX.sym("s_rate", sizes), ca.SX.sym("step", nv)
    rate = model.state_rate(nudot, [None] * len(model.constraints), s_rate)  # pyright: ignore[reportArgumentType]
    s = ca.vertcat(*(one.s for one in model.constraints))
    told, rate = ca.substitute([bodies.expression(), rate], [model.u], [u_of])
    made = {
        "bodies": ([time, model.x, p], told),
        "rate": ([time, model.x, p, nudot, s_rate], rate),
        "moved": ([model.x, step], model.displace(step)),
        "nudge": ([model.x, step], model.replace_contacts(s, model.nu + step)),
    }
    return {name: ca.Function(name, given, [ca.densify(value)], {"cse": True}) for name, (given, value) in made.items()}

"""Assembled programs against CasADi's own differentiation and solution, analytic optima, and every way to fail."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace

import casadi as ca
import numpy as np
import pytest
import scipy.sparse as sp

from trundle.errors import InputError
from trundle.numerics.compiled.tape import POINTS
from trundle.numerics.nlp import elements
from trundle.numerics.nlp.nlp import ElementGroup, Iterate, Multipliers, Program, kkt_residual, solve
from trundle.status import Status

W, P = ca.SX.sym("w", 3), ca.SX.sym("p", 2)
PHI = ca.Function("phi", [W, P], [ca.vertcat(W[0] * W[1] * P[0], ca.sin(W[2]) * W[0], W[1] ** 2 * P[1], 7, W[2] ** 3)])
OTHER = ca.Function("other", [W[:2]], [ca.exp(W[0] - W[1])])
HALF_SQUARE = ca.Function("half_square", [W[0]], [W[0] ** 2 / 2])
SIZE, ROWS = 6, 4


def everything(seed: int = 0) -> tuple[Program, ca.MX, ca.MX, ca.MX]:
    """A program of two groups with repeated places, constants and cost, and z, f, c as plain CasADi."""
    rng = np.random.default_rng(seed)
    index = rng.integers(0, SIZE, (5, 3))
    index[0] = [2, 2, 1]
    other = rng.integers(0, SIZE, (3, 2))
    B, C = (sp.random(ROWS, width, 0.4, random_state=seed + width) for width in (25, 3))
    b = np.zeros((5, 5))
    b[:, [2, 4]] = rng.normal(size=(5, 2))
    parameters, A = rng.normal(size=(5, 2)), sp.random(ROWS, SIZE, 0.3, random_state=seed)
    c0, a = rng.normal(size=ROWS), rng.normal(size=SIZE)
    groups = (ElementGroup(PHI, index, B, b.ravel(), parameters), ElementGroup(OTHER, other, C))
    program = Program(SIZE, groups, A, np.zeros(ROWS), np.ones(ROWS), c0=c0, a=a, f0=0.5)
    z = ca.MX.sym("z", SIZE)
    o = ca.vertcat(*[PHI(z[row.tolist()], p) for row, p in zip(index, parameters, strict=True)])
    q = ca.vertcat(*[OTHER(z[row.tolist()]) for row in other])
    c = ca.DM(A.toarray()) @ z + ca.DM(B.toarray()) @ o + ca.DM(C.toarray()) @ q + c0
    return program, z, ca.dot(a, z) + ca.dot(b.ravel(), o) + 0.5, c


@pytest.mark.parametrize("way", ["code", "tape", "none"])
@pytest.mark.parametrize("seed", range(4))
def test_values_and_derivatives_against_casadi(seed, way, monkeypatch):
    elements._kernel.cache_clear()
    monkeypatch.setattr(elements, "_makers", lambda: way)  # one's code is not taken for the other's
    if way == "none":
        monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    if way == "tape":
        monkeypatch.setattr(elements, "COMPILE_LIMIT", 0)
    program, z, f, c = everything(seed)
    lam = ca.MX.sym("lam", ROWS)
    plain = ca.Function("plain", [z, lam], [
        f, c, ca.gradient(f, z), ca.jacobian(c, z), ca.hessian(1.7 * f + ca.dot(lam, c), z)[0]])  # fmt: skip
    rng = np.random.default_rng(seed)
    point, multipliers = rng.normal(size=SIZE), rng.normal(size=ROWS)
    cost, values, gradient, jacobian, hessian = (np.array(part) for part in plain(point, multipliers))
    got = program.evaluate(point)
    assert got[0] == pytest.approx(cost.item(), rel=1e-13)
    np.testing.assert_allclose(got[1], values.ravel(), atol=1e-13)
    np.testing.assert_allclose(program.gradient(point), gradient.ravel(), atol=1e-13)
    np.testing.assert_allclose(program.jacobian(point).toarray(), jacobian, atol=1e-13)
    np.testing.assert_allclose(program.hessian(point, 1.7, multipliers).toarray(), hessian, atol=1e-12)
    kernel = program.groups[0].kernel
    assert kernel.compiled["hessian"].is_a("SXFunction") == (way == "none")
    assert kernel.points == (POINTS if way == "tape" else 1)
    elements._kernel.cache_clear()


def test_what_is_in_the_cache_needs_no_derivatives(monkeypatch, tmp_path):
    monkeypatch.setenv("TRUNDLE_CACHE", str(tmp_path / "cache"))
    kernels = [elements.ElementKernel(PHI, (0, 1), (), True) for _ in range(2)]
    first = np.array(kernels[0].compiled["jacobian"]([1, 2, 3], [4, 5])[1])
    monkeypatch.setattr(
        elements.ElementKernel, "functions", property(lambda kernel: pytest.fail("differentiated again"))
    )
    np.testing.assert_array_equal(first, np.array(kernels[1].compiled["jacobian"]([1, 2, 3], [4, 5])[1]))


def test_a_large_element_that_has_no_tape_is_interpreted_until_it_is_built(monkeypatch, tmp_path):
    monkeypatch.setenv("TRUNDLE_CACHE", str(tmp_path / "cache"))  # where it was never built
    called = ca.Function("called", [W[0]], [ca.sin(W[0])], {"never_inline": True})
    kernel = elements.ElementKernel(ca.Function("calls", [W], [called(W[1]) * W[2]]), (0,), (), True)
    monkeypatch.setattr(elements, "COMPILE_LIMIT", 0)
    kinds = [kernel.compiled["value"].class_name()]
    kernel.build()
    kinds.append(kernel.compiled["value"].class_name())
    assert kinds == ["SXFunction", "External"]
    assert float(kernel.compiled["value"]([1, 2, 3], [])) == pytest.approx(3 * np.sin(2))


def test_derivatives_against_differences():
    program = everything()[0]
    rng = np.random.default_rng(1)
    z, lam, h = rng.normal(size=SIZE), rng.normal(size=ROWS), 1e-6

    def slope(x):
        return 0.7 * program.gradient(x) + program.jacobian(x).T @ lam

    for i, e in enumerate(np.eye(SIZE) * h):
        (f1, c1), (f0, c0) = program.evaluate(z + e), program.evaluate(z - e)
        assert (f1 - f0) / (2 * h) == pytest.approx(program.gradient(z)[i], abs=1e-7)
        np.testing.assert_allclose((c1 - c0) / (2 * h), program.jacobian(z).toarray()[:, i], atol=1e-7)
        second = (slope(z + e) - slope(z - e)) / (2 * h)
        np.testing.assert_allclose(second, program.hessian(z, 0.7, lam).toarray()[:, i], atol=1e-6)


def test_derivatives_leave_out_what_is_not_used():
    kernel = everything()[0].groups[1].kernel
    assert (kernel.rows, kernel.costs) == ((0,), ())
    assert kernel.compiled["gradient"].nnz_out(1) == 0


def test_elements_that_enter_nothing_have_empty_derivatives():
    kernel = ElementGroup(OTHER, np.array([[0, 1]]), sp.csc_matrix((1, 1))).kernel
    assert [kernel.functions[key].size_out(i) for key, i in (("jacobian", 1), ("gradient", 1), ("hessian", 0))] == [
        (0, 2),
        (0, 2),
        (2, 2),
    ]
    assert kernel.functions["hessian"].nnz_out(0) == 0


def test_groups_of_one_function_share_its_derivatives():
    B = sp.eye(4, 15, format="csc")
    one, two = (ElementGroup(PHI, np.full((3, 3), i), B, parameters=np.ones((3, 2))) for i in range(2))
    assert one.kernel is two.kernel


# A double integrator, trapezoid: z = (p, v, u) a node, then the step h.


def integrator(nodes: int, free: bool = False, distance: float = 1.0, longest: float = 10.0) -> Program:
    """From rest to rest over `distance`: int u^2 in 1 s, or (free) the shortest time with |u| <= 1."""
    w, N = ca.SX.sym("w", 4), nodes - 1
    rate = ca.vertcat(w[1], w[2])
    phi = ca.Function("node", [w], [ca.vertcat(w[3] * rate, w[3] * w[2] ** 2)])
    n, m = 3 * nodes + 1, 2 * N + 4
    index = np.array([[3 * k, 3 * k + 1, 3 * k + 2, n - 1] for k in range(nodes)])
    A, B, b = sp.lil_matrix((m, n)), sp.lil_matrix((m, 3 * nodes)), np.zeros((nodes, 3))
    for k in range(N):
        for j in range(2):
            A[2 * k + j, 3 * k + 3 + j], A[2 * k + j, 3 * k + j] = 1, -1
            B[2 * k + j, 3 * k + j] = B[2 * k + j, 3 * k + 3 + j] = -0.5
    for i, column in enumerate((0, 1, 3 * N, 3 * N + 1)):
        A[2 * N + i, column] = 1
    ends = np.zeros(m)
    ends[2 * N + 2] = distance
    low, high, a = np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n)
    if free:
        low[2:-1:3], high[2:-1:3], low[-1], high[-1], a[-1] = -1, 1, 1e-3, longest / N, N
    else:
        low[-1] = high[-1] = 1 / N
        b[:, 2] = 1
        b[[0, -1], 2] = 0.5
    names = {"defects": slice(0, 2 * N), "ends": slice(2 * N, m)}
    group = ElementGroup(phi, index, B, b.ravel())
    return Program(n, (group,), A, ends, ends, z_lower=low, z_upper=high, a=a, names=names)


def test_double_integrator_has_the_analytic_optimum():
    # u = 6 - 12 t, int u^2 = 12; the trapezoid's error falls with h^2.
    errors = []
    for nodes in (21, 41):
        program = integrator(nodes)
        solution = solve(program, np.full(program.size, 0.1))
        assert solution.status is Status.SUCCESS
        assert max(solution.kkt_residual, solution.constraint_violation) < 1e-10
        u = solution.z[2:-1:3]
        np.testing.assert_allclose(u[1:-1], (6 - 12 * np.linspace(0, 1, nodes))[1:-1], atol=0.1)
        errors.append(abs(solution.objective - 12))
    assert errors[1] < 0.05
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.1)


def test_a_free_duration_becomes_the_minimum_time():
    # 2 sqrt(distance / |u|), bang-bang; with an even number of intervals the switch is at a node.
    program = integrator(41, free=True, distance=0.25)
    solution = solve(program, np.full(program.size, 0.05))
    assert solution.status is Status.SUCCESS
    assert solution.objective == pytest.approx(1.0, abs=2e-3)
    u = solution.z[2:-1:3]
    assert u[:19] == pytest.approx(1.0, abs=1e-5)
    assert u[22:] == pytest.approx(-1.0, abs=1e-5)


def test_solution_and_multipliers_against_casadi_alone():
    program, z, f, c = everything(2)
    guess = np.linspace(-0.3, 0.4, SIZE)
    here = program.evaluate(guess)[1]
    lower = np.subtract(here, [0.5, np.inf, 0.0, 1.0])
    upper = np.add(here, [0.5, 0.3, 0.0, 1.0])
    z_bounds = {"z_lower": np.full(SIZE, -0.8), "z_upper": np.full(SIZE, 0.9)}
    program = replace(program, lower=lower, upper=upper, **z_bounds)
    ours = solve(program, guess)
    options = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-8}
    theirs = ca.nlpsol("plain", "ipopt", {"x": z, "f": f, "g": c}, options)(
        x0=guess, lbx=-0.8, ubx=0.9, lbg=lower, ubg=upper)  # fmt: skip
    assert ours.status is Status.SUCCESS
    assert ours.objective == pytest.approx(float(theirs["f"]), abs=1e-6)
    for mine, name in ((ours.z, "x"), (ours.multipliers.c, "lam_g"), (ours.multipliers.z, "lam_x")):
        np.testing.assert_allclose(mine, np.array(theirs[name]).ravel(), atol=1e-4)


def test_a_warm_start_needs_next_to_no_iterations():
    program = integrator(41, free=True)
    cold = solve(program, np.full(program.size, 0.05))
    warm = solve(program, cold.z, multipliers=cold.multipliers)
    assert warm.status is Status.SUCCESS
    assert warm.iterations <= 2 < cold.iterations
    assert warm.objective == pytest.approx(cold.objective, rel=1e-6)


def test_residuals_are_recomputed():
    program = integrator(21)
    solution = solve(program, np.zeros(program.size))
    moved = solution.z.copy()
    moved[4] += 1e-3
    assert np.max(program.violation(solution.z)) == solution.constraint_violation
    assert np.max(program.violation(moved)) == pytest.approx(1e-3, rel=0.1)
    assert program.worst(moved).startswith("defects[")
    moved[1] += 0.2  # the first velocity, which is in the first defect with half an interval only
    assert program.worst(moved).startswith("ends[1] is 0.2 ")
    assert kkt_residual(program, solution.z, solution.multipliers) == solution.kkt_residual
    wrong = Multipliers(solution.multipliers.c + 1.0, solution.multipliers.z)
    assert kkt_residual(program, solution.z, wrong) > 1e-3
    assert kkt_residual(program, np.full(program.size, np.nan), solution.multipliers) == np.inf


def test_the_documented_residual_as_written():
    program = replace(everything(1)[0], upper=np.array([1.0, np.inf, 1.0, 1.0]), z_upper=np.full(SIZE, 2.0))
    rng = np.random.default_rng(3)
    z, m = rng.normal(size=SIZE) * 0.3, Multipliers(np.array([0.3, 0.4, -0.2, 0.0]), np.full(SIZE, 0.1))
    c = program.evaluate(z)[1]
    stationarity = np.abs(program.gradient(z) + program.jacobian(z).T @ m.c + m.z).max()
    distances = np.maximum(
        [1 - c[0], 1.0, c[2] - 0.0, 0.0], 0.0
    )  # no upper bound of c[1]: its multiplier counts itself
    complementarity = max(np.abs(m.c * distances).max(), np.abs(0.1 * (2 - z)).max())
    scale = max(1.0, np.abs(program.gradient(z)).max(), 0.4)
    assert kkt_residual(program, z, m) == pytest.approx(max(stationarity, complementarity) / scale, rel=1e-12)


@pytest.mark.parametrize("power", [-12, -9, -6, -3, 0, 6, 12])
@pytest.mark.parametrize("name", ["quadratic", "quartic", "valley"])
def test_the_unit_of_the_cost_does_not_matter(name, power):
    """Minimise on x + y = 1; at 1e-9 every point passed for the optimum."""
    costs = {
        "quadratic": lambda x, y: (x - 3) ** 2 + 2 * (y + 1) ** 2,
        "quartic": lambda x, y: (x - 3) ** 4 + (y + 1) ** 2,
        "valley": lambda x, y: 100 * (y - x**2) ** 2 + (1 - x) ** 2,
    }
    at = {"quadratic": 7 / 3, "quartic": 2.4102454, "valley": 0.6187956}[name]
    w = ca.SX.sym("w", 2)
    f = ca.Function("f", [w], [10.0**power * costs[name](w[0], w[1])])
    group = ElementGroup(f, np.array([[0, 1]]), sp.csc_matrix((1, 1)), np.ones(1))
    program = Program(2, (group,), sp.csc_matrix(np.ones((1, 2))), np.ones(1), np.ones(1))
    solution = solve(program, np.array([0.5, 0.5]))
    assert solution.status is Status.SUCCESS
    assert solution.z[0] == pytest.approx(at, rel=1e-3)


@pytest.mark.parametrize(("size", "over"), [(1e-8, 1e-8), (1e-6, 1e-2), (1e-5, 0.1), (1e-2, 1.0), (1.0, 1.0)])
def test_residuals_count_over_a_share_of_the_cost_where_it_is_small(size, over):
    group = ElementGroup(HALF_SQUARE, np.array([[0]]), sp.csc_matrix((0, 1)), np.array([size]))
    left = solve(Program(1, (group,), sp.csc_matrix((0, 1)), np.zeros(0), np.zeros(0)), [0.5], max_iterations=0)
    assert left.kkt_residual == pytest.approx(size / 2 / over, rel=1e-12)


def test_an_infeasible_program_is_no_success():
    program = integrator(41, free=True, distance=1.0, longest=1.0)  # needs 2 s
    solution = solve(program, np.full(program.size, 0.05))
    assert solution.status is Status.LOCALLY_INFEASIBLE
    assert solution.status.advice
    assert solution.constraint_violation > 1e-3
    assert "outside its bounds" in solution.worst
    assert np.all(np.isfinite(solution.z))


def test_limits_of_iterations_and_time_are_named():
    program = integrator(41, free=True)
    guess = np.full(program.size, 0.05)
    assert solve(program, guess, max_iterations=3).status is Status.ITERATION_LIMIT
    assert solve(program, guess, options={"max_wall_time": 1e-9}).status is Status.TIME_LIMIT


def scalar(expression: ca.SX, x: ca.SX, bounds: tuple[float, float] = (-np.inf, np.inf), rows: int = 0) -> Program:
    """One unknown with a cost and `rows` copies of x = 0.5 ... as equations."""
    f = ca.Function("f", [x], [expression])
    group = ElementGroup(f, np.array([[0]]), sp.csc_matrix((rows, 1)), np.ones(1))
    level = np.arange(rows) * 0.1
    return Program(1, (group,), sp.csc_matrix(np.ones((rows, 1))), level, level, z_lower=np.array([bounds[0]]),
                   z_upper=np.array([bounds[1]]))  # fmt: skip


X = ca.SX.sym("x")


def test_what_is_not_a_number_is_said(capfd):
    at_start = solve(scalar(ca.log(X), X), [-1.0])
    assert at_start.status is Status.NOT_FINITE
    assert at_start.iterations == 0
    slope = solve(scalar(ca.sqrt(X), X), [0.0])  # finite, its derivative is not
    assert slope.status is Status.NOT_FINITE
    away = scalar(ca.if_else(ca.fabs(X) < 1.5, np.nan, X * X), X)  # every way down leads through it
    assert solve(away, [2.0]).status is not Status.SUCCESS
    assert capfd.readouterr() == ("", ""), "by the status alone"


def test_a_cost_without_end_and_too_many_equations_are_named():
    assert solve(scalar(-(X**3), X), [1.0]).status is Status.UNBOUNDED
    over = solve(scalar(X**2, X, rows=3), [1.0])
    assert over.status in (Status.OVERDETERMINED, Status.LOCALLY_INFEASIBLE)


def test_fixed_unknowns_have_multipliers():
    program = scalar((X - 3) ** 2, X, bounds=(1.0, 1.0))
    solution = solve(program, [1.0])
    assert solution.status is Status.SUCCESS
    assert solution.multipliers.z == pytest.approx([4.0])


def test_progress_sees_every_iterate_and_can_stop():
    program = integrator(41, free=True)
    guess, seen = np.full(program.size, 0.05), []
    solution = solve(program, guess, progress=seen.append)
    assert solution.status is Status.SUCCESS
    assert [i.number for i in seen] == list(range(solution.iterations + 1))
    assert seen[-1].objective == pytest.approx(solution.objective, rel=1e-9)
    assert seen[-1].violation < 1e-8 < seen[0].violation
    assert [i.share for i in seen[:2]] == pytest.approx([0.0, 0.02])
    stopped = solve(program, guess, progress=lambda i: i.number < 4)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.iterations == 4
    np.testing.assert_allclose(stopped.z, seen[4].z, atol=1e-9)


def test_an_error_in_progress_is_passed_on():
    def fail(iterate: Iterate) -> None:
        raise ZeroDivisionError(iterate.number)

    program = integrator(41, free=True)
    with pytest.raises(ZeroDivisionError, match="0"):
        solve(program, np.full(program.size, 0.05), progress=fail)


def test_interrupt_keeps_the_last_iterate_and_the_handler():
    program = integrator(41, free=True)
    before = signal.getsignal(signal.SIGINT)

    def press(iterate: Iterate) -> None:
        if iterate.number == 3:
            os.kill(os.getpid(), signal.SIGINT)

    solution = solve(program, np.full(program.size, 0.05), progress=press)
    assert solution.status is Status.INTERRUPTED
    assert 3 <= solution.iterations <= 5
    assert np.all(np.isfinite(solution.z))
    assert signal.getsignal(signal.SIGINT) is before

    def raising(iterate: Iterate) -> None:
        raise KeyboardInterrupt

    assert solve(program, np.full(program.size, 0.05), progress=raising).status is Status.INTERRUPTED


def test_another_thread_can_solve():
    program, found = integrator(21), []
    thread = threading.Thread(target=lambda: found.append(solve(program, np.zeros(program.size)).status))
    thread.start()
    thread.join(60)
    assert found == [Status.SUCCESS]


@pytest.mark.parametrize(
    ("options", "said"), [({"nonsense": 1}, "No such IPOPT option: nonsense"), ({"linear_solver": "ma27"}, "option")]
)
def test_options_ipopt_does_not_have_are_input_errors(options, said):
    program = integrator(5)
    with pytest.raises(InputError, match=said) as caught:
        solve(program, np.zeros(program.size), options=options)
    assert caught.value.key == "options"


GOOD = {"function": PHI, "index": np.zeros((2, 3), int), "B": sp.csc_matrix((4, 10)), "parameters": np.ones((2, 2))}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"function": 3}, "function"),
        ({"function": ca.Function("two", [W], [W, W])}, "function"),
        ({"function": ca.Function("wide", [W], [W.T])}, "function"),
        ({"index": np.zeros((2, 2), int)}, "index"),
        ({"index": np.zeros((2, 3))}, "index"),
        ({"index": np.full((2, 3), -1)}, "index"),
        ({"index": np.zeros((0, 3), int)}, "index"),
        ({"B": sp.csc_matrix((4, 9))}, "B"),
        ({"B": sp.csc_matrix(np.full((4, 10), np.nan))}, "B"),
        ({"b": np.ones(9)}, "b"),
        ({"parameters": None}, "parameters"),
    ],
)
def test_wrong_elements_are_named(change, key):
    with pytest.raises(InputError) as caught:
        ElementGroup(**{**GOOD, **change})
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"size": 0}, "size"),
        ({"A": sp.csc_matrix((4, 5))}, "A"),
        ({"A": sp.csc_matrix((3, 6))}, "B"),
        ({"c0": np.full(4, np.inf)}, "c0"),
        ({"lower": np.ones(3)}, "lower"),
        ({"upper": np.full(4, np.nan)}, "upper"),
        ({"lower": np.full(4, np.inf)}, "lower"),
        ({"lower": np.array([0, 0, 2.0, 0])}, "lower[2]"),
        ({"z_lower": np.ones(6), "z_upper": np.zeros(6)}, "z_lower[0]"),
        ({"a": np.ones(5)}, "a"),
    ],
)
def test_wrong_programs_are_named(change, key):
    good = {"size": 6, "groups": (ElementGroup(**GOOD),), "A": sp.csc_matrix((4, 6)), "lower": np.zeros(4),
            "upper": np.ones(4)}  # fmt: skip
    with pytest.raises(InputError) as caught:
        Program(**{**good, **change})
    assert caught.value.key == key


def test_a_function_without_scalar_operations_is_named():
    w = ca.MX.sym("w", 3)
    solved = ca.Function("solved", [w], [ca.solve(ca.diag(w) + 1, w, "qr", {})])
    with pytest.raises(InputError, match="expands to scalar operations"):
        ElementGroup(solved, np.zeros((2, 3), int), sp.csc_matrix(np.ones((4, 6))))


def test_a_place_beyond_the_unknowns_is_named():
    group = ElementGroup(**{**GOOD, "index": np.full((2, 3), 6)})
    with pytest.raises(InputError, match="index = 6: must be below 6"):
        Program(6, (group,), sp.csc_matrix((4, 6)), np.zeros(4), np.ones(4))


@pytest.mark.parametrize("guess", [np.zeros(3), np.full(16, np.nan), "no"])
def test_wrong_guesses_are_named(guess):
    with pytest.raises(InputError) as caught:
        solve(integrator(5), guess)
    assert caught.value.key == "z0"

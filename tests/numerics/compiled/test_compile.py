from __future__ import annotations

import errno
import logging
import os

import casadi as ca
import numpy as np
import pytest

from bench.timing import time_function
from trundle.errors import CompileError, InputError
from trundle.numerics.compiled import cache
from trundle.numerics.compiled import compile as compile_module
from trundle.numerics.compiled.compile import (
    NativeFunction,
    clear_cache,
    compile_function,
    compile_library,
    compiler_info,
    find_compiler,
    function_source,
)

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
X = ca.SX.sym("x", 2)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRUNDLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_advised", set())
    return tmp_path / "cache"


def polar():
    return ca.Function("polar", [X], [ca.norm_2(X), ca.atan2(X[1], X[0])], ["x"], ["radius", "angle"])


@needs_compiler
def test_compiled_function_is_the_same_function():
    f = polar()
    g = compile_function(f)
    assert g.is_a("External")
    assert (g.name_in(), g.name_out()) == (f.name_in(), f.name_out())
    for point in ([3.0, 4.0], [-1.0, 1e-3]):
        for a, b in zip(f(point), g(point), strict=True):
            assert float(a) == pytest.approx(float(b), abs=1e-15)
    assert g.name().startswith("trundle_polar")


@needs_compiler
def test_sparsity_and_matrix_functions_survive():
    A = ca.MX.sym("A", ca.Sparsity.lower(3))
    b = ca.MX.sym("b", 3)
    f = ca.Function("solve", [A, b], [ca.solve(A, b), ca.diag(b)])
    g = compile_function(f)
    assert g.sparsity_in(0) == f.sparsity_in(0)
    assert g.sparsity_out(1) == f.sparsity_out(1)
    values = ca.tril(ca.DM(np.arange(1.0, 10.0).reshape(3, 3)))
    np.testing.assert_allclose(np.array(g(values, [1, 2, 3])[0]), np.array(f(values, [1, 2, 3])[0]))


@needs_compiler
@pytest.mark.parametrize("name", ["sin", "floor_", "jac_f", "casadi", "f_", "y1"])
def test_names_of_library_functions_are_safe(name):
    if name.endswith("_"):
        name = name[:-1]
    g = compile_function(ca.Function(name, [X], [2 * X[0] + ca.sin(X[1])]))
    assert float(g([1.0, 0.5])) == pytest.approx(2 + np.sin(0.5), abs=1e-15)


@needs_compiler
def test_derivatives_survive_if_asked_for():
    f = polar()
    g = compile_function(f, derivatives=True)
    expected, got = f.jacobian()(x=[3.0, 4.0]), g.jacobian()(x=[3.0, 4.0])
    np.testing.assert_allclose(np.array(got["jac_radius_x"]), np.array(expected["jac_radius_x"]))
    x = ca.MX.sym("x", 2)
    outer = ca.Function("outer", [x], [ca.jacobian(g(x)[1], x)])
    np.testing.assert_allclose(np.array(outer([3.0, 4.0])), [[-4 / 25, 3 / 25]])


@needs_compiler
def test_second_compilation_comes_from_the_cache(monkeypatch):
    compile_function(polar())

    def refuse(*args, **kwargs):
        raise AssertionError("compiled again")

    monkeypatch.setattr(compile_module.subprocess, "run", refuse)
    assert compile_function(polar()).is_a("External")


@needs_compiler
def test_key_depends_on_source_flags_and_versions(monkeypatch):
    paths = {compile_library("k", "int trundle_k(void) { return 1; }")}
    paths.add(compile_library("k", "int trundle_k(void) { return 2; }"))
    paths.add(compile_library("k", "int trundle_k(void) { return 1; }", flags=("-O0",)))
    paths.add(compile_library("k", "int trundle_k(void) { return 1; }", flags=("-O0", "-march=native")))
    monkeypatch.setattr(compile_module.ca.CasadiMeta, "version", staticmethod(lambda: "0.0"))
    paths.add(compile_library("k", "int trundle_k(void) { return 1; }"))
    assert len(paths) == 5
    assert compile_library("k", "int trundle_k(void) { return 1; }") in paths


@needs_compiler
def test_different_functions_of_one_name_live_together():
    functions = [compile_function(ca.Function("f", [X], [k * X[0]])) for k in range(3)]
    assert [float(f([1.0, 0.0])) for f in functions] == [0.0, 1.0, 2.0]


@needs_compiler
def test_several_sources_and_headers():
    path = compile_library(
        "many", {"a.h": "#define ANSWER 42\n", "b.c": '#include "a.h"\nint b(void) {return ANSWER;}'}
    )
    import ctypes

    assert ctypes.CDLL(str(path)).b() == 42


@needs_compiler
def test_refused_source_raises_with_the_log(own_cache):
    with pytest.raises(CompileError, match="could not compile bad") as caught:
        compile_library("bad", "int f(void) { return nonsense; }")
    assert "nonsense" in caught.value.log
    assert not list(own_cache.glob("bad*"))
    assert not list(own_cache.glob("build-*"))


def test_without_compiler_the_function_itself_and_one_line_of_advice(monkeypatch, caplog):
    monkeypatch.setenv("TRUNDLE_NO_COMPILER", "1")
    f = polar()
    with caplog.at_level(logging.WARNING, logger="trundle"):
        assert compile_function(f) is f
        assert compile_function(f) is f
        assert compile_library("x", "int x;") is None
    (record,) = caplog.records
    assert record.getMessage().endswith("(TRUNDLE_NO_COMPILER is set): functions are interpreted, which takes longer")
    assert compiler_info().path is None
    with pytest.raises(CompileError):
        time_function(f, [[1, 2]], 10)


def test_no_compiler_on_the_path(monkeypatch, caplog, tmp_path):
    monkeypatch.delenv("TRUNDLE_NO_COMPILER", raising=False)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with caplog.at_level(logging.WARNING, logger="trundle"):
        assert find_compiler() is None
    assert "install gcc" in caplog.text


def test_broken_compiler_is_no_compiler(monkeypatch, caplog, tmp_path):
    monkeypatch.delenv("TRUNDLE_NO_COMPILER", raising=False)
    broken = tmp_path / "cc"
    broken.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "broken 1.0" && exit 0\nexit 1\n')
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    monkeypatch.setenv("PATH", str(tmp_path))
    with caplog.at_level(logging.WARNING, logger="trundle"):
        assert find_compiler() is None
    assert "that works" in caplog.text


@needs_compiler
def test_where_code_has_no_place_nobody_is_told_to_install_a_compiler(monkeypatch, caplog):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert find_compiler() is not None
    monkeypatch.setattr(cache, "fetch", full)
    with caplog.at_level(logging.WARNING, logger="trundle"):
        assert compile_library("homeless", "int x;") is None
    (said,) = (record.getMessage() for record in caplog.records)
    assert os.strerror(errno.ENOSPC) in said
    assert said.endswith("which takes longer")


def test_without_a_list_of_processors_the_platform_names_the_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(compile_module, "Path", lambda _: tmp_path / "no cpuinfo")
    monkeypatch.setattr(compile_module.platform, "processor", lambda: "an abacus")
    assert compile_module._processor.__wrapped__() == "an abacus"


@needs_compiler
def test_cc_with_arguments(monkeypatch):
    real = find_compiler()
    monkeypatch.setenv("CC", f"{real.path} -DTRUNDLE_TEST=3")
    path = compile_library("args", "int trundle_args(void) { return TRUNDLE_TEST; }")
    import ctypes

    assert ctypes.CDLL(str(path)).trundle_args() == 3


@needs_compiler
def test_compiler_info_and_clear_cache(own_cache):
    compile_function(polar())
    info = compiler_info()
    assert info.cache_directory == own_cache
    assert info.cache_entries >= 1
    assert info.cache_size > 1000
    assert info.path
    assert info.version
    (own_cache / "mine.txt").write_text("not a library")
    assert clear_cache() == info.cache_entries
    assert compiler_info().cache_entries == 0
    assert (own_cache / "mine.txt").exists()
    assert compile_function(polar()).is_a("External")


def test_source_has_only_prefixed_names():
    name, source = function_source(polar(), derivatives=True)
    assert name.startswith("trundle_polar_")
    assert f"int {name}(" in source
    assert f"int jac_{name}(" in source
    assert "int polar(" not in source
    assert "jac_" not in function_source(polar())[1]


@needs_compiler
def test_native_function_tells_a_wrong_name():
    _, source = function_source(polar())
    with pytest.raises((CompileError, AttributeError)):
        NativeFunction(compile_library("polar", source), "trundle_other")


@needs_compiler
def test_time_function():
    f = ca.Function("f", [X, ca.SX.sym("k")], [ca.sin(X)])
    for g in (f, compile_function(f)):
        seconds = time_function(g, [[1.0, 2.0], 3], 20_000)
        assert 1e-9 < seconds < 1e-4
    with pytest.raises(InputError):
        time_function(f, [[1.0, 2.0]])

# trundle: `make demo` and `make test` each work alone on a fresh clone with Python >= 3.11, a C compiler, git and make.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,$(shell $(p) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(p))))
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
JOBS ?= $(shell n=$$(nproc 2>/dev/null || echo 1); echo $$((n > 4 ? 4 : n)))
PIP := python -m pip --disable-pip-version-check --no-input install --progress-bar off
SOURCES := $(wildcard src tests bench examples docs/conf.py docs/pictures.py hatch_build.py)
# Interpreters that `make dist-check` tries the wheel with: those here that run, or PYTHONS='python3.12 /path/to/python3.13'.
PYTHONS ?= $(foreach p,python3.11 python3.12 python3.13,$(shell $(p) -c '' 2>/dev/null && echo $(p)))

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help install demo test test-all lint typecheck format bench classics matrix fuzz mutants docs pictures dist-check clean distclean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

# $(call virtual-environment,FOLDER): create it once; without ensurepip (Debian before python3-venv) through the pip or uv that is there.
define virtual-environment
	@[ -n "$(PYTHON)" ] || { echo "trundle needs Python >= 3.11: install it, or say PYTHON=/path/to/python make ..."; exit 1; }
	@[ -x $(1)/bin/python ] && $(1)/bin/python -m pip --version >/dev/null 2>&1 || { \
		echo "[venv] $(1)"; \
		$(PYTHON) -m venv $(1) >/dev/null 2>&1 \
		|| { $(PYTHON) -m venv --clear --without-pip $(1) && $(PYTHON) -m pip --python $(1)/bin/python install --quiet pip; } >/dev/null 2>&1 \
		|| uv venv --quiet --clear --seed --python $(PYTHON) $(1) 2>/dev/null \
		|| { rm -rf $(1); echo "this Python cannot create virtual environments: sudo apt-get install python3-venv"; exit 1; }; }
endef

# $(call logged,FILE,COMMAND): its words go to the file; only when it fails is the file named, with its end.
define logged
	@( $(2) ) >$(1) 2>&1 || { code=$$?; echo "[failed] $(1) says why; its end:"; tail -n 20 $(1) | sed 's/^/    /'; exit $$code; }
endef

install: $(INSTALLED) ## .venv with trundle and what its scenarios and tests need

$(INSTALLED): pyproject.toml
	$(call virtual-environment,$(VENV))
	@command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null \
		|| echo "[note] no C compiler: everything runs, but ten to a hundred times slower (sudo apt-get install gcc)"
	@echo "[install] trundle and its dependencies into $(VENV) (once)"
	$(call logged,$(VENV)/install.log,$(BIN)/$(PIP) --editable '.[dev]')
	@touch $@

demo: $(INSTALLED) ## runs plate-spinning and says where pictures and viewer page are
	@$(BIN)/trundle run plate-spinning --out runs/plate-spinning
	@echo "pictures:    $(CURDIR)/runs/plate-spinning/plots/"
	@echo "viewer page: $(CURDIR)/runs/plate-spinning/viewer.html"

test: lint typecheck ## lint, types, then the suite without its slow tests: what CI runs
	@echo "[pytest]"
	@$(BIN)/python -m pytest -m "not slow" $(if $(filter-out 1,$(JOBS)),-n $(JOBS) --dist worksteal) $(ARGS)

test-all: $(INSTALLED) ## the whole suite, with the slow tests that `make test` leaves out
	@echo "[pytest]"
	@$(BIN)/python -m pytest $(if $(filter-out 1,$(JOBS)),-n $(JOBS) --dist worksteal) $(ARGS)

lint: $(INSTALLED) ## ruff, rules, format, and the house rules of `python -m bench.house`
	@echo "[ruff]"
	@$(BIN)/ruff check --quiet --output-format concise $(SOURCES)
	@$(BIN)/ruff format --quiet --check $(SOURCES) || { echo "not formatted: make format"; exit 1; }
	@echo "[house]"
	@$(BIN)/python -m bench.house --check

# pyright runs on Node.js, from PATH or fetched at its first use. Where there is neither, that is said, not failed. Once it starts, errors fail.
typecheck: $(INSTALLED) ## pyright
	@echo "[pyright]"
	@if timeout 180 $(BIN)/pyright --version >/dev/null 2>&1; then $(BIN)/pyright --threads $(JOBS); \
	else echo "types not checked: pyright needs Node.js on PATH, or a network to fetch it"; fi

format: $(INSTALLED) ## ruff, rewriting
	@$(BIN)/ruff check --quiet --fix $(SOURCES)
	@$(BIN)/ruff format $(SOURCES)

fuzz: $(INSTALLED) ## 100,000 mutants of everything that is read, in child processes
	@$(BIN)/python tests/fuzz/fuzz.py $(ARGS)

mutants: $(VENV)/.installed-mutants ## small faults of the sources and whether the tests find them: 1,000, below 3 h
	@$(BIN)/python tests/mutation/run_mutants.py --jobs $(JOBS) $(ARGS)

$(VENV)/.installed-mutants: $(INSTALLED)
	@echo "[install] cosmic-ray and coverage.py into $(VENV) (once)"
	$(call logged,$(VENV)/install-mutants.log,$(BIN)/$(PIP) --editable '.[dev,mutants]')
	@touch $@

matrix: $(INSTALLED) ## shape x law x coordinates x mode, with residuals
	@$(BIN)/python -m bench.matrix $(ARGS)

bench: .venv-bench/.installed ## side by side with other simulators, in an environment of its own
	@.venv-bench/bin/python -m bench $(ARGS)

classics: .venv-bench/.installed ## classics of contact with known answers, in trundle and other simulators
	@.venv-bench/bin/python -m bench.classics $(ARGS)

.venv-bench/.installed: pyproject.toml
	$(call virtual-environment,.venv-bench)
	@echo "[install] trundle and the peers of the benchmark into .venv-bench (once)"
	$(call logged,.venv-bench/install.log,.venv-bench/bin/$(PIP) --editable '.[bench]')
	@touch $@

docs: $(VENV)/.installed-docs ## the documentation, warnings are errors
	@$(BIN)/python -m sphinx -E -W --keep-going -q -b html docs docs/_build/html
	@echo "documentation: $(CURDIR)/docs/_build/html/index.html"

$(VENV)/.installed-docs: $(INSTALLED)
	@echo "[install] Sphinx into $(VENV) (once)"
	$(call logged,$(VENV)/install-docs.log,$(BIN)/$(PIP) --editable '.[docs]')
	@touch $@

pictures: $(INSTALLED) ## the pictures of README and documentation, from runs kept in runs/pictures
	@$(BIN)/python docs/pictures.py $(ARGS)

dist-check: ## builds sdist and wheel, runs the wheel alone in an empty environment of each Python >= 3.11 here
	$(call virtual-environment,.venv-dist)
	@rm -rf dist
	$(call logged,.venv-dist/build.log,.venv-dist/bin/$(PIP) build && .venv-dist/bin/python -m build --outdir dist .)
	@[ -n "$(PYTHONS)" ] || { echo "no Python >= 3.11 on PATH: PYTHONS=/path/to/python make dist-check"; exit 1; }
	@ls dist
	$(foreach p,$(PYTHONS),$(call tried,$(p),.venv-dist/$(notdir $(p)))$(newline))

# $(call tried,PYTHON,FOLDER): the wheel, and nothing but what it asks for, runs a scenario away from the sources, then without a compiler.
define tried
	$(call logged,.venv-dist/run.log,$(1) -m venv --clear $(2) && $(2)/bin/$(PIP) "$$(ls $(CURDIR)/dist/*.whl)" \
		&& cd $(2) && env -u PYTHONPATH bin/trundle run plate-spinning --out run)
	@echo "$$($(2)/bin/python --version): $$(TRUNDLE_NO_COMPILER=1 $(2)/bin/trundle run plate-spinning --quiet --no-plots --json --out $(2)/again \
		| $(2)/bin/python -c 'import json, sys; print(json.load(sys.stdin)["status"])')"
endef

define newline


endef

clean: ## removes what the targets above wrote, environments kept
	@rm -rf build dist runs docs/_build docs/api/generated .pytest_cache .ruff_cache .hypothesis bench/results
	@find src tests bench examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## clean, the environments, and the C cores built with them
	@rm -rf $(VENV) .venv-bench .venv-dist
	@find src -name '*_core.*.so' -delete

# One verb per need. `make lab` and `make test` are all the set-up there is: each makes what it lacks, once.
# Arguments pass through:   make lab ARGS="--no-browser --port=8890"   make test ARGS="-k bundle"

# The Python outside of .venv, which installs into it. Found before .venv comes onto PATH, and once for makes in makes.
ifndef HOST_PYTHON
HOST_PYTHON := $(shell for p in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $$p && break; done)
endif
export HOST_PYTHON
# From here, since a folder above may have a space in its name.
BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

NOTEBOOK := notebooks/01_watch_it_learn.ipynb
BUNDLE := dshq_widget/static/widget.js
PAGE_SOURCES := $(shell find js -type f) package.json
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] && echo --allow-root)
# Recipes that can run beside each other.
TOGETHER := @$(MAKE) --no-print-directory -j 4
# Processes of pytest: one more than processors, since a browser's tests mostly wait; four at most, for memory's sake.
TESTERS = $(shell "$(HOST_PYTHON)" -c 'import os; print(min(os.cpu_count() or 1, 3) + 1)')
# Hundreds of processes import the same modules: their byte code is kept, even where the environment forbids it.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest

.PHONY: setup lab torch hub test test-all test-fronts test-peers quick units checks compiled bench lint lint-python lint-page tables lessons site instructor wheel chromium vitest constraints ready ready-lab ready-torch ready-hub
.DELETE_ON_ERROR:

# What every verb but `lab`, `torch` and `hub` needs.
setup:
	$(TOGETHER) ready

# JupyterLab on the first lesson, and nothing that this lesson does not need.
lab:
	$(TOGETHER) ready-lab
	$(BIN)/python -m tools.lab $(AS_ROOT) --LabApp.default_url=/lab/tree/$(NOTEBOOK) $(ARGS)

# For lessons on PPO, `gym:` environments, Dreamer and CUDA.
torch:
	$(TOGETHER) ready-torch

hub:
	$(TOGETHER) ready-hub
	$(BIN)/python -m dshq_widget.classroom.hub.demo $(ARGS)

# pytest comes last, and its closing line is the last one.
test:
	$(TOGETHER) ready chromium
	@$(MAKE) --no-print-directory -j 2 compiled checks
	$(PYTEST) -n $(TESTERS) -m "not slow and not peers and not fronts" $(ARGS)

# Processes and memory a second time, on the portable form of dshq_widget/system.
test-all:
	$(TOGETHER) ready .venv/.triton .venv/.site .venv/.instructor chromium
	@$(MAKE) --no-print-directory -j 2 compiled checks
	DSHQ_PORTABLE=1 $(PYTEST) -n $(TESTERS) tests/runtime tests/training/test_faults.py
	$(PYTEST) -n $(TESTERS) -m "not peers and not fronts" $(ARGS)

# Against Stable-Baselines3, Jumanji, EnvPool, VMAS, Ray, Atari and MuJoCo, trackers: gigabytes that nothing else here needs.
test-peers: ready .venv/.peers
	$(PYTEST) -m peers $(ARGS)

# Firefox and WebKitGTK; Notebook 7, Voila and marimo.
test-fronts: ready .venv/.fit chromium
	@sh tools/fronts.sh
	$(PYTEST) -m fronts tests/browser $(ARGS)

# Linters, type checkers and the tests of single units: no browser, nothing compiled.
quick:
	$(TOGETHER) ready
	@$(MAKE) --no-print-directory -j 3 units checks

units: ready
	$(PYTEST) --quick $(ARGS)

checks: lint-python lint-page vitest

# What numba compiles for trainings, search and the page's learner, once for all clones of the same sources.
compiled: ready
	$(BIN)/python -m tools.compile_ahead --all

bench: ready chromium
	$(BIN)/dshq bench
	$(BIN)/dshq train ball --seconds 30
	$(BIN)/python -m benchmarks.widget

lint: lint-python lint-page

lint-python: ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-page: ready
	npm run --silent typecheck
	npm run --silent lint

vitest: ready
	npm run --silent test

# The page's types and tables, and the reference's tables, from their sources in dshq_widget.
tables: ready
	$(BIN)/python -m tools.tables

# The lessons as pages in docs/lessons, to be read without a kernel. Takes minutes: every lesson is worked through.
lessons: ready
	$(BIN)/python -m tools.pages $(ARGS)

# The static site in site/: works from disk and under any path. Needs the lessons' pages, and so takes minutes the first time.
site: ready .venv/.site lessons
	$(BIN)/python -m tools.site $(ARGS)

# Answer keys, notes, slides, a course for nbgrader and the students' bundle in instructor/. Takes minutes the first time.
instructor: ready .venv/.instructor lessons
	$(BIN)/python -m tools.instructor $(ARGS)

# One wheel for every system, and where machine code can be made one for this Python.
wheel: ready
	DSHQ_COMPILED=page $(BIN)/python -m build --wheel
	$(BIN)/python -m build --wheel

chromium:
	@sh tools/chromium.sh

# The versions that all of this installs: the newest of today. Gigabytes and minutes.
constraints:
	"$(HOST_PYTHON)" -m tools.constraints

# ---- what the verbs stand on; each file is a stamp, so the second time is quick

ready: .venv/.test node_modules/.all
	@:

ready-lab: .venv/.lab
	@:

ready-torch: .venv/.torch
	@:

ready-hub: .venv/.hub node_modules/.all
	@:

# Without pip, which `tools/install.py` brings: so it takes one second, and needs no package of the system's.
.venv/.made:
	@[ -n "$(HOST_PYTHON)" ] || { echo "Python 3.11 or newer is needed and none was found; name one with make PYTHON=..." >&2; exit 1; }
	@[ -w "$$HOME" ] || echo "Your home folder, $$HOME, cannot be written. If that stops uv, npm or Jupyter: HOME=/tmp/me make ..." >&2
	[ -x $(BIN)/python ] || "$(HOST_PYTHON)" -m venv --without-pip .venv
	touch $@

INSTALL := "$(HOST_PYTHON)" tools/install.py
PINS := pyproject.toml tools/constraints.txt

.venv/.packages: .venv/.made $(PINS)
	$(INSTALL) lab
	touch $@

.venv/.node: .venv/.made
	@sh tools/node.sh || $(INSTALL) --node
	@sh tools/node.sh || { echo "Node 20 or newer with npm is needed: install it from your system" >&2; exit 1; }
	touch $@

# What the bundle is made with and of.
node_modules/.page: .venv/.node package-lock.json
	npm ci --omit=dev --loglevel=error && touch $@

$(BUNDLE): node_modules/.page $(PAGE_SOURCES)
	npm run --silent build && touch $@

# All of Node's packages: in place of those few, so the bundle is made first.
node_modules/.all: package-lock.json | $(BUNDLE)
	npm ci --loglevel=error && touch node_modules/.page $@ $(BUNDLE)

.venv/.lab: hatch_build.py .venv/.packages | $(BUNDLE)
	$(INSTALL) --package
	touch $@

# PyTorch's wheel comes while other packages are installed; two installations at once in one folder wait for each other.
.venv/.torch-wheel: .venv/.made pyproject.toml
	$(INSTALL) --torch-wheel
	touch $@

.venv/.torch: .venv/.lab .venv/.torch-wheel
	$(INSTALL) --torch
	touch $@

.venv/.hub: .venv/.lab
	$(INSTALL) hub
	touch $@

.venv/.test: .venv/.torch
	$(INSTALL) hub lab test
	touch $@

# Its interpreter stands in for a GPU. 286 MB that only the tests of its kernels want; without it they are skipped by name.
.venv/.triton: .venv/.test
	$(INSTALL) triton || echo "Triton did not install: its tests will be skipped" >&2
	touch $@

.venv/.site: .venv/.test
	$(INSTALL) site
	touch $@

.venv/.instructor: .venv/.test
	$(INSTALL) instructor lti
	touch $@

.venv/.fit: .venv/.test
	$(BIN)/python -m pip install --quiet --constraint tools/constraints.txt --editable ".[fit]"
	touch $@

.venv/.peers: .venv/.test
	$(BIN)/python -m pip install --quiet --editable ".[atari,mujoco,ray,sb3,tensorboard]" envpool jumanji minatar minigrid mlflow opentelemetry-proto vmas wandb
	touch $@

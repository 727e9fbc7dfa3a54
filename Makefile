# Everything that one does here; bare `make` lists it.
#
#   PYTHON=python3.13   the interpreter that the environment is made from (3.11 or newer)
#   VENV=.venv          where the environment lives
#   ARGS="..."          passed on to serve, test, bench, fuzz, soak

PYTHON ?= python3
VENV ?= .venv
ARGS ?=
# With a slash behind it, what a link leads to would be meant.
override VENV := $(VENV:/=)

.SHELLFLAGS := -euc
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
# Tests start hundreds of processes, and without bytecode each of them would compile all its modules anew.
unexport PYTHONDONTWRITEBYTECODE

PY := "$(VENV)/bin/python"
# --no-compile halves the time of an install: what is used is compiled when it is first imported.
PIP_INSTALL := $(PY) -m pip install --quiet --no-input --no-compile --disable-pip-version-check
FAST_TESTS := tests/unit tests/contract tests/architecture
# Without the wheel of deadlines, whose test makes timers of its own: what is compiled has compiled subclasses only.
COMPILED_TESTS := $(addprefix tests/unit/,dispatch execution gateway governance scheduling transport) $(addprefix tests/integration/,gateway limits transport) \
	tests/acceptance/test_keys_revoked.py tests/acceptance/test_reload.py tests/acceptance/test_records.py tests/acceptance/test_serve_tls.py \
	--ignore tests/unit/transport/test_deadlines.py
PYTEST := $(PY) -m pytest -n 2 --dist loadgroup

.PHONY: help
help: # lists the targets
	@echo "Antiphon: one endpoint in front of every language model that a team has."
	@echo
	@awk -F ':[^#]*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

.PHONY: serve
serve: $(VENV)/.installed ## install what is missing, fetch the default model once, serve on 127.0.0.1:8080
	@exec $(PY) -m antiphon serve $(ARGS) # exec: signals to make reach the server, and make waits for it to drain

.PHONY: setup
setup: $(VENV)/.installed-dev ## make the environment with everything that tests and checks need

.PHONY: format
format: $(VENV)/.installed-dev ## put the code into the one format and mend what can be mended by machine
	@$(PY) -m ruff check --fix --quiet .
	@$(PY) -m ruff format .

.PHONY: check
check: lint ## format, lint, types, import contracts, and the tests that need no real parts (under 5 minutes)
	@$(PYTEST) $(FAST_TESTS) $(ARGS)

.PHONY: test
test: $(VENV)/.installed-dev ## every test: unit, contract, architecture, integration, acceptance (under 15 minutes)
	@$(PYTEST) tests $(ARGS)

.PHONY: docs
docs: $(VENV)/.installed-docs ## build the documentation into site/, warnings are errors
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict # not --quiet: it would hide warnings from --strict
	@echo "documentation: site/index.html"

.PHONY: ci
ci: lint test docs ## all of check, test and docs, nothing twice: what continuous integration runs

.PHONY: wheel
wheel: dist/.built ## build dist/antiphon-*.whl, what every call goes through compiled (needs a C compiler and Python's headers)
	@ls dist/*.whl

.PHONY: compiled
compiled: build/compiled/.unpacked ## unpack that wheel into build/compiled, for: PYTHONPATH=build/compiled .venv/bin/antiphon serve

.PHONY: test-compiled
test-compiled: compiled ## the tests of what is compiled, against the compiled wheel (generated cases: a tenth)
	@PYTHONPATH="$(CURDIR)/build/compiled" ANTIPHON_CASES=$${ANTIPHON_CASES:-100} $(PYTEST) $(COMPILED_TESTS) $(ARGS)

.PHONY: bench
bench: compiled ## measure against the peers that this machine has, in one run
	@PYTHONPATH="$(CURDIR)/build/compiled" $(PY) -m benchmarks $(ARGS)

.PHONY: fuzz
fuzz: $(VENV)/.installed-dev ## feed a million mutated inputs to each part that reads bytes of strangers
	@$(PY) -m tests.fuzz $(ARGS)

CASES = 100000
.PHONY: round-trips
round-trips: $(VENV)/.installed-dev ## translate generated requests and answers between dialects and back: CASES=100000 of each kind
	@ANTIPHON_CASES=$(CASES) $(PY) -m pytest -n 2 --timeout 0 tests/unit/execution/wire -k round_trips $(ARGS)

.PHONY: soak
soak: $(VENV)/.installed-dev ## hold a real server to its promises: many streams, idle connections, callers that leave
	@$(PY) -m tests.soak $(ARGS)

.PHONY: clean
clean: ## remove the environment and everything that was built (never the models)
	@rm -rf "$(VENV)" site dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .grimp_cache
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

.PHONY: lint
lint: $(VENV)/.installed-dev # the static half of check
	@$(PY) -m ruff format --check --quiet . || { echo 'format: mend it with "make format"'; exit 1; }
	@$(PY) -m ruff check --quiet --output-format concise .
	@$(PY) -m mypy
	@"$(VENV)/bin/lint-imports" --no-logo

# The environment. Stamps say what is in it: .made (by which interpreter, in which folder), .installed (to run), -dev (to test), -docs.

$(VENV)/.made: FORCE
	@wanted="$$($(PYTHON) -c 'import sys; print(sys.version.split()[0])' 2>/dev/null || true) in $(CURDIR)"; \
	if [ "$$(cat "$@" 2>/dev/null)" = "$$wanted" ]; then exit 0; fi; \
	command -v $(PYTHON) >/dev/null || { \
		echo 'error: "$(PYTHON)" is not there; install Python 3.11 or newer, or name another: make PYTHON=python3.12 ...' >&2; exit 1; }; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "error: $(PYTHON) is $$($(PYTHON) -V 2>&1), and Antiphon needs 3.11 or newer; name another: make PYTHON=python3.12 ..." >&2; exit 1; }; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "error: $(PYTHON) cannot make virtual environments; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }; \
	if [ -L "$(VENV)" ]; then \
		echo 'error: "$(VENV)" is a link, and making the environment anew would empty what it leads to;' \
			'remove the link or name another: make VENV=.venv2 ...' >&2; exit 1; fi; \
	if [ -e "$(VENV)" ] && [ ! -e "$(VENV)/pyvenv.cfg" ]; then \
		echo 'error: "$(VENV)" is there and is not a virtual environment; move it away or name another: make VENV=.venv2 ...' >&2; exit 1; fi; \
	echo "making $(VENV) with Python $${wanted%% in *}"; \
	$(PYTHON) -m venv --clear "$(VENV)"; \
	echo "$$wanted" > "$@"

$(VENV)/.installed: $(VENV)/.made pyproject.toml
	@echo "installing antiphon (about a minute the first time)"
	@$(PIP_INSTALL) -e .
	@touch "$@"

$(VENV)/.installed-dev: $(VENV)/.made pyproject.toml
	@echo "installing antiphon with the tools for tests and checks (about a minute the first time)"
	@$(PIP_INSTALL) -e '.[dev]'
	@touch "$(VENV)/.installed" "$@"

$(VENV)/.installed-docs: $(VENV)/.installed-dev
	@echo "installing the tools for the documentation"
	@$(PIP_INSTALL) -e '.[dev,docs]'
	@touch "$@"

# The compiled wheel. It is made from a source distribution, because the compiler leaves its files among the sources.

SOURCES := $(shell find src -name '*.py' -o -name '*.html')

dist/.built: $(VENV)/.installed-dev $(SOURCES)
	@command -v cc >/dev/null && $(PY) -c 'import os, sys, sysconfig; \
		sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' || { \
		echo 'error: this needs a C compiler and the headers of Python; on Debian and Ubuntu: apt install gcc libc6-dev python3-dev' >&2; \
		exit 1; }
	@echo "compiling (a minute or two)"
	@rm -rf dist && HATCH_BUILD_HOOKS_ENABLE=true $(PY) -m build --outdir dist . >build.log 2>&1 || { cat build.log >&2; rm -f build.log; exit 1; }
	@rm -f build.log
	@touch "$@"

build/compiled/.unpacked: dist/.built
	@rm -rf build/compiled && $(PIP_INSTALL) --no-deps --target build/compiled dist/*.whl
	@touch "$@"

.PHONY: FORCE
FORCE:

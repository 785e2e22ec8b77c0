# Needs GNU make and a Python of 3.10 or newer with venv; nothing has to be installed or activated before.
# An environment is made once and brought up to date when pyproject.toml changes.

RELEASE ?= 0.5.9
PYTHON ?=

CODE := timing_audit tests benchmarks
DOCS = $(wildcard *.md docs/*.md)
TOOLS := .venv-test/bin

# The newest first: a plain `python3` is often the oldest one of a machine.
PYTHONS := $(or $(PYTHON),$(patsubst %,python3.%,20 19 18 17 16 15 14 13 12 11 10) python3 python)
SUITABLE := import sys, ensurepip, venv; v = sys.version_info; sys.exit(v < (3, 10) or v.releaselevel != "final")
FOUND = $(shell for python in $(PYTHONS); do \
	"$$python" -c '$(SUITABLE)' >/dev/null 2>&1 && { command -v "$$python"; break; }; done)
NEEDED = $(or $(PYTHON:%=% is no),there is no) released Python 3.10 or newer with venv and ensurepip (name one: make PYTHON=/path/to/python3)

# $(call environment,REQUIREMENT): into the folder of the target.
define environment
	@$(@D)/bin/python -c '$(SUITABLE)' 2>/dev/null \
		|| { rm -rf $(@D); "$(or $(FOUND),$(error $(NEEDED)))" -m venv --upgrade-deps $(@D); }
	@$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --editable '$(1)'
	@touch $@
endef

.PHONY: help audit test test-long lint format docs bench wheelhouse clean
help:
	@echo 'make audit      audit SGLang $(RELEASE) from the package index (RELEASE=0.5.15 make audit: another one)'
	@echo 'make test       what CI runs: lint, all quick tests, and the wheel in an environment of its own'
	@echo 'make test-long  the same, with the tests that take minutes'
	@echo 'make lint       ruff, mypy, import-linter, and whether the generated parts of the docs are up to date'
	@echo 'make format     let ruff format the code and sort its imports'
	@echo 'make docs       write the generated parts of the docs anew'
	@echo 'make bench      measure against ast-grep and grep; writes docs/performance.md'
	@echo 'make wheelhouse put the tool and all that it needs into wheelhouse/, for an install without a network'
	@echo 'make clean      remove the environments and what was built'

audit: .venv/.installed
	.venv/bin/timing-audit scan 'pypi:sglang==$(RELEASE)'

test: lint
	$(TOOLS)/python -m pytest

test-long: lint
	$(TOOLS)/python -m pytest -m '' --hypothesis-profile long

lint: .venv-test/.installed
	$(TOOLS)/ruff check --quiet --output-format concise $(CODE)
	$(TOOLS)/ruff format --quiet --check $(CODE)
	$(TOOLS)/mypy
	$(TOOLS)/lint-imports --no-logo
	$(TOOLS)/cog --check --diff $(DOCS)

format: .venv-test/.installed
	$(TOOLS)/ruff check --quiet --select I --fix $(CODE)
	$(TOOLS)/ruff format $(CODE)

docs: .venv-test/.installed
	$(TOOLS)/cog -r $(DOCS)

bench: .venv-bench/.installed
	.venv-bench/bin/python benchmarks/bench.py --write docs/performance.md

# For the Python and the platform of this machine.
wheelhouse: .venv/.installed
	rm -rf wheelhouse
	.venv/bin/python -m pip wheel --quiet --disable-pip-version-check --wheel-dir wheelhouse .
	@echo 'to install it there: pip install --no-index --find-links wheelhouse timing-audit'

clean:
	rm -rf wheelhouse .venv .venv-test .venv-bench build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

.venv/.installed: pyproject.toml
	$(call environment,.)

.venv-test/.installed: pyproject.toml
	$(call environment,.[dev])

.venv-bench/.installed: pyproject.toml
	$(call environment,.[bench])

update-golden: .venv-test/.installed ## write the golden reports of the fixture anew; read the diff as the change's effect
	$(TOOLS)/python -m tests.golden

.PHONY: update-golden

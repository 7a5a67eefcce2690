# symlab: `make help` lists everything. Every target sets up what it needs.
PYTHON ?= python3
PAPER ?= ella
SCALE ?= quick
JOBS ?= 2
TEST_JOBS ?= 2
ARGS ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup data test test-data test-slow lint format bench-kfac bench-ella bench-emlp bench-lila bench-invariant-weights bench-equinas example-laplace publish clean

help:  ## this list, and every table with its state
	@echo "Targets:"
	@grep -hE '^[a-zA-Z0-9_%-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([^:]+):.*## (.*)/  \1\t\2/' | expand -t 34
	@echo
	@$(PYTHON) experiments/tabulation/status.py

setup: $(INSTALLED)  ## make .venv and install everything (quick when it is up to date)

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "symlab needs Python 3.10 or newer: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

data: $(INSTALLED)  ## fetch every data set that can be reached
	$(BIN)/python -m symlab.data

test: $(INSTALLED)  ## the test suite (no network, no downloaded data)
	$(BIN)/python -m pytest --numprocesses $(TEST_JOBS) --dist worksteal $(ARGS)

test-data: $(INSTALLED)  ## tests on the real data sets (fetches them)
	$(BIN)/python -m pytest -m data $(ARGS)

test-slow: $(INSTALLED)  ## tests that take minutes
	$(BIN)/python -m pytest -m slow $(ARGS)

lint: $(INSTALLED)  ## style, import contracts, types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

format: $(INSTALLED)  ## rewrite the code in the house style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reproduce-table%: $(INSTALLED)  ## a table of PAPER (default ella): make reproduce-table2 SCALE=quick JOBS=2
	$(BIN)/python -m experiments.reproduce table=$(PAPER)_table$* scale=$(SCALE) jobs=$(JOBS) $(ARGS)

reproduce-%: $(INSTALLED)  ## any table by name: make reproduce-ella-table1
	$(BIN)/python -m experiments.reproduce table=$(subst -,_,$*) scale=$(SCALE) jobs=$(JOBS) $(ARGS)

bench-kfac: $(INSTALLED)  ## exact KFAC fits against their peers (installs them into .bench)
	$(BIN)/python -m benchmarks.bench_kfac $(ARGS)

bench-ella: $(INSTALLED)  ## one marginal-likelihood fit and 20 prior steps of ELLA networks, in CPU seconds
	$(BIN)/python -m benchmarks.bench_ella $(ARGS)

bench-emlp: $(INSTALLED)  ## equivariant bases and networks against emlp (installs it into .bench)
	$(BIN)/python -m benchmarks.bench_emlp $(ARGS)

bench-lila: $(INSTALLED)  ## one hyperparameter step of LILA, in CPU seconds and memory
	$(BIN)/python -m benchmarks.bench_lila $(ARGS)

bench-invariant-weights: $(INSTALLED)  ## one training step of an invariant network against naive resampling of its weights
	$(BIN)/python -m benchmarks.bench_invariant_weights $(ARGS)

bench-equinas: $(INSTALLED)  ## equivariant and mixed layers beside a plain convolution
	$(BIN)/python -m benchmarks.bench_equinas $(ARGS)

example-laplace: $(INSTALLED)  ## tune a prior on MNIST; writes the picture of docs/laplace.md
	$(BIN)/python docs/examples/prior_on_mnist.py

publish: $(INSTALLED)  ## copy measured tables to docs/results and rewrite the README's table of tables
	$(BIN)/python -m experiments.tabulation.publish

clean:  ## remove .venv and caches; runs, results and data stay
	rm -rf $(VENV) .bench .pytest_cache .mypy_cache .ruff_cache .import_linter_cache *.egg-info

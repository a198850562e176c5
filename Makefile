# Every target creates or updates the environment that it needs. Paths may contain spaces.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
DEMO_OUT ?= demo
# The matrices of the demo are small: one thread is as fast as two on an idle machine, and several times faster under load.
THREADS ?= 1
# Tests for the lowest versions: every package, in a minute. Left out: objects that old versions of anndata and mudata
# cannot make, and the simulation of channels, which is not installed.
SELECTION ?= tests/spectral tests/kernels tests/evidence tests/likelihoods tests/views tests/io tests/init tests/models \
	tests/estimators/test_serialization.py tests/estimators/test_input_types.py tests/estimators/test_prediction.py tests/cli
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-baselines test-minimal test-lowest test-mutations check check-results compare-bits reproduce bench clean

help:
	@echo "make demo                 fit two built-in data sets, print a table of results, write figures to $(DEMO_OUT)/"
	@echo "make test                 run the test suite, including doctests; minutes on two cores"
	@echo "make test-slow            run the long tests, such as 10,000 steps on five seeds, and R-CIFAR"
	@echo "make test-baselines       install the libraries of all baselines (docs/baselines.md), and test the baselines"
	@echo "make test-minimal         check what must work with the required dependencies only, in an environment of its own"
	@echo "make test-lowest          run a selection of tests with the lowest versions of all dependencies; downloads torch 2.6"
	@echo "make test-mutations       insert single-line errors into the source, and check that the tests detect them; minutes"
	@echo "make check                run the test suite, the linter, the type checker and the check of import layers"
	@echo "make compare-bits BASE=<commit>  compare results with those of a commit, bit for bit; DIFFER=<cases> may differ, all by TOLERANCE"
	@echo "make check-results        recompute every number in docs/results from the cells in results/"
	@echo "make reproduce            reproduce the tables and figures of the paper, with small sizes, in reproduce/; resumes"
	@echo "make bench                compare run time and memory with other libraries, in bench/; resumes"
	@echo "make results-NAME         measure a study of 'python -m benchmarks list', or a group of them; resumes"
	@echo "make clean                remove the environment (.venv) and $(DEMO_OUT)/"
	@echo "make help                 show this list"

.venv/torch: constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) torch
	@touch $@

.venv/demo: .venv/torch pyproject.toml
	$(PIP) --editable ".[plots]"
	@touch $@

.venv/test: .venv/demo benchmarks/requirements.txt
	$(PIP) --editable ".[test]" --requirement benchmarks/requirements.txt
	@touch $@

.venv/dev: .venv/test
	$(PIP) --editable ".[dev]"
	@touch $@

.venv/results: .venv/demo benchmarks/requirements.txt
	$(PIP) --editable ".[plots]" --requirement benchmarks/requirements.txt
	@touch $@

.venv/bench: .venv/results
	$(PIP) --editable ".[all]"
	@touch $@

.venv/baselines: .venv/demo
	$(PIP) --editable ".[baselines,plots,r]"
	@touch $@

demo: .venv/demo
	OMP_NUM_THREADS=$(THREADS) $(BIN)/python -m mvlvm demo --out "$(DEMO_OUT)"

test: .venv/test
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup

test-slow: .venv/test
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -m slow

test-baselines: .venv/test .venv/baselines
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup tests/baselines tests/contracts/test_baselines.py

# Environments of their own: the required dependencies only, and the lowest versions of all.
.venv-minimal: constraints.txt pyproject.toml
	$(PYTHON) -m venv --clear $@
	$@/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$@/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt .
	@touch $@

test-minimal: .venv-minimal
	.venv-minimal/bin/python -m tests.environments.minimal

.venv-lowest: tests/environments/lowest.txt pyproject.toml
	$(PYTHON) -m venv --clear $@
	$@/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/environments/lowest.txt torch
	$@/bin/python -m pip install --quiet --disable-pip-version-check --constraint tests/environments/lowest.txt \
		--editable ".[plots,files,data]" beartype pytest pytest-xdist --requirement benchmarks/requirements.txt
	@touch $@

test-lowest: .venv-lowest
	.venv-lowest/bin/python -m pytest -n $(WORKERS) -o addopts="-m 'not slow'" $(SELECTION) \
		-k "not unusable_objects and not without_modalities and not sionna"

test-mutations: .venv/test
	$(BIN)/python -m tests.architecture.mutations

check: .venv/dev test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pyright
	$(BIN)/lint-imports
	$(BIN)/python -m tests.architecture.size_report

check-results: .venv/results
	$(BIN)/python -m benchmarks check

reproduce: .venv/bench
	$(BIN)/python -m benchmarks reproduce all

bench: .venv/bench
	$(BIN)/python -m benchmarks bench

compare-bits: .venv/test
	$(BIN)/python -m tests.architecture.compare_bits $(BASE) $(if $(DIFFER),--differ $(DIFFER)) $(if $(TOLERANCE),--tolerance $(TOLERANCE))

results-%: .venv/bench
	$(BIN)/python -m benchmarks run $*

clean:
	rm -rf .venv .venv-minimal .venv-lowest "$(DEMO_OUT)"

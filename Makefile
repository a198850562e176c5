# Every target makes what it needs. Works from any path, spaces included.
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
DEMO_OUT ?= demo
# The demo's matrices are small: one thread is as fast as two on an idle machine, and several times faster on a busy one.
THREADS ?= 1
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-baselines test-mutations check results-baselines results-views results-likelihoods results-speed clean

help:
	@echo "make demo       train on embedded data, print a table, write figures to $(DEMO_OUT)/"
	@echo "make test       the test suite, minutes on two cores"
	@echo "make test-slow  the long checks: 10,000 steps on five seeds, R-CIFAR"
	@echo "make test-baselines  install every method of docs/baselines.md, and test them"
	@echo "make test-mutations  change single lines of the source, and check that the tests notice, minutes"
	@echo "make results-baselines  measure docs/results/baselines.md, half an hour"
	@echo "make check      test, lint, types, import floors, doctests"
	@echo "make results-views  measure docs/results/views.md beside other methods, hours; goes on where it stopped"
	@echo "make results-likelihoods  measure docs/results/likelihoods.md, hours without a GPU; goes on where it stopped"
	@echo "make results-speed  measure docs/results/speed.md beside other libraries, hours; goes on where it stopped"

.venv/torch: constraints.txt
	$(PYTHON) -m venv .venv
	$(PIP) torch
	@touch $@

.venv/demo: .venv/torch pyproject.toml
	$(PIP) --editable ".[demo]"
	@touch $@

.venv/test: .venv/demo
	$(PIP) --editable ".[test]"
	@touch $@

.venv/dev: .venv/test
	$(PIP) --editable ".[dev]"
	@touch $@

.venv/bench: .venv/demo
	$(PIP) --editable ".[bench]"
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

test-mutations: .venv/test
	$(BIN)/python -m tests.architecture.mutations

check: .venv/dev test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pyright
	$(BIN)/lint-imports

results-views: .venv/baselines
	$(BIN)/python benchmarks/views.py

results-baselines: .venv/baselines
	$(BIN)/python benchmarks/baselines.py

results-likelihoods: .venv/demo
	$(BIN)/python benchmarks/likelihoods.py

results-speed: .venv/bench
	$(BIN)/python -m mvlvm bench --out docs/results

clean:
	rm -rf .venv "$(DEMO_OUT)"

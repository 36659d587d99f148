# Two commands for a fresh machine: `make demo` and `make test`. Both make .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Programs that the tests run; where the Debian package has another name, it stands behind the colon.
TOOLS := docker-registry git kubectl:kubernetes-client lua5.1 openssl skopeo

.PHONY: demo test e2e examples bench tools clean

demo: $(VENV)/ready ## Build the example packages, lock and render a project, and let a package move.
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: $(VENV)/ready tools ## Everything that has to hold: style, types, tests with a real registry.
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest

e2e: $(VENV)/ready tools ## The same with real servers, which are built the first time: needs Go.
	$(BIN)/pip install --quiet --group e2e
	PYTHONPATH=tests $(BIN)/python -m rig.built
	$(BIN)/pytest tests/e2e

examples: $(VENV)/ready ## Write what is expected of the examples anew; whoever does so reads the diff.
	XPLOCK_CACHE_DIR= PYTHONPATH=tests $(BIN)/python -m rig.examples
	XPLOCK_CACHE_DIR= PYTHONPATH=tests $(BIN)/python -m rig.moving
	@echo "now read the diff: git diff examples"

bench: $(VENV)/ready ## Measurements, as ratios within one run.
	$(BIN)/python -m bench.startup
	$(BIN)/python -m bench.large_package
	$(BIN)/python -m bench.solver
	$(BIN)/python -m bench.lock
	$(BIN)/python -m bench.render

$(VENV)/ready: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "xplock needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "install the Debian package python3-venv"; exit 1; }
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[zstd]' --group dev
	@touch $@

tools:
	@missing=; for tool in $(TOOLS); do command -v $${tool%:*} >/dev/null || missing="$$missing $${tool#*:}"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	else echo "the tests need these Debian packages:$$missing"; exit 1; fi

clean:
	rm -rf $(VENV) examples/registry .mypy_cache .pytest_cache .ruff_cache .hypothesis

# Two commands for a fresh machine: `make demo` and `make test`. Both make .venv by themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Programs that the tests run; where the Debian package has another name, it stands behind the colon.
TOOLS := docker-registry git kubectl:kubernetes-client openssl skopeo

.PHONY: demo test bench tools clean

demo: $(VENV)/ready ## Build the example packages and look at them.
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: $(VENV)/ready tools ## Everything that has to hold: style, types, tests with a real registry.
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/pytest

bench: $(VENV)/ready ## Measurements, as ratios within one run.
	$(BIN)/python -m bench.startup
	$(BIN)/python -m bench.large_package
	$(BIN)/python -m bench.solver
	$(BIN)/python -m bench.lock

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

# Two commands for a fresh machine: `make demo` and `make test`. Both create .venv. `make quick` is for the desk.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Tests start hundreds of programs, and each one would compile xplock again.
unexport PYTHONDONTWRITEBYTECODE
# A release is built by tools that are installed by hash.
RELEASE := .venv-release
REQUIREMENTS := deploy/requirements
COMPILE = $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --no-annotate --no-header
# For steps before there is a .venv.
FIRST_PYTHON = $(or $(wildcard $(BIN)/python),$(PYTHON))
IS_NEW_ENOUGH := -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	{ echo "xplock needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
# Programs that the tests run, as program:Debian package where the names differ.
TOOLS := chromedriver:chromium-driver chromium docker-registry dot:graphviz git kubectl:kubernetes-client lua5.1 openssl skopeo
# And those that only the end-to-end tests run.
E2E_TOOLS := etcd:etcd-server redis-server
# And those that build the image.
IMAGE_TOOLS := buildah mmdebstrap skopeo
# All of those tests, or with SHORT=1 the ones that show most in a few minutes; the longest first. pytest-xdist gives a
# worker the next file in advance when a file has a single test, and that file would wait: environment is short.
E2E := $(patsubst %,tests/e2e/test_%.py,soak moves sync environment)
E2E += $(filter-out $(E2E),$(sort $(wildcard tests/e2e/test_*.py)))
# It needs no cluster, and so is no part of the matrix of versions.
E2E += tests/e2e/renovate/test_renovate.py
ifneq ($(SHORT),1)
E2E_TOOLS += node:nodejs npm
# What Debian has may be too old for Renovate; as root, the check after that says so.
E2E_NOTE := ; in Debian 12 and older nodejs is too old for Renovate: https://nodejs.org/en/download
else
E2E := $(patsubst %,tests/e2e/test_%.py,moves sync closure cmp_server repo_server repo_server_errors moved_tag package_parser)
endif
# The image is run by test_image.py.
E2E_IMAGE := $(if $(filter tests/e2e/test_image.py,$(E2E)),image)
# And Flux by test_flux.py.
E2E_FLUX := $(if $(filter tests/e2e/test_flux.py,$(E2E)),flux)
PARALLEL := --numprocesses auto --dist loadfile --no-loadscope-reorder

.PHONY: demo quick test style e2e soak first-syncs docs examples screenshot bench bench-cluster dist image requirements servers flux go tools image-tools clean

demo: $(VENV)/runtime ## Build the example packages, lock and render a project, and move a package.
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

quick: style ## Style, types, contracts and the fast tests: two minutes at the desk.
	$(BIN)/pytest $(PARALLEL) -m 'not property and not slow'

test: style tools ## Everything that has to hold. CI=true tries all examples of the property tests, not a part of them.
	$(BIN)/pytest $(PARALLEL)

style: $(VENV)/ready
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Other versions of the servers than the newest: make e2e CROSSPLANE=v2.3.4 ARGOCD=v3.2.11
e2e soak first-syncs servers go bench-cluster: export XPLOCK_E2E_CROSSPLANE := $(CROSSPLANE)
e2e soak first-syncs servers go bench-cluster: export XPLOCK_E2E_ARGOCD := $(ARGOCD)
# With RECORD=1 the versions that passed go into the record of which the page about compatibility is made.
e2e: export XPLOCK_E2E_RECORD := $(RECORD)

# These tests mostly wait for servers, so more of them run at once than there are cores.
e2e: servers $(E2E_FLUX) $(E2E_IMAGE) ## The tests with real servers, which are built the first time: needs Go.
	$(BIN)/pytest $(E2E) --numprocesses 3 --dist loadfile --no-loadscope-reorder

soak: servers ## 200 random edits of a folder, different ones each time; each is locked, pushed, synced and checked.
	@seed=$${XPLOCK_SOAK_SEED:-$$($(BIN)/python -c 'import secrets; print(secrets.randbelow(10**6))')}; \
	echo "to repeat these edits: XPLOCK_SOAK_SEED=$$seed make soak"; \
	XPLOCK_SOAK_SEED=$$seed XPLOCK_SOAK_EDITS=$${XPLOCK_SOAK_EDITS:-200} $(BIN)/pytest -s tests/e2e/test_soak.py

first-syncs: servers ## 50 first syncs of folders in which Crossplane and Argo CD race for every package: none may fail.
	XPLOCK_FIRST_SYNCS=$${XPLOCK_FIRST_SYNCS:-50} $(BIN)/pytest -s tests/e2e/test_first_sync.py

examples: $(VENV)/ready ## Write the expected output of the examples again; then read the diff.
	XPLOCK_CACHE_DIR= PYTHONPATH=tests $(BIN)/python -m rig.docs.examples
	XPLOCK_CACHE_DIR= PYTHONPATH=tests $(BIN)/python -m rig.docs.move_examples
	@echo "now read the diff: git diff examples"

docs: $(VENV)/ready ## Write the generated parts of README and docs/ and the output of their commands again; then read the diff.
	PYTHONPATH=tests $(BIN)/python -m rig.docs.write_pages
	@echo "now read the diff: git diff -- README.md docs"

screenshot: $(VENV)/ready tools ## Take the screenshot of docs/pictures.md again, in Chromium; then look at it.
	PYTHONPATH=tests $(BIN)/python -m rig.docs.screenshot

bench: $(VENV)/ready ## Measurements, as ratios within one run.
	$(BIN)/python -m bench.startup
	$(BIN)/python -m bench.large_package
	$(BIN)/python -m bench.solver
	$(BIN)/python -m bench.crds
	$(BIN)/python -m bench.definitions
	$(BIN)/python -m bench.lock
	PYTHONPATH=tests $(BIN)/python -m bench.doctor
	$(BIN)/python -m bench.mirror
	$(BIN)/python -m bench.render
	$(BIN)/python -m bench.plugin
	$(BIN)/python -m bench.check
	$(BIN)/python -m bench.fleet

bench-cluster: servers ## How long a closure takes to run, beside Crossplane alone; and the plugin in Argo CD's cmp-server.
	$(BIN)/python -m bench.cluster
	$(BIN)/python -m bench.cmp

dist: $(RELEASE)/ready ## The wheel, the source distribution, their SBOM and checksums: same commit, same bytes.
	sh deploy/dist.sh $(RELEASE) dist

# Only what is missing is made again; `make clean image` starts with a new base image, too.
image: image-tools ## The container image as an OCI archive: as root, without a container engine; BASE= names another base image.
	@$(FIRST_PYTHON) $(IS_NEW_ENOUGH)
	PYTHONPATH=tests $(FIRST_PYTHON) -m rig.deploy.image $(BASE)

# Tests that fail after this name the new version that broke them.
requirements: $(VENV)/ready ## Move every dependency of the image and of the hooks to its newest version, with hashes.
	$(BIN)/pip install --quiet --group requirements
	$(COMPILE) --extra zstd --extra verify --generate-hashes pyproject.toml --output-file $(REQUIREMENTS)/runtime.txt
	$(COMPILE) --group build --generate-hashes --output-file $(REQUIREMENTS)/build.txt
	$(COMPILE) --group release --generate-hashes --output-file $(REQUIREMENTS)/release.txt
	$(COMPILE) --extra zstd --extra verify --constraint $(REQUIREMENTS)/runtime.txt pyproject.toml --output-file $(REQUIREMENTS)/hook.txt
	@echo "now read the diff: git diff $(REQUIREMENTS)"

servers: TOOLS += $(E2E_TOOLS)
servers: NOTE := $(E2E_NOTE)
servers: go $(VENV)/ready tools
	$(if $(filter 1,$(SHORT)),,@PYTHONPATH=tests $(BIN)/python -m rig.builds.renovate --check)
	$(BIN)/pip install --quiet --group e2e
	PYTHONPATH=tests $(BIN)/python -m rig.builds.go_builds $(if $(filter 1,$(SHORT)),,--all)
	$(if $(filter 1,$(SHORT)),,PYTHONPATH=tests $(BIN)/python -m rig.builds.renovate)

flux: servers
	PYTHONPATH=tests $(BIN)/python -m rig.flux.builds

go:
	@$(FIRST_PYTHON) $(IS_NEW_ENOUGH)
	@PYTHONPATH=tests $(FIRST_PYTHON) -m rig.builds.go_builds --check

# What xplock itself needs, and nothing for tests.
$(VENV)/runtime: pyproject.toml
	@$(PYTHON) $(IS_NEW_ENOUGH)
	@$(PYTHON) -m venv $(VENV) || { echo "install the Debian package python3-venv"; exit 1; }
	$(BIN)/pip install --quiet --editable '.[zstd,verify]'
	@touch $@

# An older pip does not know --group.
$(VENV)/ready: $(VENV)/runtime
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --group dev
	@touch $@

$(RELEASE)/ready: $(REQUIREMENTS)/release.txt
	@$(PYTHON) $(IS_NEW_ENOUGH)
	@$(PYTHON) -m venv --clear $(RELEASE) || { echo "install the Debian package python3-venv"; exit 1; }
	$(RELEASE)/bin/pip install --quiet --require-hashes --requirement $(REQUIREMENTS)/release.txt
	@touch $@

# As in a container image: servers are installed but not started.
image-tools: TOOLS := $(IMAGE_TOOLS)
tools image-tools:
	@missing=; for tool in $(TOOLS); do command -v $${tool%:*} >/dev/null || missing="$$missing $${tool#*:}"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && SYSTEMD_OFFLINE=1 DEBIAN_FRONTEND=noninteractive \
			apt-get install -y -qq --no-install-recommends $$missing; \
	else echo "install these Debian packages:$$missing$(NOTE)"; exit 1; fi

clean:
	rm -rf $(VENV) $(RELEASE) .image dist examples/registry .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find bench render tests -name __pycache__ -prune -exec rm -rf {} +

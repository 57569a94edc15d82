# Everything here makes its own .venv first: nothing needs to be installed or activated by hand.
# It uses uv when there is one, else the first Python >= 3.11 it finds (or PYTHON=/path/to/python).

VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/installed
# A process a core and one more (tests/conftest.py); the tests of a file stay together, so that they
# start Spark once. Files keep their order: sorted by their number of tests, those with few long ones
# would come last, on one core.
SPREAD := -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder

# -P keeps this folder off the path, and with it the egg-info that an installation leaves here: pytest
# takes what that lists for a plugin and rewrites the assertions of 900 modules, in each process.
PYTEST := $(RUN) -P -m pytest -q

.PHONY: help setup audit test test-all project container lint site soak bench clean
.DELETE_ON_ERROR:

help:
	@echo 'make audit   check everything and write the page of evidence, runs/latest/report.html'
	@echo 'make test    run the tests            (make test TESTS=tests/impl for some of them)'
	@echo 'make test-all   with the slow ones: long simulations, whole proofs, undone repairs'
	@echo 'make project the wheel in a fresh environment, in a project of its own'
	@echo 'make container   the container file in a chroot, as root    (make container CHROOT=folder)'
	@echo 'make lint    ruff and mypy --strict'
	@echo 'make site    the documentation as a site, in runs/site/html'
	@echo 'make soak    an hour of real processes under faults    (make soak SOAK=600 for 10 minutes)'
	@echo 'make bench   measure'
	@echo 'make clean   remove what can be made again; keeps .venv and the evidence in runs/'

setup: $(READY)

audit: $(READY)
	$(RUN) -m raincheck audit $(OPTIONS)

test: $(READY)
	$(PYTEST) $(SPREAD) -m 'not slow' --durations=40 $(TESTS) $(OPTIONS)

test-all: $(READY)
	$(PYTEST) $(SPREAD) $(TESTS) $(OPTIONS)

# The wheel in a fresh environment, and a project of a stranger's with a planted fault for each verb.
project: $(READY)
	$(PYTEST) tests/project

# The steps of examples/ci/Containerfile in a chroot that debootstrap makes; see docs/ci.md.
CHROOT := /var/tmp/raincheck-chroot
container: $(READY)
	$(RUN) -m tests.project.container_in_chroot $(CHROOT) $(OPTIONS)

lint: $(READY)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

# What the site needs is installed beside the rest; nothing else does.
site: $(READY)
	@$(RUN) -c 'import sphinx, myst_parser, furo' 2>/dev/null || \
	    if command -v uv >/dev/null 2>&1; then uv pip install --quiet --python $(RUN) -e '.[site]'; \
	    else $(RUN) -m pip install --quiet --disable-pip-version-check -e '.[site]'; fi
	$(RUN) docs/site/build.py $(OPTIONS)

# An hour of real processes under every fault, and the verdict of Spark over all of its traces.
SOAK := 3600
soak: $(READY)
	rm -rf runs/soak
	$(RUN) -m raincheck run --members 5 --faults all --no-check --soak $(SOAK) --out runs/soak
	$(RUN) -m raincheck conform runs/soak/traces --engine spark

bench: $(READY)
	$(RUN) tests/bench/bench_total_order.py
	$(RUN) tests/bench/bench_key.py
	$(RUN) tests/bench/bench_view_change.py
	$(RUN) tests/bench/bench_state_transfer.py
	$(RUN) tests/bench/bench_messages.py
	$(RUN) tests/bench/bench_memory.py
	$(RUN) tests/bench/bench_ring_recovery.py
	$(RUN) tests/bench/bench_ring_multicast.py
	$(RUN) tests/bench/bench_conform.py
	$(RUN) tests/bench/bench_cluster.py
	$(RUN) tests/bench/bench_protocols.py
	$(RUN) tests/bench/bench_check.py

clean:
	rm -rf build dist *.egg-info .raincheck-cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf states spark-warehouse metastore_db derby.log .coverage
	find . -path ./$(VENV) -prune -o -path ./runs -prune -o -name __pycache__ -exec rm -rf {} +

# A .venv whose Python has gone (an upgrade, a moved folder) is made anew.
$(READY): pyproject.toml
	@set -e; \
	if ! $(RUN) -c 0 2>/dev/null; then rm -rf $(VENV); fi; \
	if command -v uv >/dev/null 2>&1; then \
	    test -x $(RUN) || uv venv --quiet --python '>=3.11' $(VENV); \
	    uv pip install --quiet --python $(RUN) -e '.[dev]'; \
	else \
	    if ! test -x $(RUN); then \
	        for python in $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python; do \
	            if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; \
	            then found=$$python; break; fi; \
	        done; \
	        if test -z "$$found"; then \
	            echo 'raincheck needs Python 3.11 or newer and finds none:' \
	                'install one, or uv, or say PYTHON=/path/to/python.' >&2; \
	            exit 3; \
	        fi; \
	        if ! "$$found" -m venv $(VENV); then \
	            rm -rf $(VENV); \
	            echo "$$found cannot make a venv: install its venv package" \
	                '(Debian: python3-venv), or uv.' >&2; \
	            exit 3; \
	        fi; \
	    fi; \
	    $(RUN) -m pip install --quiet --disable-pip-version-check -e '.[dev]'; \
	fi; \
	touch $@

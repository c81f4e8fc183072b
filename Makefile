# Two commands: `make demo` and `make test`. Both install all they need first; a second run finds it there.
# `make demo CONNECTOR=condor` (or slurm) runs the same on a real HTCondor pool (Slurm cluster) that it sets up from Debian's packages,
# CONNECTOR=simulated on one where nothing runs.
.PHONY: demo demo-grid demo-elastic check check-tests test all-tests lint soak dask-before audit machine-code testbed test-pyslurm peers clean

CONNECTOR ?= local
CONNECTORS ?= local,local,local
PYTHON_IN_VENV = .venv/bin/python
# Hundreds of processes start: where bytecode is not kept, each compiles all of cosched anew.
unexport PYTHONDONTWRITEBYTECODE

demo:
	@tools/setup run
	@$(PYTHON_IN_VENV) -m demo --connector $(CONNECTOR) $(DEMO_OPTIONS)

# Three domains that forward tasks to one another; CONNECTORS=local,condor,slurm takes real pools.
demo-grid:
	@tools/setup run
	@$(PYTHON_IN_VENV) -m demo.grid --connectors $(CONNECTORS) $(DEMO_OPTIONS)

# A Dask computation that grows over idle hosts, gives eight to a task with a deadline and gets them back; also with CONNECTOR=condor or slurm.
demo-elastic:
	@tools/setup run
	@tools/setup dask
	@$(PYTHON_IN_VENV) -m demo.elastic --connector $(CONNECTOR) $(DEMO_OPTIONS)

# What an author runs before each commit: everything that needs no pool, browser or daemon.
check:
	@tools/setup test
	@$(MAKE) --no-print-directory machine-code
	@$(MAKE) --no-print-directory -j 2 lint check-tests

# Some of its tests wait, too: for threads, sockets and clocks. So there are four workers.
check-tests:
	$(PYTHON_IN_VENV) -m pytest -n 4 --dist loadgroup -m 'not pool and not browser and not daemon and not index' $(PYTEST_OPTIONS)

# Lint and types are checked beside the tests, which wait for pools and daemons half of their time: so there are eight workers.
test:
	@tools/setup test
	@$(MAKE) --no-print-directory -j 2 machine-code testbed
	@$(MAKE) --no-print-directory -j 2 lint all-tests

all-tests:
	$(PYTHON_IN_VENV) -m pytest -n 8 --dist loadgroup $(PYTEST_OPTIONS)

lint:
	$(PYTHON_IN_VENV) -m ruff check .
	$(PYTHON_IN_VENV) -m ruff format --check .
	$(PYTHON_IN_VENV) -m mypy

# Property tests, schemathesis (all of its phases) and fuzzers with new seeds, a hundred times as far, then a day's work in an hour: for hours.
# A finding becomes a test of its own. Last, known weaknesses of the packages.
soak:
	@tools/setup test
	@$(MAKE) --no-print-directory machine-code
	EXPLORE=1 $(PYTHON_IN_VENV) -m pytest -n 2 --dist loadgroup --timeout 14400 -m 'not pool and not browser and not daemon and not index' $(PYTEST_OPTIONS)
	EXPLORE=1 $(PYTHON_IN_VENV) -m pytest --timeout 14400 tests/portal/test_openapi.py $(PYTEST_OPTIONS)
	$(PYTHON_IN_VENV) -m benchmarks.soak
	@$(MAKE) --no-print-directory dask-before
	@$(MAKE) --no-print-directory audit

# The tests of Dask with the version before the locked one, but for the one whose jobs begin with no such path.
dask-before:
	@tools/setup test
	$(PYTHON_IN_VENV) -m pip install -q --disable-pip-version-check --no-deps --require-hashes --upgrade --target .venv/dask-before \
		-r requirements/dask-before.txt
	PYTHONPATH=.venv/dask-before $(PYTHON_IN_VENV) -m pytest tests/dask --ignore tests/dask/test_cluster.py $(PYTEST_OPTIONS)

# The package index's word on known weaknesses of all locked packages; a package that it says nothing of fails, too.
audit:
	@tools/setup test
	@tools/setup audit
	@$(PYTHON_IN_VENV) -m pip_audit --strict --disable-pip --require-hashes --progress-spinner off \
		-r requirements/test.txt -r requirements/build.txt -r requirements/audit.txt || { echo "audit: a locked package has" \
		"a known weakness, or the index (PyPI) did not answer for it; above is which: nothing is audited until this passes" >&2; exit 1; }

# Once, and not by every process of the tests at the same time.
machine-code:
	$(PYTHON_IN_VENV) -m cosched.scheduling.kernel_cache

testbed:
	$(PYTHON_IN_VENV) -m tests.testbed.condor --prepare
	$(PYTHON_IN_VENV) -m tests.testbed.slurm --prepare
	$(PYTHON_IN_VENV) -m tests.testbed.software

# The contract of all connectors through pyslurm, on a cluster of a Slurm 25.11 that is installed below SLURM_PREFIX
# (built with munge and --enable-multiple-slurmd; it needs no slurm.conf).
test-pyslurm:
	@[ -n "$(SLURM_PREFIX)" ] || { echo "name an installed Slurm 25.11: make test-pyslurm SLURM_PREFIX=/path" >&2; exit 1; }
	@tools/setup test
	@$(PYTHON_IN_VENV) -m tests.testbed.slurm --check $(SLURM_PREFIX)
	$(PYTHON_IN_VENV) -m tests.testbed.slurm --prepare
	SLURM_INCLUDE_DIR=$(SLURM_PREFIX)/include SLURM_LIB_DIR=$(SLURM_PREFIX)/lib $(PYTHON_IN_VENV) -m pip install -q 'pyslurm==25.11.*'
	LD_LIBRARY_PATH=$(SLURM_PREFIX)/lib/slurm:$(SLURM_PREFIX)/lib COSCHED_TESTBED_SLURM=$(SLURM_PREFIX) COSCHED_TESTBED_INTERFACE=pyslurm \
		$(PYTHON_IN_VENV) -m pytest tests/connectors/real_slurm/test_contract.py $(PYTEST_OPTIONS)

# What `python -m benchmarks.scheduling` compares with.
peers:
	@tools/setup test
	@tools/setup peers

clean:
	rm -rf .venv demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis

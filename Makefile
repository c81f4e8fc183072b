# Two commands: `make demo` and `make test`. Both install all they need first; a second run finds it there.
# `make demo CONNECTOR=condor` (or slurm) runs the same on a real HTCondor pool (Slurm cluster) that it sets up from Debian's packages,
# CONNECTOR=simulated on one where nothing runs.
.PHONY: demo demo-grid test test-pyslurm peers clean

CONNECTOR ?= local
CONNECTORS ?= local,local,local
PYTHON_IN_VENV = .venv/bin/python

demo:
	@tools/setup run
	@$(PYTHON_IN_VENV) -m demo --connector $(CONNECTOR) $(DEMO_OPTIONS)

# Three domains that forward tasks to one another; CONNECTORS=local,condor,slurm takes real pools.
demo-grid:
	@tools/setup run
	@$(PYTHON_IN_VENV) -m demo.grid --connectors $(CONNECTORS) $(DEMO_OPTIONS)

test:
	@tools/setup test
	$(PYTHON_IN_VENV) -m ruff check .
	$(PYTHON_IN_VENV) -m ruff format --check .
	$(PYTHON_IN_VENV) -m mypy
	$(PYTHON_IN_VENV) -m tests.testbed.condor --prepare
	$(PYTHON_IN_VENV) -m tests.testbed.slurm --prepare
	$(PYTHON_IN_VENV) -m tests.testbed.browser --prepare
	$(PYTHON_IN_VENV) -m tests.testbed.slapd --prepare
	$(PYTHON_IN_VENV) -m pytest -n 2 --dist loadgroup $(PYTEST_OPTIONS)

# The contract of all connectors through pyslurm, on a cluster of a Slurm 25.11 that is installed below SLURM_PREFIX (built with munge).
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

# Two commands: `make demo` and `make test`. Both install all they need first; a second run finds it there.
# `make demo CONNECTOR=condor` (or slurm) runs the same on a real HTCondor pool (Slurm cluster) that it sets up from Debian's packages.
.PHONY: demo demo-grid test peers clean

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

# What `python -m benchmarks.scheduling` compares with.
peers:
	@tools/setup test
	@tools/setup peers

clean:
	rm -rf .venv demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis

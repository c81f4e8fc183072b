from __future__ import annotations

import subprocess
import sys

_CODE = """
import gc, sys
from cosched.daemon.runtime_tuning import tune_runtime
tune_runtime()
assert sys.getswitchinterval() < 0.005
assert gc.isenabled() and gc.get_freeze_count() > 1000
class Knot:
    gone = 0
    def __del__(self): Knot.gone += 1
for _ in range(100_000):
    knot = Knot()
    knot.itself = [knot]
assert Knot.gone > 50_000, Knot.gone
"""


def test_threads_take_short_turns_and_cycles_are_still_found() -> None:
    subprocess.run([sys.executable, "-c", _CODE], check=True, timeout=240)


_FILES = """
import resource
from cosched.daemon.runtime_tuning import raise_file_limit
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
hard = min(900, hard) if hard != resource.RLIM_INFINITY else 900
resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
raise_file_limit()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
raise_file_limit()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
"""


def test_as_many_files_as_the_system_allows_may_be_open() -> None:
    subprocess.run([sys.executable, "-c", _FILES], check=True, timeout=240)

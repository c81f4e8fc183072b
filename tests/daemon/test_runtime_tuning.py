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
    subprocess.run([sys.executable, "-c", _CODE], check=True, timeout=60)

"""A parallel program for the tests: a real MPI_Allreduce by Open MPI's or MPICH's own C library, without a compiler.

allreduce.py LIBRARY                each rank prints "rank R of N sum S", S = 1 + … + N
allreduce.py LIBRARY die RANK       that rank is killed before the others have its number
allreduce.py LIBRARY wait FOLDER    each rank leaves its process number in FOLDER/RANK and stays
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any


def _handles(library: ctypes.CDLL) -> list[Any]:
    """Return communicator, type and operation as the library's own mpi.h names them."""
    if hasattr(library, "ompi_mpi_comm_world"):
        names = ("ompi_mpi_comm_world", "ompi_mpi_int", "ompi_mpi_op_sum")
        return [ctypes.byref(ctypes.c_byte.in_dll(library, name)) for name in names]
    return [ctypes.c_int(number) for number in (0x44000000, 0x4C000405, 0x58000003)]


def main(file: str, action: str = "", value: str = "") -> None:
    """Add up the ranks, or die, or wait."""
    library = ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL)
    world, kind, total = _handles(library)
    library.MPI_Init(None, None)
    rank, size, result = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    library.MPI_Comm_rank(world, ctypes.byref(rank))
    library.MPI_Comm_size(world, ctypes.byref(size))
    if action == "die" and rank.value == int(value):
        os.kill(os.getpid(), signal.SIGKILL)
    if action == "wait":
        mark = Path(value, f"{rank.value}.new")
        mark.write_text(str(os.getpid()))
        mark.rename(mark.with_suffix(""))
        time.sleep(600)
    library.MPI_Allreduce(ctypes.byref(ctypes.c_int(rank.value + 1)), ctypes.byref(result), 1, kind, total, world)
    print(f"rank {rank.value} of {size.value} sum {result.value}", flush=True)
    library.MPI_Finalize()


main(*sys.argv[1:])

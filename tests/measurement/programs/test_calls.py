from __future__ import annotations

import re

from cosched.measurement.programs.calls import shim_source


def test_every_call_is_watched_in_c_and_in_fortran() -> None:
    source = shim_source()
    names = re.findall(r"^int MPI_(\w+)\(", source, re.M)
    assert len(names) == len(set(names)) > 40
    assert {"Send", "Irecv", "Waitall", "Allreduce", "Alltoallv", "Init_thread", "Finalize"} <= set(names)
    for name in names:
        assert f"PMPI_{name}(" in source
        assert f"void mpi_{name.lower()}_(" in source
        assert f"pmpi_{name.lower()}_(" in source

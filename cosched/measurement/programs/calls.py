"""Calls of MPI that are watched, and the C source that watches them.

Start at `shim_source`. The table has each call's parameters; its wrappers for C and Fortran are made from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from cosched.measurement.programs.watching import PROCESS_VARIABLE, SHIM_VARIABLE, TIMES_VARIABLE

__all__ = ["shim_source"]

# A parameter of each kind: its type in C; in Fortran all are pointers, and these become values by the second text.
_TYPES = {
    "in": "const void *",
    "out": "void *",
    "count": "int ",
    "counts": "const int *",
    "type": "MPI_Datatype ",
    "types": "const MPI_Datatype *",
    "peer": "int ",
    "tag": "int ",
    "comm": "MPI_Comm ",
    "op": "MPI_Op ",
    "request": "MPI_Request *",
    "requests": "MPI_Request *",
    "status": "MPI_Status *",
    "statuses": "MPI_Status *",
    "flag": "int *",
}


@dataclass(frozen=True, slots=True)
class _Call:
    """A call of MPI.

    Attributes:
        name: without `MPI_`.
        words: its parameters in their order, kind and name; the kind alone where it is the name, too.
        to: the peer: `peer` (the parameter of this name), `all`, `root` or `nobody`.
    """

    name: str
    words: str
    to: str

    @property
    def kind(self) -> str:
        """Return the kind under which it is noted."""
        return self.name.lower()

    @property
    def parameters(self) -> str:
        """Return its parameters in C."""
        return ", ".join(f"{_TYPES[kind]}{name}" for kind, name in self._pairs())

    @property
    def arguments(self) -> str:
        """Return the arguments that are handed on in C."""
        return ", ".join(name for _, name in self._pairs())

    @property
    def peer(self) -> str:
        """Return the expression of the peer in C."""
        return self._peer("relative(peer, comm)")

    @property
    def bytes(self) -> str:
        """Return the expression of the bytes in C."""
        if self.name == "Alltoallv":
            own, got = "bytes_to_each(counts, type, comm)", "bytes_to_each(got_counts, got_type, comm)"
            return f"sent == MPI_IN_PLACE ? {got} : {own}"  # which then go the other way as well
        return "bytes_of(count, type)" if self._sized() else "0"

    @property
    def fortran_parameters(self) -> str:
        """Return its parameters for Fortran, in which all are addresses, the last one that of the error."""
        return ", ".join([*(f"void *{name}" for _, name in self._pairs()), "MPI_Fint *ierror"])

    @property
    def fortran_arguments(self) -> str:
        """Return the arguments that are handed on for Fortran."""
        return ", ".join([*(name for _, name in self._pairs()), "ierror"])

    @property
    def fortran_peer(self) -> str:
        """Return the expression of the peer for Fortran."""
        return self._peer("relative(*(MPI_Fint *)peer, PMPI_Comm_f2c(*(MPI_Fint *)comm))")

    @property
    def fortran_bytes(self) -> str:
        """Return the expression of the bytes for Fortran."""
        if self.name == "Alltoallv":
            return "bytes_to_each(counts, PMPI_Type_f2c(*(MPI_Fint *)type), PMPI_Comm_f2c(*(MPI_Fint *)comm))"
        return "bytes_of(*(MPI_Fint *)count, PMPI_Type_f2c(*(MPI_Fint *)type))" if self._sized() else "0"

    def _pairs(self) -> list[tuple[str, str]]:
        pairs = (word.partition(":") for word in self.words.split())
        return [(kind, name or kind) for kind, _, name in pairs]

    def _sized(self) -> bool:
        return {("count", "count"), ("type", "type")} <= set(self._pairs())

    def _peer(self, known: str) -> str:
        return {"peer": known, "all": "ALL", "root": "ROOT", "nobody": "NOBODY"}[self.to]


_SEND, _RECEIVE = "in:buffer count type peer tag comm", "out:buffer count type peer tag comm"
_ALL = "in:sent count type out:got count:got_count type:got_type comm"
_CALLS = (
    *(_Call(name, _SEND, "peer") for name in ("Send", "Bsend", "Ssend", "Rsend")),
    *(_Call(name, f"{_SEND} request", "peer") for name in ("Isend", "Ibsend", "Issend", "Irsend")),
    _Call("Recv", f"{_RECEIVE} status", "peer"),
    _Call("Irecv", f"{_RECEIVE} request", "peer"),
    _Call(
        "Sendrecv",
        "in:sent count type peer tag out:got count:got_count type:got_type peer:source tag:got_tag comm status",
        "peer",
    ),
    _Call("Sendrecv_replace", "out:buffer count type peer tag peer:source tag:got_tag comm status", "peer"),
    _Call("Probe", "peer tag comm status", "peer"),
    _Call("Iprobe", "peer tag comm flag status", "peer"),
    _Call("Wait", "request status", "nobody"),
    _Call("Waitall", "count requests statuses", "nobody"),
    _Call("Waitany", "count requests flag:index status", "nobody"),
    _Call("Waitsome", "count requests flag:done flag:indices statuses", "nobody"),
    _Call("Test", "request flag status", "nobody"),
    _Call("Testall", "count requests flag statuses", "nobody"),
    _Call("Barrier", "comm", "all"),
    _Call("Bcast", "out:buffer count type peer:root comm", "root"),
    _Call("Reduce", "in:sent out:got count type op peer:root comm", "root"),
    _Call("Allreduce", "in:sent out:got count type op comm", "all"),
    _Call("Gather", "in:sent count type out:got count:got_count type:got_type peer:root comm", "root"),
    _Call("Gatherv", "in:sent count type out:got counts counts:places type:got_type peer:root comm", "root"),
    _Call("Scatter", "in:sent count:sent_count type:sent_type out:got count type peer:root comm", "root"),
    _Call("Scatterv", "in:sent counts counts:places type:sent_type out:got count type peer:root comm", "root"),
    _Call("Allgather", _ALL, "all"),
    _Call("Allgatherv", "in:sent count type out:got counts counts:places type:got_type comm", "all"),
    _Call("Alltoall", _ALL, "all"),
    _Call(
        "Alltoallv",
        "in:sent counts counts:places type out:got counts:got_counts counts:got_places type:got_type comm",
        "all",
    ),
    _Call("Reduce_scatter_block", "in:sent out:got count type op comm", "all"),
    _Call("Reduce_scatter", "in:sent out:got counts type op comm", "all"),
    _Call("Scan", "in:sent out:got count type op comm", "all"),
    _Call("Exscan", "in:sent out:got count type op comm", "all"),
    _Call("Ibarrier", "comm request", "all"),
    _Call("Ibcast", "out:buffer count type peer:root comm request", "root"),
    _Call("Iallreduce", "in:sent out:got count type op comm request", "all"),
)


def shim_source(*, mpi: bool = True) -> str:
    """Return the C source of the library that is preloaded.

    Args:
        mpi: watch calls of MPI, too, for which it needs the MPI's header.
    """
    text = (files("cosched.measurement") / "native" / "shim.c.j2").read_text(encoding="utf-8")
    template = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)  # noqa: S701  C
    kinds = [call.kind for call in _CALLS]
    return template.from_string(text).render(
        calls=_CALLS, kinds=kinds, mpi=mpi, variable=SHIM_VARIABLE, times=TIMES_VARIABLE, process=PROCESS_VARIABLE
    )

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

from cosched.modelling.derivation.blocks import blocks_of
from cosched.modelling.derivation.collectives import Collective, collectives_of
from cosched.modelling.derivation.counting import Place
from cosched.modelling.derivation.symbolic import Formula, Term

if TYPE_CHECKING:
    from cosched.modelling.derivation.blocks import Block


def found(text: str) -> list[Collective]:
    """Return the operations of a source whose lines are all executed three times."""
    lines = text.splitlines()
    counts = {Place(0, number, 0, "main"): 3 for number in range(1, len(lines) + 1)}
    return collectives_of([lines], ["Nproc", "n", "m"], blocks_of([counts, counts]), solved)


def solved(block: Block) -> Formula:
    return Formula((Term(Fraction(block.counts[0]), ()),), exact=True)


@pytest.mark.parametrize(
    ("text", "template", "size"),
    [
        ("MPI_Allreduce(&a, &b, 1, MPI_DOUBLE, MPI_SUM, world);", "allreduce", "8 B"),
        ("MPI_Bcast(a, n, MPI_INT, 0, world);", "broadcast", "4 B * n"),
        ("MPI_Reduce(a, b, n * m, MPI_FLOAT, MPI_MAX, 0, world);", "reduce", "4 B * (n * m)"),
        ("MPI_Barrier(world);", "allreduce", "0 B"),
        ("int share = n / size;\nMPI_Alltoall(a, share * m, MPI_C_DOUBLE_COMPLEX,\n b, 1, t, w);", "transpose", ""),
        ("call mpi_allreduce(a, b, 2, MPI_DOUBLE_PRECISION, MPI_SUM, world, ierr)", "allreduce", "8 B * 2"),
        ("MPI_Bcast(f(a, b), (n + 2), MPI_CHAR, 0, world);", "broadcast", "1 B * (n + 2)"),
        ("MPI_Bcast(a, found(n), MPI_INT, 0, world);", "", ""),
        ("MPI_Bcast(a, n, own_type, 0, world);", "", ""),
        ("MPI_Isend(a, n, MPI_INT, next, 0, world, &request);", "", ""),
    ],
)
def test_operations_and_their_bytes(text: str, template: str, size: str) -> None:
    source = f"int main(int argc, char **argv) {{\nMPI_Comm_size(world, &size);\n{text}\n}}"
    (only,) = found(source)
    if "share" in text:
        size = "16 B * (floor(n / Nproc) * m)"
    assert (only.template, only.size) == (template, size)
    assert only.count.text() == "3"


@pytest.mark.parametrize(
    "text",
    [
        "k = n;\nk = 2 * n;\nMPI_Bcast(a, k, MPI_INT, 0, world);",  # one of two
        "static void send(double *a, int n) {\nMPI_Bcast(a, n, MPI_INT, 0, world);\n}",  # not the program's n
    ],
)
def test_what_may_be_something_else_has_no_size(text: str) -> None:
    assert [each.template for each in found(text)] == [""]


def test_what_is_never_reached_or_moves_nothing_is_left_out() -> None:
    assert found("MPI_Init(&argc, &argv);\nMPI_Comm_rank(world, &rank);\nMPI_Finalize();") == []
    assert collectives_of([["MPI_Barrier(world);"]], ["Nproc"], [], solved) == []

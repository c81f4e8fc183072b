"""Programs whose blocks are counted in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.testbed.software.compiler import compiler, coverage_reader

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "FILTER",
    "LAPLACE",
    "POLYNOMIAL",
    "RING",
    "SHARE",
    "TEMPLATES",
    "THREADS",
    "build_command",
    "coverage_reader",
    "written",
]

POLYNOMIAL = """#include <stdio.h>
#include <stdlib.h>

static double smooth(const double *u, int nx, int ny) {
  double sum = 0;
  for (int i = 1; i < nx - 1; i++)
    for (int j = 1; j < ny - 1; j++) sum += u[i * ny + j];
  return sum;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "nx ny steps\\n");
    return 2;
  }
  int nx = atoi(argv[1]), ny = atoi(argv[2]), steps = atoi(argv[3]);
  double *u = calloc((size_t)nx * ny, sizeof *u), sum = 0;
  for (int i = 0; i < nx * ny; i++)
    u[i] = i % 7;
  for (int s = 0; s < steps; s++) {
    sum += smooth(u, nx, ny);
    if (s % 4 == 0) {
      for (int j = 0; j < ny; j++) {
        u[j] += 1;
      }
    }
  }
  printf("%g\\n", sum);
  return 0;
}
"""

FILTER = """import sys


def squares(n):
    total = 0
    for i in range(n):
        total += sum(j for j in range(i))
    return total


def main():
    n, turns = (int(word) for word in sys.argv[1:])
    for _ in range(turns):
        squares(n)


if __name__ == "__main__":
    main()
"""

LAPLACE = """module grid
  implicit none
contains
  subroutine relax(u, v, nx, ny)
    integer, intent(in) :: nx, ny
    real(8), intent(inout) :: u(nx, ny), v(nx, ny)
    integer :: i, j
    do j = 2, ny - 1
      do i = 2, nx - 1
        v(i, j) = 0.25d0 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
      end do
    end do
    u(2:nx-1, 2:ny-1) = v(2:nx-1, 2:ny-1)
  end subroutine relax
end module grid

program laplace
  use grid
  implicit none
  integer :: nx, ny, steps, s
  character(len=32) :: word
  real(8), allocatable :: u(:, :), v(:, :)
  call get_command_argument(1, word)
  read (word, *) nx
  call get_command_argument(2, word)
  read (word, *) ny
  call get_command_argument(3, word)
  read (word, *) steps
  allocate (u(nx, ny), v(nx, ny))
  u = 0
  v = 1
  do s = 1, steps
    call relax(u, v, nx, ny)
    if (mod(s, 4) == 0) print *, sum(u)
  end do
end program laplace
"""

THREADS = """#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]), seen = omp_get_max_threads();
  double sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      for (int k = 0; k < m; k++)
        sum += k % 3;
  printf("%g %d\\n", sum, seen);
  return 0;
}
"""

SHARE = """#include <stdlib.h>

int main(int argc, char **argv) {
  int rank = atoi(argv[1]), ranks = atoi(argv[2]), n = atoi(argv[3]), steps = atoi(argv[4]), sum = 0;
  int local = n / ranks + (rank < n % ranks);
  for (int s = 0; s < steps; s++) {
    for (int i = 0; i < local; i++) {
      sum += i % 3;
    }
  }
  return sum < 0;
}
"""

TEMPLATES = """#include <cstdlib>
#include <vector>

template <class T> T total(const std::vector<T> &values) {
  T sum = 0;
  for (const T &value : values)
    sum += value;
  return sum;
}

int main(int argc, char **argv) {
  int n = std::atoi(argv[1]), m = std::atoi(argv[2]);
  std::vector<double> a(n, 1.0);
  std::vector<int> b(m, 2);
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += total(a) + total(b);
  return sum < 0;
}
"""

RING = """#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int nx = atoi(argv[1]), ny = atoi(argv[2]), steps = atoi(argv[3]);
  int local = nx / size + (rank < nx % size);
  double *u = calloc((size_t)(local + 2) * ny, sizeof *u), sum = 0, all = 0;
  for (int s = 0; s < steps; s++) {
    for (int i = 1; i <= local; i++) {
      for (int j = 0; j < ny; j++)
        u[i * ny + j] = u[(i - 1) * ny + j] + 1;
    }
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Sendrecv(u + local * ny, ny, MPI_DOUBLE, next, 0, u, ny, MPI_DOUBLE, last, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < local * ny; i++)
    sum += u[i];
  MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%g\\n", all);
  MPI_Finalize();
  return 0;
}
"""


def written(folder: Path, name: str, text: str) -> Path:
    """Write a source."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def build_command(language: str = "c", *more: str) -> str:
    """Return the template by which this machine compiles."""
    return " ".join([compiler(language), "{flags} {sources} -o {program} -lm", *more])

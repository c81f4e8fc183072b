"""Programs whose blocks are counted in tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.testbed.compiler import compiler, coverage_reader

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FILTER", "POLYNOMIAL", "build_command", "coverage_reader", "written"]

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


def written(folder: Path, name: str, text: str) -> Path:
    """Write a source."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def build_command() -> str:
    """Return the template by which this machine compiles C."""
    return f"{compiler()} {{flags}} {{sources}} -o {{program}} -lm"

/* A triangle of loops shared by threads: triangle N M */
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int n = atoi(argv[1]), m = atoi(argv[2]);
  double s = 0;
#pragma omp parallel for reduction(+ : s) schedule(dynamic)
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      for (int k = 0; k < m; k++)
        s += (i * j) % 7 ? 1.0 : k;
  printf("%g\n", s);
  return 0;
}

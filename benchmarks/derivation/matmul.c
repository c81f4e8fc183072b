/* A product of matrices in blocks, 1 if it is not the left one: matmul N */
#include <stdio.h>
#include <stdlib.h>
#define B 16
static int min(int a, int b) { return a < b ? a : b; }
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  double *a = malloc(sizeof *a * n * n), *b = malloc(sizeof *b * n * n), *c = calloc(n * n, sizeof *c), trace = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      a[i * n + j] = i + j;
      b[i * n + j] = i == j;
    }
  for (int ii = 0; ii < n; ii += B)
    for (int kk = 0; kk < n; kk += B)
      for (int jj = 0; jj < n; jj += B)
        for (int i = ii; i < min(ii + B, n); i++)
          for (int k = kk; k < min(kk + B, n); k++) {
            double x = a[i * n + k];
            for (int j = jj; j < min(jj + B, n); j++)
              c[i * n + j] += x * b[k * n + j];
          }
  for (int i = 0; i < n; i++)
    trace += c[i * n + i];
  printf("%g\n", trace);
  return trace != (double)n * (n - 1);
}

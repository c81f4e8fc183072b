/* Fourier transforms in two dimensions and back, 1 if that is not the beginning: fft N TURNS (N a power of two) */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
static void fft(double complex *a, int n, int sign) {
  for (int i = 1, j = 0; i < n; i++) {
    int bit = n >> 1;
    for (; j & bit; bit >>= 1)
      j ^= bit;
    j ^= bit;
    if (i < j) {
      double complex t = a[i];
      a[i] = a[j];
      a[j] = t;
    }
  }
  for (int len = 2; len <= n; len <<= 1) {
    double complex w = cexp(sign * 2 * M_PI * I / len);
    for (int i = 0; i < n; i += len) {
      double complex x = 1;
      for (int k = 0; k < len / 2; k++) {
        double complex u = a[i + k], v = a[i + k + len / 2] * x;
        a[i + k] = u + v;
        a[i + k + len / 2] = u - v;
        x *= w;
      }
    }
  }
}
static void transpose(double complex *a, int n) {
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) {
      double complex t = a[i * n + j];
      a[i * n + j] = a[j * n + i];
      a[j * n + i] = t;
    }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]), turns = atoi(argv[2]);
  double complex *a = malloc(sizeof *a * n * n);
  for (int i = 0; i < n * n; i++)
    a[i] = i % 7;
  for (int t = 0; t < turns; t++) {
    for (int sign = -1; sign <= 1; sign += 2) {
      for (int i = 0; i < n; i++)
        fft(a + i * n, n, sign);
      transpose(a, n);
      for (int i = 0; i < n; i++)
        fft(a + i * n, n, sign);
      transpose(a, n);
    }
    for (int i = 0; i < n * n; i++)
      a[i] /= (double)n * n;
  }
  double worst = 0;
  for (int i = 0; i < n * n; i++) {
    double d = cabs(a[i] - i % 7);
    if (d > worst)
      worst = d;
  }
  printf("%g\n", worst);
  return worst > 1e-6;
}

/* Eight sweeps over a box from its corners, in blocks of planes: sweep NX NY NZ BLOCK ANGLES */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  int nx = atoi(argv[1]), ny = atoi(argv[2]), nz = atoi(argv[3]), kb = atoi(argv[4]), angles = atoi(argv[5]);
  double *phi = calloc((size_t)nx * ny * nz, sizeof *phi);
  double *fi = malloc(sizeof *fi * ny * kb), *fj = malloc(sizeof *fj * nx * kb), *fk = malloc(sizeof *fk * nx * ny);
  double total = 0;
  for (int octant = 0; octant < 8; octant++) {
    int di = octant & 1 ? -1 : 1, dj = octant & 2 ? -1 : 1, dk = octant & 4 ? -1 : 1;
    for (int m = 0; m < angles; m++) {
      for (int i = 0; i < nx * ny; i++)
        fk[i] = 1;
      for (int k0 = 0; k0 < nz; k0 += kb) {
        int k1 = k0 + kb < nz ? k0 + kb : nz;
        for (int i = 0; i < ny * kb; i++)
          fi[i] = 1;
        for (int i = 0; i < nx * kb; i++)
          fj[i] = 1;
        for (int k = k0; k < k1; k++)
          for (int jj = 0; jj < ny; jj++)
            for (int ii = 0; ii < nx; ii++) {
              int i = di > 0 ? ii : nx - 1 - ii, j = dj > 0 ? jj : ny - 1 - jj, z = dk > 0 ? k : nz - 1 - k;
              double v = (fi[j * kb + k - k0] + fj[i * kb + k - k0] + fk[j * nx + i]) / 3.3;
              if (v < 0)
                v = 0;
              phi[(z * ny + j) * nx + i] += v;
              fi[j * kb + k - k0] = fj[i * kb + k - k0] = fk[j * nx + i] = v;
            }
      }
    }
  }
  for (int i = 0; i < nx * ny * nz; i++)
    total += phi[i];
  printf("%g\n", total);
  return 0;
}

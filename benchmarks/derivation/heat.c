/* Jacobi iterations on a grid, and how much the last one changed: heat NX NY STEPS CHECK */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int lx, ly;
static double *u, *v;
static void init(void) {
  for (int i = 0; i < lx; i++)
    for (int j = 0; j < ly; j++)
      u[i * ly + j] = v[i * ly + j] = (i == 0) ? 1.0 : 0.0;
}
static void update(void) {
  for (int i = 1; i < lx - 1; i++) {
    for (int j = 1; j < ly - 1; j++) {
      v[i * ly + j] = 0.25 * (u[(i - 1) * ly + j] + u[(i + 1) * ly + j] + u[i * ly + j - 1] + u[i * ly + j + 1]);
    }
  }
  double *t = u;
  u = v;
  v = t;
}
static double residual(void) {
  double worst = 0;
  for (int i = 1; i < lx - 1; i++) for (int j = 1; j < ly - 1; j++) {
    double d = fabs(u[i * ly + j] - v[i * ly + j]);
    if (d > worst)
      worst = d;
  }
  return worst;
}
int main(int argc, char **argv) {
  if (argc != 5) return 2;
  int nx = atoi(argv[1]), ny = atoi(argv[2]), steps = atoi(argv[3]), check = atoi(argv[4]);
  double r = 0;
  lx = nx + 2;
  ly = ny + 2;
  u = malloc(sizeof *u * lx * ly);
  v = malloc(sizeof *v * lx * ly);
  init();
  for (int s = 1; s <= steps; s++) {
    update();
    if (s % check == 0)
      r = residual();
  }
  printf("%g\n", r);
  return 0;
}

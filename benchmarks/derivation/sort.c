/* Quicksort and heapsort of the same numbers, 1 if they differ: sort N */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void sift(unsigned *a, int i, int n) {
  unsigned x = a[i];
  for (int c; (c = 2 * i + 1) < n; i = c) {
    if (c + 1 < n && a[c + 1] > a[c])
      c++;
    if (a[c] <= x)
      break;
    a[i] = a[c];
  }
  a[i] = x;
}
static void quick(unsigned *a, int n) {
  while (n > 16) {
    unsigned p = a[n / 2];
    int i = 0, j = n - 1;
    while (i <= j) {
      while (a[i] < p)
        i++;
      while (a[j] > p)
        j--;
      if (i <= j) {
        unsigned t = a[i];
        a[i++] = a[j];
        a[j--] = t;
      }
    }
    quick(a, j + 1);
    a += i;
    n -= i;
  }
  for (int i = 1; i < n; i++) {
    unsigned x = a[i];
    int j = i;
    for (; j > 0 && a[j - 1] > x; j--)
      a[j] = a[j - 1];
    a[j] = x;
  }
}
int main(int argc, char **argv) {
  int n = atoi(argv[1]);
  unsigned *a = malloc(sizeof *a * n), *b = malloc(sizeof *b * n), s = 12345;
  for (int i = 0; i < n; i++)
    b[i] = a[i] = s = s * 1664525u + 1013904223u;
  quick(a, n);
  for (int i = n / 2 - 1; i >= 0; i--)
    sift(b, i, n);
  for (int m = n - 1; m > 0; m--) {
    unsigned t = b[0];
    b[0] = b[m];
    b[m] = t;
    sift(b, 0, m);
  }
  for (int i = 0; i < n; i++)
    if (a[i] != b[i])
      return 1;
  printf("%u\n", a[0]);
  return 0;
}

/* The product of two square matrices, whose second one travels around a ring in strips of rows: matmul N STEPS
 *
 * The check multiplies a vector by the product and by one matrix after the other (Freivalds).
 */
#include "kernel.h"
#include <math.h>
#include <string.h>

static const char *usage = "matmul: give N, a multiple of the number of processes up to 32768, and STEPS";

/* Returns a number between -1 and 1 that only its place decides. */
static double entry(long i, long j, int seed)
{
    unsigned long x = (unsigned long)i * 0x9E3779B97F4A7C15u + (unsigned long)j * 0xBF58476D1CE4E5B9u + (unsigned long)seed;
    x = (x ^ (x >> 31)) * 0x94D049BB133111EBu;
    return (double)(x >> 11) / (1ul << 52) - 1;
}

/* Adds the product of the columns of A that belong to a strip of B. */
static void multiply(const double *a, const double *b, double *c, int n, int rows, int strip)
{
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < rows; k++) {
            double factor = a[(size_t)i * n + (size_t)strip * rows + k];
            for (int j = 0; j < n; j++) c[(size_t)i * n + j] += factor * b[(size_t)k * n + j];
        }
}

static void apply(const double *matrix, const double *x, double *y, int n, int rows)
{
    for (int i = 0; i < rows; i++) {
        y[i] = 0;
        for (int j = 0; j < n; j++) y[i] += matrix[(size_t)i * n + j] * x[j];
    }
}

int main(int count, char **words)
{
    begin(&count, &words);
    int n = argument(count, words, 1, usage), steps = argument(count, words, 2, usage), rows = n / size;
    if (n > 32768 || rows * size != n) refuse(usage);
    size_t cells = (size_t)rows * n;
    double *a = malloc(cells * sizeof *a), *b = malloc(cells * sizeof *b), *c = malloc(cells * sizeof *c);
    double *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y), *z = malloc(n * sizeof *z), *w = malloc(n * sizeof *w);
    double begun = MPI_Wtime(), off = 0;
    for (size_t k = 0; k < cells; k++) {
        a[k] = entry(rank * rows + (long)(k / n), (long)(k % n), 1);
        b[k] = entry(rank * rows + (long)(k / n), (long)(k % n), 2);
    }
    for (int step = 0; step < steps; step++) {
        memset(c, 0, cells * sizeof *c);
        for (int turn = 0; turn < size; turn++) { /* after `size` turns each strip is at home again */
            multiply(a, b, c, n, rows, (rank + turn) % size);
            MPI_Sendrecv_replace(b, (int)cells, MPI_DOUBLE, (rank + size - 1) % size, 0, (rank + 1) % size, 0,
                                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    for (int j = 0; j < n; j++) x[j] = entry(j, 0, 3);
    apply(b, x, w, n, rows);
    MPI_Allgather(w, rows, MPI_DOUBLE, y, rows, MPI_DOUBLE, MPI_COMM_WORLD);
    apply(a, y, z, n, rows);
    apply(c, x, w, n, rows);
    for (int i = 0; i < rows; i++) off = fmax(off, fabs(z[i] - w[i]) / n);
    off = largest(off);
    char what[99];
    snprintf(what, sizeof what, "matmul %d x %d, %d steps", n, n, steps);
    free(a), free(b), free(c), free(x), free(y), free(z), free(w);
    return finish(what, off < 1e-9, off, MPI_Wtime() - begun);
}

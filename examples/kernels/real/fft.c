/* Fourier transforms of a square, forth and back, by rows and an exchange of all with all: fft N STEPS
 *
 * The square is the sum of two waves, so that its transform has two cells that are not zero; both that and the
 * transform back are checked.
 */
#include "kernel.h"
#include <complex.h>
#include <math.h>
#include <string.h>

static const char *usage = "fft: give N, a power of two and at least the number of processes, and STEPS";

/* Transforms one row in place: sign -1 forth, 1 back (without the division by its length). */
static void transform(double complex *row, int n, int sign)
{
    for (int i = 1, j = 0; i < n; i++) {
        int bit = n >> 1;
        for (; j & bit; bit >>= 1) j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex other = row[i];
            row[i] = row[j];
            row[j] = other;
        }
    }
    for (int length = 2; length <= n; length *= 2) {
        double complex turn = cexp(sign * 2 * M_PI * I / length);
        for (int start = 0; start < n; start += length) {
            double complex factor = 1;
            for (int k = start; k < start + length / 2; k++, factor *= turn) {
                double complex even = row[k], odd = factor * row[k + length / 2];
                row[k] = even + odd;
                row[k + length / 2] = even - odd;
            }
        }
    }
}

/* Transposes the square: each process sends each other a square block of its rows. */
static void transpose(double complex *u, double complex *v, int n, int rows)
{
    for (int to = 0; to < size; to++)
        for (int i = 0; i < rows; i++)
            memcpy(v + ((size_t)to * rows + i) * rows, u + (size_t)i * n + to * rows, rows * sizeof *v);
    MPI_Alltoall(v, 2 * rows * rows, MPI_DOUBLE, u, 2 * rows * rows, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < rows; j++)
                v[(size_t)j * n + from * rows + i] = u[((size_t)from * rows + i) * rows + j];
    memcpy(u, v, (size_t)rows * n * sizeof *u);
}

static void both(double complex *u, double complex *v, int n, int rows, int sign)
{
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < rows; i++) transform(u + (size_t)i * n, n, sign);
        transpose(u, v, n, rows);
    }
}

static double complex wave(long i, long j, int n)
{
    return cexp(2 * M_PI * I * ((i + 2 * j) % n) / n) + 0.5 * cexp(-2 * M_PI * I * ((3 * i + j) % n) / n);
}

static double complex spectrum(int i, int j, int n)
{
    return (i == 1 % n && j == 2 % n) + 0.5 * (i == (4L * n - 3) % n && j == n - 1);
}

int main(int count, char **words)
{
    begin(&count, &words);
    int n = argument(count, words, 1, usage), steps = argument(count, words, 2, usage), rows = n / size;
    if (n & (n - 1) || n > 16384 || rows * size != n) refuse("fft: N is a power of two up to 16384, a multiple of the processes");
    size_t cells = (size_t)rows * n;
    double complex *u = malloc(cells * sizeof *u), *v = malloc(cells * sizeof *v);
    double begun = MPI_Wtime(), off = 0, area = (double)n * n;
    for (size_t c = 0; c < cells; c++) u[c] = wave(rank * rows + (long)(c / n), (long)(c % n), n);
    for (int step = 0; step < steps; step++) {
        both(u, v, n, rows, -1);
        for (size_t c = 0; c < cells; c++)
            off = fmax(off, cabs(u[c] / area - spectrum(rank * rows + (int)(c / n), (int)(c % n), n)));
        both(u, v, n, rows, 1);
        for (size_t c = 0; c < cells; c++) u[c] /= area;
    }
    for (size_t c = 0; c < cells; c++) off = fmax(off, cabs(u[c] - wave(rank * rows + (long)(c / n), (long)(c % n), n)));
    off = largest(off);
    char what[99];
    snprintf(what, sizeof what, "fft %d x %d, %d steps", n, n, steps);
    free(u);
    free(v);
    return finish(what, off < 1e-9, off, MPI_Wtime() - begun);
}

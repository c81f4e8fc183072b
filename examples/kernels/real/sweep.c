/* A wavefront through a box from each of its eight corners, as particle transport does: sweep NX NY NZ STEPS BLOCK
 *
 * Each cell needs the three before it. Processes hold columns of the box and hand on BLOCK planes at a time. The
 * sources are chosen so that a linear field is the exact solution, larger in each sweep: an old face is noticed.
 */
#include "kernel.h"
#include <math.h>

static const char *usage = "sweep: give NX NY NZ STEPS BLOCK, each at least 1";
static const double weight[3] = {1.5, 1.0, 0.5}, slope[3] = {0.5, 0.3, 0.2};

typedef struct {
    int first, count, before, after; /* cells of one direction, and the neighbours there */
} Range;

static Range range(int cells, int parts, int place, int before, int after)
{
    int first = (int)((long)cells * place / parts);
    return (Range){first, (int)((long)cells * (place + 1) / parts) - first, before, after};
}

/* Returns the exact field of size one; the box is one long in each direction. */
static double exact(int i, int j, int k, const int *cells)
{
    return 1 + slope[0] * i / cells[0] + slope[1] * j / cells[1] + slope[2] * k / cells[2];
}

/* Sweeps planes k0 to k1 (in the sweep's order) and returns how far they are from the exact field. The three faces
 * hold what flows into the next cell of each direction. */
static double planes(double *face[3], Range x, Range y, int k0, int k1, const int *cells, const int *sign, double level)
{
    double off = 0, source = 0, total = 1 + weight[0] + weight[1] + weight[2];
    for (int d = 0; d < 3; d++) source += weight[d] * sign[d] * slope[d] / cells[d];
    for (int s = k0; s < k1; s++)
        for (int t = 0; t < y.count; t++)
            for (int r = 0; r < x.count; r++) {
                int i = sign[0] > 0 ? r : x.count - 1 - r, j = sign[1] > 0 ? t : y.count - 1 - t;
                int k = sign[2] > 0 ? s : cells[2] - 1 - s;
                double right = exact(x.first + i, y.first + j, k, cells);
                double *a = &face[0][(s - k0) * y.count + j], *b = &face[1][(s - k0) * x.count + i];
                double *c = &face[2][j * x.count + i];
                double flow = level * (right + source) + weight[0] * *a + weight[1] * *b + weight[2] * *c;
                *a = *b = *c = flow / total;
                off = fmax(off, fabs(*a / level - right));
            }
    return off;
}

/* Fills the faces that lie on the border of the box. */
static void border(double *face[3], Range x, Range y, int k0, int k1, const int *cells, const int *sign, double level)
{
    int i0 = sign[0] > 0 ? -1 : cells[0], j0 = sign[1] > 0 ? -1 : cells[1], k = sign[2] > 0 ? -1 : cells[2];
    for (int s = k0; s < k1; s++) {
        int plane = sign[2] > 0 ? s : cells[2] - 1 - s;
        for (int j = 0; j < y.count && (sign[0] > 0 ? x.before : x.after) == MPI_PROC_NULL; j++)
            face[0][(s - k0) * y.count + j] = level * exact(i0, y.first + j, plane, cells);
        for (int i = 0; i < x.count && (sign[1] > 0 ? y.before : y.after) == MPI_PROC_NULL; i++)
            face[1][(s - k0) * x.count + i] = level * exact(x.first + i, j0, plane, cells);
    }
    for (int j = 0; j < y.count && k0 == 0; j++)
        for (int i = 0; i < x.count; i++)
            face[2][j * x.count + i] = level * exact(x.first + i, y.first + j, k, cells);
}

static double octant(double *face[3], Range x, Range y, int block, const int *cells, const int *sign, double level)
{
    int from[2] = {sign[0] > 0 ? x.before : x.after, sign[1] > 0 ? y.before : y.after};
    int to[2] = {sign[0] > 0 ? x.after : x.before, sign[1] > 0 ? y.after : y.before};
    double off = 0;
    for (int k0 = 0; k0 < cells[2]; k0 += block) {
        int k1 = k0 + block < cells[2] ? k0 + block : cells[2];
        int length[2] = {(k1 - k0) * y.count, (k1 - k0) * x.count};
        for (int d = 0; d < 2; d++)
            MPI_Recv(face[d], length[d], MPI_DOUBLE, from[d], d, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        border(face, x, y, k0, k1, cells, sign, level);
        off = fmax(off, planes(face, x, y, k0, k1, cells, sign, level));
        for (int d = 0; d < 2; d++) MPI_Send(face[d], length[d], MPI_DOUBLE, to[d], d, MPI_COMM_WORLD);
    }
    return off;
}

int main(int count, char **words)
{
    begin(&count, &words);
    int cells[3], parts[2] = {0, 0};
    for (int d = 0; d < 3; d++) cells[d] = argument(count, words, d + 1, usage);
    int steps = argument(count, words, 4, usage), block = argument(count, words, 5, usage);
    MPI_Dims_create(size, 2, parts);
    if (parts[0] > cells[0] || parts[1] > cells[1]) refuse("sweep: there are more processes than columns");
    int row = rank / parts[1], column = rank % parts[1], none = MPI_PROC_NULL;
    Range x = range(cells[0], parts[0], row, row ? rank - parts[1] : none,
                    row < parts[0] - 1 ? rank + parts[1] : none);
    Range y = range(cells[1], parts[1], column, column ? rank - 1 : none, column < parts[1] - 1 ? rank + 1 : none);
    if (block > cells[2]) block = cells[2];
    double *face[3] = {malloc((size_t)block * y.count * sizeof(double)), malloc((size_t)block * x.count * sizeof(double)),
                       malloc((size_t)x.count * y.count * sizeof(double))};
    double begun = MPI_Wtime(), off = 0;
    for (int step = 0; step < steps; step++)
        for (int corner = 0; corner < 8; corner++) {
            int sign[3] = {corner & 1 ? -1 : 1, corner & 2 ? -1 : 1, corner & 4 ? -1 : 1};
            off = fmax(off, octant(face, x, y, block, cells, sign, 1 + 8.0 * step + corner));
        }
    off = largest(off);
    char what[99];
    snprintf(what, sizeof what, "sweep %d x %d x %d, %d steps", cells[0], cells[1], cells[2], steps);
    for (int d = 0; d < 3; d++) free(face[d]);
    return finish(what, off < 1e-9, off, MPI_Wtime() - begun);
}

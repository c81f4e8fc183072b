/* Heat on a square, by Jacobi's iteration over strips of rows: heat NX NY STEPS CHECK
 *
 * It begins with an eigenvector of the iteration, so that each step multiplies all cells by a number that is known:
 * the result is checked against it. Every CHECK steps all processes agree on how much changed.
 */
#include "kernel.h"
#include <math.h>

static const char *usage = "heat: give NX NY STEPS CHECK, each at least 1";

static void exchange(double *u, int rows, int ny, int up, int down)
{
    MPI_Request requests[4];
    MPI_Irecv(u, ny, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(u + (rows + 1) * (size_t)ny, ny, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(u + ny, ny, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(u + rows * (size_t)ny, ny, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static double update(const double *u, double *v, int rows, int ny)
{
    double changed = 0;
    for (int i = 1; i <= rows; i++)
        for (int j = 0; j < ny; j++) {
            const double *cell = u + i * (size_t)ny + j;
            double left = j ? cell[-1] : 0, right = j < ny - 1 ? cell[1] : 0;
            double mean = 0.25 * (cell[-ny] + cell[ny] + left + right);
            changed = fmax(changed, fabs(mean - *cell));
            v[i * (size_t)ny + j] = mean;
        }
    return changed;
}

int main(int count, char **words)
{
    begin(&count, &words);
    int nx = argument(count, words, 1, usage), ny = argument(count, words, 2, usage);
    int steps = argument(count, words, 3, usage), check = argument(count, words, 4, usage);
    if (size > nx) refuse("heat: there are more processes than rows");
    int first = (int)((long)nx * rank / size), rows = (int)((long)nx * (rank + 1) / size) - first;
    int up = rank ? rank - 1 : MPI_PROC_NULL, down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    double *u = calloc((rows + 2) * (size_t)ny, sizeof *u), *v = calloc((rows + 2) * (size_t)ny, sizeof *v);
    double wide = M_PI / (nx + 1), high = M_PI / (ny + 1), factor = 0.5 * (cos(wide) + cos(high)), changed = 0;
    double begun = MPI_Wtime();
    for (int i = 1; i <= rows; i++)
        for (int j = 0; j < ny; j++) u[i * (size_t)ny + j] = sin(wide * (first + i)) * sin(high * (j + 1));
    for (int step = 1; step <= steps; step++) {
        exchange(u, rows, ny, up, down);
        double mine = update(u, v, rows, ny), *other = u;
        if (step % check == 0) MPI_Allreduce(&mine, &changed, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        u = v;
        v = other;
    }
    double off = 0, scale = pow(factor, steps);
    for (int i = 1; i <= rows; i++)
        for (int j = 0; j < ny; j++) {
            double exact = scale * sin(wide * (first + i)) * sin(high * (j + 1));
            off = fmax(off, fabs(u[i * (size_t)ny + j] - exact));
        }
    off = largest(off);
    char what[99];
    snprintf(what, sizeof what, "heat %d x %d, %d steps", nx, ny, steps);
    free(u);
    free(v);
    return finish(what, off < 1e-9, off, MPI_Wtime() - begun);
}

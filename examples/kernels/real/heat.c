/* Heat on a square, by Jacobi's iteration over strips of rows: heat NX NY STEPS CHECK
 *
 * It begins with an eigenvector of the iteration, so that each step multiplies all cells by a number that is known:
 * the result is checked against it. Every CHECK steps all processes agree on how much changed.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int argument(int count, char **words, int place)
{
    char *end;
    long value = place < count ? strtol(words[place], &end, 10) : 0;
    if (place >= count || *end || value < 1 || value > 1000000) {
        fprintf(stderr, "heat: give NX NY STEPS CHECK, each 1 to 1000000\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return (int)value;
}

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
    int rank, size;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int nx = argument(count, words, 1), ny = argument(count, words, 2);
    int steps = argument(count, words, 3), check = argument(count, words, 4);
    int first = (int)((long)nx * rank / size), rows = (int)((long)nx * (rank + 1) / size) - first;
    int up = rank ? rank - 1 : MPI_PROC_NULL, down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    double *u = calloc((rows + 2) * (size_t)ny, sizeof *u), *v = calloc((rows + 2) * (size_t)ny, sizeof *v);
    double wide = M_PI / (nx + 1), high = M_PI / (ny + 1), factor = 0.5 * (cos(wide) + cos(high)), changed = 0;
    double begun = MPI_Wtime();
    if (rows < 1) fprintf(stderr, "heat: there are more processes than rows\n"), MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 1; i <= rows; i++)
        for (int j = 0; j < ny; j++) u[i * (size_t)ny + j] = sin(wide * (first + i)) * sin(high * (j + 1));
    for (int step = 1; step <= steps; step++) {
        exchange(u, rows, ny, up, down);
        double mine = update(u, v, rows, ny), *other = u;
        if (step % check == 0) MPI_Allreduce(&mine, &changed, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        u = v;
        v = other;
    }
    double off = 0, worst = 0, scale = pow(factor, steps);
    for (int i = 1; i <= rows; i++)
        for (int j = 0; j < ny; j++) {
            double exact = scale * sin(wide * (first + i)) * sin(high * (j + 1));
            off = fmax(off, fabs(u[i * (size_t)ny + j] - exact));
        }
    MPI_Allreduce(&off, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    int right = worst < 1e-9;
    if (!rank)
        printf("heat %d x %d, %d steps on %d: %s, off by %.1e, %.6f s\n", nx, ny, steps, size, right ? "right" : "WRONG",
               worst, MPI_Wtime() - begun);
    free(u);
    free(v);
    MPI_Finalize();
    return !right;
}

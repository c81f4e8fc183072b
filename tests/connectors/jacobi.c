#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* jacobi N STEPS: Laplace's equation on N x N cells, a strip of rows for each process. */
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, n = atoi(argv[1]), steps = atoi(argv[2]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int first = rank * n / size, rows = (rank + 1) * n / size - first, width = n + 2;
    int up = rank ? rank - 1 : MPI_PROC_NULL, down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    double *old = calloc((rows + 2) * width, sizeof *old), *new = calloc((rows + 2) * width, sizeof *new);
    if (!rank)
        for (int j = 0; j < width; j++) old[j] = new[j] = 1;
    double change = 0, all = 0;
    for (int step = 0; step < steps; step++) {
        MPI_Sendrecv(old + width, width, MPI_DOUBLE, up, 0, old + (rows + 1) * width, width, MPI_DOUBLE, down, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(old + rows * width, width, MPI_DOUBLE, down, 1, old, width, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        change = 0;
        for (int i = 1; i <= rows; i++)
            for (int j = 1; j <= n; j++) {
                int at = i * width + j;
                new[at] = 0.25 * (old[at - 1] + old[at + 1] + old[at - width] + old[at + width]);
                change = fmax(change, fabs(new[at] - old[at]));
            }
        double *kept = old;
        old = new, new = kept;
        MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    if (!rank) printf("%d x %d, %d steps on %d: changes by %.3e\n", n, n, steps, size, all);
    MPI_Finalize();
    return 0;
}

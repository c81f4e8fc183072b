/* What the MPI programs of this folder share: arguments, read alike by all processes, and the line with the result. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size; /* of this process, and of all processes */

static void refuse(const char *why)
{
    if (!rank) fprintf(stderr, "%s\n", why);
    MPI_Finalize();
    exit(2);
}

static void begin(int *count, char ***words)
{
    MPI_Init(count, words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* Reads the whole number at a place of the command, or ends the program with the line that says how it is used. */
static int argument(int count, char **words, int place, const char *usage)
{
    char *end = "";
    long value = place < count ? strtol(words[place], &end, 10) : 0;
    if (*end || value < 1 || value > 1000000000) refuse(usage);
    return (int)value;
}

/* Returns the largest of all processes' values. */
static double largest(double mine)
{
    double all = 0;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return all;
}

/* Prints the result and the seconds, and returns the program's exit code. */
static int finish(const char *what, int right, double off, double seconds)
{
    if (!rank)
        printf("%s on %d: %s, off by %.1e, %.6f s\n", what, size, right ? "right" : "WRONG", off, seconds);
    MPI_Finalize();
    return !right;
}

/* Keys in order by samples: each process gets one range of values, sorts it, and knows its neighbours': sort KEYS STEPS
 *
 * KEYS is the number of all keys. The check: in order within and between processes, none lost, the same sum.
 */
#include "kernel.h"
#include <stdint.h>
#include <string.h>

enum { SAMPLES = 32 }; /* of each process */
static const char *usage = "sort: give KEYS, at least 32 a process, and STEPS";

static uint64_t key(uint64_t place)
{
    uint64_t x = (place + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static int compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Returns the keys of this process's range, sorted, in new memory. */
static uint64_t *exchange(uint64_t *keys, int own, int *got)
{
    int *sent = calloc(4 * size, sizeof *sent), *from = sent + size, *taken = from + size, *to = taken + size;
    uint64_t mine[SAMPLES], *all = malloc((size_t)SAMPLES * size * sizeof *all);
    qsort(keys, own, sizeof *keys, compare);
    for (int s = 0; s < SAMPLES; s++) mine[s] = keys[(long)own * s / SAMPLES];
    MPI_Allgather(mine, SAMPLES, MPI_UINT64_T, all, SAMPLES, MPI_UINT64_T, MPI_COMM_WORLD);
    qsort(all, (size_t)SAMPLES * size, sizeof *all, compare);
    for (int k = 0, part = 0; k < own; k++) {
        while (part < size - 1 && keys[k] >= all[(part + 1) * SAMPLES]) part++;
        sent[part]++;
    }
    MPI_Alltoall(sent, 1, MPI_INT, taken, 1, MPI_INT, MPI_COMM_WORLD);
    *got = taken[0];
    for (int part = 1; part < size; part++) {
        from[part] = from[part - 1] + sent[part - 1];
        to[part] = to[part - 1] + taken[part - 1];
        *got += taken[part];
    }
    uint64_t *result = malloc((*got + 1) * sizeof *result);
    MPI_Alltoallv(keys, sent, from, MPI_UINT64_T, result, taken, to, MPI_UINT64_T, MPI_COMM_WORLD);
    qsort(result, *got, sizeof *result, compare);
    free(sent);
    free(all);
    return result;
}

/* Returns how many neighbours are out of order, here and at the border to the process before. */
static int disorder(const uint64_t *keys, int count)
{
    int wrong = 0;
    uint64_t highest = count ? keys[count - 1] : 0, before = 0; /* the highest key of all processes before this one */
    for (int k = 1; k < count; k++) wrong += keys[k - 1] > keys[k];
    MPI_Exscan(&highest, &before, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return wrong + (rank && count && before > keys[0]);
}

int main(int count, char **words)
{
    begin(&count, &words);
    int total = argument(count, words, 1, usage), steps = argument(count, words, 2, usage);
    if (total / size < SAMPLES) refuse(usage);
    int first = (int)((long)total * rank / size), own = (int)((long)total * (rank + 1) / size) - first;
    uint64_t *keys = malloc(own * sizeof *keys), sums[3], all[3];
    double begun = MPI_Wtime(), off = 0;
    for (int step = 0; step < steps; step++) {
        int got;
        memset(sums, 0, sizeof sums); /* before, after, and how many after */
        for (int k = 0; k < own; k++) sums[0] += keys[k] = key((uint64_t)step * total + first + k);
        uint64_t *sorted = exchange(keys, own, &got);
        for (int k = 0; k < got; k++) sums[1] += sorted[k];
        sums[2] = got;
        off += disorder(sorted, got);
        MPI_Allreduce(sums, all, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        off += all[0] != all[1] || all[2] != (uint64_t)total;
        free(sorted);
    }
    off = largest(off);
    char what[99];
    snprintf(what, sizeof what, "sort %d keys, %d steps", total, steps);
    free(keys);
    return finish(what, off == 0, off, MPI_Wtime() - begun);
}

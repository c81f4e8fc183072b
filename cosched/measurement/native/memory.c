/* Times copies of doubles within working sets of growing size.

   memory ROUNDS NANOSECONDS SEED BYTES…

   Prints a line for each sample: bytes of the working set (source and destination together), bytes read and written in
   a microsecond. A round times all sizes in an order of its own. */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static double copied(double *to, double *from, long doubles, long times)
{
    double begin = now();
    for (long k = 0; k < times; k++) {
        memcpy(to, from, doubles * sizeof *to);
        __asm__ volatile("" : : "r"(to), "r"(from) : "memory");
    }
    return now() - begin;
}

int main(int count, char **words)
{
    int sizes = count - 4;
    if (sizes < 1)
        return 2;
    long rounds = atol(words[1]), largest = 0, bytes[sizes];
    double least = atof(words[2]);
    int order[sizes];
    srand(atoi(words[3]));
    for (int k = 0; k < sizes; k++) {
        order[k] = k;
        bytes[k] = atol(words[k + 4]);
        largest = bytes[k] > largest ? bytes[k] : largest;
    }
    double *from, *to;
    if (posix_memalign((void **)&from, 4096, largest / 2 + 4096) || posix_memalign((void **)&to, 4096, largest / 2 + 4096))
        return 3;
    memset(from, 1, largest / 2 + 4096);
    memset(to, 1, largest / 2 + 4096);
    for (long round = 0; round < rounds; round++) {
        for (int k = sizes - 1; k > 0; k--) {
            int other = rand() % (k + 1), kept = order[k];
            order[k] = order[other];
            order[other] = kept;
        }
        for (int k = 0; k < sizes; k++) {
            long doubles = bytes[order[k]] / 2 / sizeof(double), times = 1;
            double took = copied(to, from, doubles, 1); /* brings it near, too */
            while (took * 2 < least && times < 1 << 24) {
                times *= 2;
                took = copied(to, from, doubles, times);
            }
            took = copied(to, from, doubles, times);
            printf("%ld %.6g\n", bytes[order[k]], 2.0 * doubles * sizeof(double) * times / (took / 1000));
        }
        fflush(stdout);
    }
    return 0;
}

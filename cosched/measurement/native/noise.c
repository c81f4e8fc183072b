/* Times equal phases of work on all processors at once.

   noise PHASES NANOSECONDS

   Prints "deviation X", half of the width of the middle 68 % of all phases as a part of the median one (the standard
   deviation, but for those that were interrupted by other programs), and "slowest X", the median time of the slowest
   processor as a part of it. */

#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

static int ascending(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double phase(long turns)
{
    double begin = now(), x = 1;
    for (long k = 0; k < turns; k++) {
        x = x * 1.0000001 + 1e-9;
        __asm__ volatile("" : "+x"(x));
    }
    return now() - begin;
}

int main(int count, char **words)
{
    if (count != 3)
        return 2;
    long phases = atol(words[1]), turns = 1000;
    double least = atof(words[2]);
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all))
        return 3;
    int processors = CPU_COUNT(&all), number = 0;
    double *took = mmap(0, phases * processors * sizeof *took + sizeof(int), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (took == MAP_FAILED)
        return 3;
    int *ready = (int *)(took + phases * processors);
    while (phase(turns) < least && turns < 1L << 40)
        turns *= 2;
    double fastest = phase(turns);
    for (int k = 0; k < 20; k++) {
        double again = phase(turns);
        fastest = again < fastest ? again : fastest;
    }
    turns = turns * (least / fastest) + 1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &all))
            continue;
        pid_t child = fork();
        if (child < 0)
            return 3;
        if (child == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
            __atomic_add_fetch(ready, 1, __ATOMIC_SEQ_CST);
            for (double end = now() + 1e9; __atomic_load_n(ready, __ATOMIC_SEQ_CST) < processors && now() < end;)
                ;
            for (long k = 0; k < phases; k++)
                took[number * phases + k] = phase(turns);
            _exit(0);
        }
        number++;
    }
    while (wait(0) > 0)
        ;
    double *each = malloc(phases * processors * sizeof *each), *slowest = malloc(phases * sizeof *slowest);
    long all_phases = phases * processors;
    for (long k = 0; k < phases; k++) {
        slowest[k] = 0;
        for (int p = 0; p < processors; p++) {
            double one = each[p * phases + k] = took[p * phases + k];
            slowest[k] = one > slowest[k] ? one : slowest[k];
        }
    }
    qsort(each, all_phases, sizeof *each, ascending);
    qsort(slowest, phases, sizeof *slowest, ascending);
    double median = each[all_phases / 2], wide = each[all_phases * 84 / 100] - each[all_phases * 16 / 100];
    printf("deviation %.6g\n", wide / 2 / median + 1e-6);
    printf("slowest %.6g\n", slowest[phases / 2] / median);
    return 0;
}

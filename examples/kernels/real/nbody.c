/* Bodies that attract each other, on the threads of one host (OMP_NUM_THREADS): nbody BODIES STEPS
 *
 * They begin at rest. Checked: they move, energy is kept to a percent, momentum to rounding.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    double place[3], speed[3], pull[3];
} Body;

static const double SOFTNESS = 0.05, STEP = 1e-3;

static int argument(int count, char **words, int place, int least)
{
    char *end = "";
    long value = place < count ? strtol(words[place], &end, 10) : 0;
    if (*end || value < least || value > 1000000) {
        fprintf(stderr, "nbody: give BODIES, 2 to 1000000, and STEPS, 1 to 1000000\n");
        exit(2);
    }
    return (int)value;
}

/* Sets what pulls each body, and returns the energy of place; the bodies weigh one together. */
static double attract(Body *bodies, int n)
{
    double energy = 0;
#pragma omp parallel for reduction(+ : energy) schedule(static)
    for (int i = 0; i < n; i++) {
        double pull[3] = {0, 0, 0};
        for (int j = 0; j < n; j++) {
            double way[3], square = SOFTNESS * SOFTNESS;
            for (int d = 0; d < 3; d++) {
                way[d] = bodies[j].place[d] - bodies[i].place[d];
                square += way[d] * way[d];
            }
            double inverse = 1 / sqrt(square), weight = inverse * inverse * inverse / n;
            for (int d = 0; d < 3; d++) pull[d] += weight * way[d];
            if (j != i) energy -= 0.5 * inverse / n / n;
        }
        for (int d = 0; d < 3; d++) bodies[i].pull[d] = pull[d];
    }
    return energy;
}

static void push(Body *bodies, int n, double seconds)
{
    for (int i = 0; i < n; i++)
        for (int d = 0; d < 3; d++) bodies[i].speed[d] += seconds * bodies[i].pull[d];
}

int main(int count, char **words)
{
    int n = argument(count, words, 1, 2), steps = argument(count, words, 2, 1);
    Body *bodies = calloc(n, sizeof *bodies);
    double begun = omp_get_wtime(), motion = 0, momentum = 0;
    srand(1);
    for (int i = 0; i < n; i++)
        for (int d = 0; d < 3; d++) bodies[i].place[d] = rand() / (double)RAND_MAX;
    double first = attract(bodies, n), last = first;
    for (int step = 0; step < steps; step++) {
        push(bodies, n, STEP / 2);
        for (int i = 0; i < n; i++)
            for (int d = 0; d < 3; d++) bodies[i].place[d] += STEP * bodies[i].speed[d];
        last = attract(bodies, n);
        push(bodies, n, STEP / 2);
    }
    for (int d = 0; d < 3; d++) {
        double sum = 0;
        for (int i = 0; i < n; i++) {
            sum += bodies[i].speed[d] / n;
            motion += 0.5 * bodies[i].speed[d] * bodies[i].speed[d] / n;
        }
        momentum = fmax(momentum, fabs(sum));
    }
    double off = fabs((last + motion - first) / first);
    int right = motion > 0 && off < 0.01 && momentum < 1e-9;
    printf("nbody %d bodies, %d steps on %d: %s, off by %.1e, %.6f s\n", n, steps, omp_get_max_threads(),
           right ? "right" : "WRONG", off, omp_get_wtime() - begun);
    free(bodies);
    return !right;
}

/* How long steps take, and whether memory grows with them. */
#include "fmu_host.h"
#include <time.h>

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long resident(void)
{
    long all = 0, here = 0;
    FILE* f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%ld %ld", &all, &here) != 2) here = 0;
    fclose(f);
    return here * 4;
}

static int ascending(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

void bench(long steps)
{
    double* took = malloc((size_t)steps * sizeof *took);
    void* c = start("bench");
    for (long n = 0; n < steps; ++n) took[n] = 0; /* have the pages before memory is measured */
    run(c, 0, 1000);
    const long before = resident();
    const double begin = seconds();
    for (long n = 0; n < steps; ++n) {
        const double t = seconds();
        if (fmi.step(c, (double)(n + 1000) * H, H, 1) != 0) fail("a step failed");
        took[n] = seconds() - t;
    }
    const double total = seconds() - begin;
    const long after = resident();
    qsort(took, (size_t)steps, sizeof *took, ascending);
    printf("steps %ld\nmean_us %.4f\nmedian_us %.4f\np99_us %.4f\np999_us %.4f\nworst_us %.4f\n", steps, 1e6 * total / (double)steps,
           1e6 * took[steps / 2], 1e6 * took[(long)(0.99 * (double)steps)], 1e6 * took[(long)(0.999 * (double)steps)], 1e6 * took[steps - 1]);
    printf("real_time_factor %.1f\nmemory_before_kb %ld\nmemory_after_kb %ld\n", (double)steps * H / total, before, after);
    free(took);
    fmi.release(c);
}

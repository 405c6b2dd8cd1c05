/* How fast may it run here: plain and worst step, the machine's own latency, and what follows for the rate. */
#include "loop.h"
#include <math.h>
#include <stdio.h>

#define STEPS 2000
#define TURNS 5 /* the best of which counts */

static int ready(rt_loop* l, size_t start, double speed)
{
    cutjoint_reset(l->mechanism);
    if (start < cutjoint_count(CUTJOINT_START) && cutjoint_set(l->mechanism, CUTJOINT_START, start, speed)) return 0;
    return cutjoint_begin(l->mechanism) == 0;
}

/* The time of one sub-step: motions are made faster until steps need them. */
static double each_try(rt_loop* l, double plain, double* tried)
{
    static const double fast[] = FAST_MOTIONS;
    const size_t n = cutjoint_count(CUTJOINT_START);
    *tried = 0;
    for (size_t f = 0; f < sizeof fast / sizeof *fast; ++f)
        for (size_t k = 0; k < n; ++k) {
            if (!strstr(cutjoint_items(CUTJOINT_START)[k].name, ".speed")) continue;
            double best = INFINITY;
            for (int turn = 0; turn < TURNS && ready(l, k, fast[f] / l->h); ++turn) {
                const uint64_t before = rt_now();
                if (cutjoint_step(l->mechanism, l->h) || cutjoint_tries(l->mechanism) < 1) break;
                best = fmin(best, (double)(rt_now() - before));
                *tried = cutjoint_tries(l->mechanism);
            }
            if (isfinite(best)) return best > plain ? (best - plain) / *tried : plain;
        }
    return plain;
}

int rt_measure(rt_loop* l)
{
    const int tries = cutjoint_most_tries();
    double tried, plain, each;
    cutjoint_say silent = NULL;
    cutjoint_mechanism* quiet = cutjoint_new(silent, NULL); /* motions that are refused are not told */
    if (!quiet) return rt_fail("not enough memory");
    cutjoint_free(l->mechanism);
    l->mechanism = quiet;
    if (!ready(l, (size_t)-1, 0)) return rt_fail("the mechanism can't be assembled");
    for (int k = 0; k < STEPS; ++k) {
        const uint64_t before = rt_now();
        if (cutjoint_step(quiet, l->h)) ready(l, (size_t)-1, 0);
        cutjoint_joints(quiet);
        cutjoint_outputs(quiet);
        if (k && cutjoint_tries(quiet) == 0) rt_add(&l->took, rt_now() - before);
    }
    plain = (double)rt_quantile(&l->took, .99);
    each = each_try(l, (double)rt_quantile(&l->took, .5), &tried);
    const uint64_t period = (uint64_t)((double)NS / l->options.rate);
    const uint64_t wakes = (uint64_t)((l->options.seconds > 0 ? l->options.seconds : 5) * l->options.rate);
    rt_pace_start(&l->pace, period);
    for (uint64_t k = 0; k < wakes; ++k) {
        rt_sleep_until(l->pace.next, (uint64_t)(l->options.spin * 1000));
        const uint64_t now = rt_now();
        rt_add(&l->late, now > l->pace.next ? now - l->pace.next : 0);
        rt_pace_tick(&l->pace, now);
    }
    const double wake = (double)rt_quantile(&l->late, .999), most = plain + each * tries;
    const double safe = rt_highest_rate(wake + most), usual = rt_highest_rate(wake + plain);
    if (l->options.json)
        printf("{\"mechanism\": \"%s\", \"step_us\": {\"p50\": %.3f, \"p99\": %.3f}, \"worst_step_us\": %.3f, \"sub_step_us\": %.3f, \"sub_steps\": %d, "
               "\"latency_us\": {\"p50\": %.3f, \"p99\": %.3f, \"p99.9\": %.3f, \"max\": %.3f}, \"recommended_hz\": %.0f, \"plain_hz\": %.0f}\n",
               cutjoint_name(), (double)rt_quantile(&l->took, .5) / 1000, plain / 1000, most / 1000, each / 1000, tries, (double)rt_quantile(&l->late, .5) / 1000,
               (double)rt_quantile(&l->late, .99) / 1000, wake / 1000, (double)l->late.longest / 1000, safe, usual);
    else {
        printf("a step with its outputs: %.1f us, 99 of 100 under %.1f us\n", (double)rt_quantile(&l->took, .5) / 1000, plain / 1000);
        printf("the worst step: %.0f us, if all %d sub-steps of %.1f us are taken (build with fewer: --substeps)\n", most / 1000, tries, each / 1000);
        printf("this machine wakes up late by %.1f us, p99 %.1f, p99.9 %.1f, longest %.1f us (%llu times, nothing else done)\n",
               (double)rt_quantile(&l->late, .5) / 1000, (double)rt_quantile(&l->late, .99) / 1000, wake / 1000, (double)l->late.longest / 1000, (unsigned long long)wakes);
        printf("highest rate recommended: %.0f Hz, where the worst step still fits; %.0f Hz if plain steps suffice\n", safe, usual);
    }
    cutjoint_free(quiet);
    l->mechanism = NULL;
    return 0;
}

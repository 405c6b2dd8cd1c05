/* The monotonic clock, sleeping until a time, and the pace: `Pace` of ros/rate.py on whole nanoseconds. */
#include "loop.h"
#include <math.h>
#include <time.h>

static uint64_t ns(const struct timespec* t) { return (uint64_t)t->tv_sec * NS + (uint64_t)t->tv_nsec; }

uint64_t rt_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return ns(&t);
}

double rt_cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)ns(&t) / (double)NS;
}

/* To `when`; the last `spin` nanoseconds awake. */
void rt_sleep_until(uint64_t when, uint64_t spin)
{
    const uint64_t early = when > spin ? when - spin : 0;
    const struct timespec t = {(time_t)(early / NS), (long)(early % NS)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL); /* a signal ends it: the stop flag is looked at */
    if (spin)
        while (rt_now() < when) {}
}

void rt_pace_start(rt_pace* p, uint64_t period)
{
    *p = (rt_pace){.period = period};
    p->next = rt_now() + period;
}

int rt_pace_tick(rt_pace* p, uint64_t now)
{
    const uint64_t missed = now > p->next ? (now - p->next) / p->period : 0;
    if (missed) {
        ++p->overruns;
        p->owed += missed;
        if ((double)(p->owed * p->period) > FORGIVEN * (double)NS) {
            p->dropped += p->owed;
            p->owed = 0;
        }
    }
    p->next += (missed + 1) * p->period;
    ++p->since;
    if (!p->owed || p->since < REPAY) return 1;
    p->since = 0;
    --p->owed;
    return 2;
}

/* The rate whose period has room for what takes that many nanoseconds, to two digits: what is measured a little longer
 * makes it a little lower. */
double rt_highest_rate(double busy)
{
    const double most = BUSY * (double)NS / busy, power = pow(10, floor(log10(most)) - 1);
    return power * floor(most / power);
}

/* Torques and forces from outside: limits, range, watchdog, as ros/motor_commands.py has them. */
#include "loop.h"
#include <math.h>

/* The range is looked at once more for links without packets. */
int rt_drive_accept(rt_drive* d, const double* values, uint64_t now)
{
    int cut = 0;
    for (size_t k = 0; k < d->n; ++k)
        if (!(fabs(values[k]) <= d->ranges[k])) { /* NaN too */
            ++d->refused;
            return 0;
        }
    for (size_t k = 0; k < d->n; ++k) {
        const double low = d->inputs[k].low, high = d->inputs[k].high;
        d->latest[k] = values[k] < low ? low : values[k] > high ? high : values[k];
        cut |= d->latest[k] != values[k];
    }
    d->saturated += (uint64_t)cut;
    ++d->commands;
    d->heard = now;
    d->silent = 0;
    d->fresh = 1;
    return 1;
}

const double* rt_drive_present(rt_drive* d, uint64_t now, int lock_step)
{
    if (!lock_step && !d->silent && d->timeout && now - d->heard > d->timeout) {
        d->silent = 1; /* until the next command */
        ++d->expired;
        if (!d->hold) memset(d->latest, 0, d->n * sizeof *d->latest);
    }
    return d->latest;
}

/* Commands from outside, and what is left of them: the law itself is behind native.h. */
#include "loop.h"

/* Stops last until they are resumed; beside one, values are not looked at. 1 if the values are to be obeyed. */
static int take_flags(rt_drive* d, uint64_t flags)
{
    const uint64_t stop = flags & CUTJOINT_BRAKE ? CUTJOINT_BRAKED : flags & CUTJOINT_STOP ? CUTJOINT_STOPPED : 0;
    if (flags & (CUTJOINT_RESUME | CUTJOINT_RESET)) d->stopped = 0;
    if (stop && stop != d->stopped) {
        d->stopped = stop;
        d->halted = 0; /* where it is then */
        ++d->stops;
    }
    if (flags & CUTJOINT_RESET) d->reset = 1;
    return !stop;
}

int rt_drive_accept(rt_drive* d, uint64_t flags, const double* values, uint64_t now)
{
    int cut = 0;
    if (flags & ~(uint64_t)CUTJOINT_ORDERS) {
        ++d->refused;
        return 0;
    }
    if (take_flags(d, flags)) {
        memcpy(d->next, d->order, 2 * d->n * sizeof *d->order); /* what is not told stays, and does not go on */
        memset(d->next + 2 * d->n, 0, 2 * d->n * sizeof *d->order);
        if (flags & CUTJOINT_MOTION) cutjoint_order_of_fields(d->mechanism, values, d->next);
        else cutjoint_order_of_values(d->mechanism, values, d->next);
        if (cutjoint_check_order(d->mechanism, d->next, d->ranges, &cut)) {
            ++d->refused;
            return d->reset;
        }
        memcpy(d->order, d->next, 4 * d->n * sizeof *d->order);
        d->follows = (flags & CUTJOINT_MOTION) != 0;
    }
    d->saturated += (uint64_t)cut;
    ++d->commands;
    d->heard = now;
    d->silent = 0;
    return 1;
}

const double* rt_drive_present(rt_drive* d, uint64_t now, int lock_step)
{
    const double age = (double)(now - d->heard) / (double)NS;
    if (!lock_step && !d->silent && cutjoint_relax_order(d->mechanism, age, d->timeout, d->hold, d->order)) {
        d->silent = 1; /* until the next command */
        ++d->expired;
    }
    if (d->stopped && !d->halted) cutjoint_stop_order(d->mechanism, d->stopped == CUTJOINT_BRAKED, d->halt);
    d->halted = d->stopped != 0;
    if (d->stopped || d->follows) cutjoint_follow_order(d->mechanism, d->stopped ? d->halt : d->order, d->frequency, d->latest);
    else cutjoint_give_inputs(d->mechanism, d->order, d->latest);
    return d->latest;
}

uint64_t rt_drive_flags(const rt_drive* d) { return d->stopped | (d->silent && d->commands ? CUTJOINT_SILENT : 0); }

/* What the calls of FMI 2.0 and 3.0 have in common: when each may be made, and what it does then.
 *
 * `function` is the caller's name, for messages. An instance of either version begins with its core, so the
 * pointer that a host holds is a core's; none at all is an error.
 */
#include "core.h"
#include <math.h>

#define PHASES(...) (const cj_phase[]){__VA_ARGS__}, sizeof((const cj_phase[]){__VA_ARGS__}) / sizeof(cj_phase)
#define RUNNING CJ_EVENT, CJ_CONTINUOUS, CJ_STEPPING

/* Whether a function may be called now; says in which state the FMU is if not. */
static int may(cj_instance* s, const char* function, const cj_phase* phases, size_t n)
{
    if (!s) return 0;
    for (size_t k = 0; k < n; ++k)
        if (s->now.phase == (int)phases[k]) return 1;
    static const char* const names[] = {"instantiated", "in initialization mode", "in event mode",
                                        "in continuous-time mode", "in step mode", "terminated"};
    cj_refuse(s, "%s can't be called while the FMU is %s", function, names[s->now.phase]);
    return 0;
}

static int made_for(cj_instance* s, const char* function, int exchange)
{
    if (!s) return 0;
    if (s->exchange == exchange) return 1;
    cj_refuse(s, "%s was called, but this instance was made for %s", function, exchange ? "co-simulation" : "model exchange");
    return 0;
}

int cj_right_count(cj_instance* s, size_t given, size_t wanted, const char* what)
{
    if (given == wanted) return 1;
    cj_refuse(s, "there are %u %s, not %u", (unsigned)wanted, what, (unsigned)given);
    return 0;
}

cj_status cj_absent(cj_instance* s, const char* what) { return cj_refuse(s, "this FMU does not offer %s", what); }

/* -- life ---------------------------------------------------------------------------------------- */

cj_status cj_set_logging(cj_instance* s, int on)
{
    if (!s) return CJ_ERROR;
    s->logging = on; /* there is little to say: all categories or none */
    return CJ_OK;
}

cj_status cj_set_start(cj_instance* s, const char* function, double start)
{
    if (!may(s, function, PHASES(CJ_CREATED))) return CJ_ERROR;
    if (!isfinite(start)) return cj_refuse(s, "the start time must be finite");
    s->now.time = start;
    return CJ_OK;
}

cj_status cj_enter_initialization(cj_instance* s, const char* function)
{
    if (!may(s, function, PHASES(CJ_CREATED))) return CJ_ERROR;
    s->now.phase = CJ_INITIALIZING;
    return CJ_OK;
}

cj_status cj_exit_initialization(cj_instance* s, const char* function)
{
    if (!may(s, function, PHASES(CJ_INITIALIZING))) return CJ_ERROR;
    double room;
    cj_status status = cj_assemble(s);
    if (status == CJ_OK && s->exchange) status = cj_new_chart(s);
    if (status == CJ_OK && s->exchange) status = cj_watch(s, 1, &room);
    if (status == CJ_OK) s->now.phase = s->exchange ? CJ_EVENT : CJ_STEPPING;
    return status;
}

cj_status cj_terminate(cj_instance* s, const char* function)
{
    if (!may(s, function, PHASES(RUNNING))) return CJ_ERROR;
    s->now.phase = CJ_TERMINATED;
    return CJ_OK;
}

cj_status cj_start_again(cj_instance* s)
{
    if (!s) return CJ_ERROR;
    cj_reset(s);
    return CJ_OK;
}

/* -- values, derivatives, steps --------------------------------------------------------------------- */

cj_status cj_get_values(cj_instance* s, const unsigned* slots, size_t n, double* values)
{
    cj_status worst = CJ_OK;
    if (!s) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) {
        const cj_status status = cj_get(s, slots[k], values + k);
        if (status > worst) worst = status;
    }
    return worst;
}

cj_status cj_set_values(cj_instance* s, const char* function, const unsigned* slots, size_t n, const double* values)
{
    if (!may(s, function, PHASES(CJ_CREATED, CJ_INITIALIZING, RUNNING))) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) /* all or nothing */
        if (cj_check(s, slots[k], values[k]) != CJ_OK) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) cj_put(s, slots[k], values[k]);
    return CJ_OK;
}

int cj_may_differentiate(cj_instance* s, const char* function)
{
    return may(s, function, PHASES(CJ_INITIALIZING, RUNNING, CJ_TERMINATED));
}

cj_status cj_step_once(cj_instance* s, const char* function, double time, double length)
{
    if (!made_for(s, function, 0) || !may(s, function, PHASES(CJ_STEPPING))) return CJ_ERROR;
    return cj_do_step(s, time, length);
}

/* -- model exchange ------------------------------------------------------------------------------------ */

static int counted(cj_instance* s, const char* function, size_t n)
{
    return made_for(s, function, 1) && cj_right_count(s, n, 2 * NF, "continuous states");
}

cj_status cj_enter_events(cj_instance* s, const char* function)
{
    if (!made_for(s, function, 1) || !may(s, function, PHASES(CJ_EVENT, CJ_CONTINUOUS))) return CJ_ERROR;
    s->now.phase = CJ_EVENT;
    return CJ_OK;
}

cj_status cj_handle_events(cj_instance* s, const char* function, int* changed)
{
    *changed = 0;
    if (!made_for(s, function, 1) || !may(s, function, PHASES(CJ_EVENT))) return CJ_ERROR;
    return cj_event(s, changed);
}

cj_status cj_enter_continuous(cj_instance* s, const char* function)
{
    if (!made_for(s, function, 1) || !may(s, function, PHASES(CJ_EVENT))) return CJ_ERROR;
    s->now.phase = CJ_CONTINUOUS;
    return CJ_OK;
}

cj_status cj_completed(cj_instance* s, const char* function, int* event)
{
    double room = 0;
    *event = 0;
    if (!made_for(s, function, 1) || !may(s, function, PHASES(CJ_CONTINUOUS))) return CJ_ERROR;
    const cj_status status = cj_watch(s, 0, &room);
    *event = room < 0;
    return status;
}

cj_status cj_set_time(cj_instance* s, const char* function, double time)
{
    if (!made_for(s, function, 1) || !may(s, function, PHASES(CJ_EVENT, CJ_CONTINUOUS))) return CJ_ERROR;
    if (!isfinite(time)) return cj_refuse(s, "the time must be finite");
    s->now.time = time;
    return CJ_OK;
}

cj_status cj_take_states(cj_instance* s, const char* function, const double* x, size_t n)
{
    if (!counted(s, function, n) || !may(s, function, PHASES(CJ_EVENT, CJ_CONTINUOUS))) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k)
        if (!isfinite(x[k])) return cj_refuse(s, "state %u was given %g; the states stay as they were", (unsigned)k + 1, x[k]);
    cj_set_states(s, x);
    return CJ_OK;
}

cj_status cj_give_states(cj_instance* s, const char* function, double* x, size_t n)
{
    return counted(s, function, n) ? cj_get_states(s, x) : CJ_ERROR;
}

cj_status cj_give_rates(cj_instance* s, const char* function, double* dx, size_t n)
{
    return counted(s, function, n) ? cj_rates(s, dx) : CJ_ERROR;
}

cj_status cj_give_nominals(cj_instance* s, const char* function, double* x, size_t n)
{
    if (!counted(s, function, n)) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) x[k] = 1; /* radians, metres and their rates */
    return CJ_OK;
}

cj_status cj_give_indicators(cj_instance* s, const char* function, double* z, size_t n)
{
    if (!made_for(s, function, 1) || !cj_right_count(s, n, NZ, "event indicators")) return CJ_ERROR;
    return NZ ? cj_watch(s, 0, z) : CJ_OK;
}

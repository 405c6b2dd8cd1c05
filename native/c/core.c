/* Life of an instance, its values, its step. */
#include "core.h"
#include "tables.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

unsigned cj_category(const char* name)
{
    for (unsigned k = 0; k < NCATEGORIES; ++k)
        if (name && strcmp(name, log_categories[k]) == 0) return 1u << k;
    return 0;
}

cj_status cj_say(cj_instance* s, cj_status status, const char* category, const char* format, ...)
{
    if (!s || !s->log || !(s->logging & cj_category(category))) return status;
    char text[600];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    s->log(s->host, status, category, text);
    return status;
}

void cj_evaluate(cj_instance* s, cj_function f, const double* const* in, size_t n_in, double* const* out, size_t n_out)
{
    memcpy(s->arg, in, n_in * sizeof *in); /* behind them there is work space of the function's own */
    memcpy(s->res, out, n_out * sizeof *out);
    f(s->arg, s->res, s->iw, s->w, 0);
}

void cj_forget(cj_instance* s) { s->known_y = s->known_rates = s->known_sigma = s->known_linear = 0; }

void cj_reset(cj_instance* s)
{
    cj_state* x = &s->now;
    memset(x, 0, sizeof *x); /* padding too: saved states are compared and written byte by byte */
    memcpy(x->at.q, initial_q, NQ * sizeof(double));
    memcpy(x->at.v, initial_v, NV * sizeof(double));
    memcpy(x->p, default_p, NP * sizeof(double));
    memcpy(x->start_q, initial_q, NQ * sizeof(double));
    memcpy(x->start_v, default_speed, NV * sizeof(double));
    memcpy(x->u, default_u, NU * sizeof(double));
    memcpy(x->sensed, nothing_sensed, NSENSED * sizeof(double));
    x->stop = NEVER;
    x->phase = CJ_CREATED;
    x->assembled = x->lifted = x->followed = 1;
    cj_forget(s);
}

void cj_tell(cj_state* x, const double* u)
{
    for (int k = 0; k < NMOTION; ++k) x->p[NPARAMETER + k] = u[motion_input[k]];
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(CJ_PLAIN_STEP)
#include <cpuid.h>

/* Asked of the processor itself: __builtin_cpu_supports needs a run-time library not found everywhere. */
static int has_avx2_and_fma(void)
{
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
    if ((c >> 12 & 1) == 0 || (c >> 27 & 1) == 0 || (c >> 28 & 1) == 0) return 0; /* FMA, OSXSAVE, AVX */
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    if ((low & 6) != 6) return 0; /* the system keeps the wide registers */
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 5 & 1); /* AVX2 */
}
#endif

void cj_begin(cj_instance* s, int exchange)
{
    s->exchange = exchange;
    s->step = cj_step;
#if NSENSED > 0
    s->sampling = cj_sampling;
#endif
#if defined(__x86_64__) && defined(__GNUC__) && !defined(CJ_PLAIN_STEP)
    if (has_avx2_and_fma()) {
        s->step = cj_step_fast;
#if NSENSED > 0
        s->sampling = cj_sampling_fast;
#endif
    }
#endif
    cj_reset(s);
}

static int finite_all(const double* x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * 0;
    return sum == 0; /* 0 times NaN or infinity is NaN */
}

double cj_largest(const double* x, int n)
{
    double most = 0;
    for (int i = 0; i < n; ++i)
        if (!(fabs(x[i]) <= most)) most = fabs(x[i]); /* NaN wins */
    return most;
}

/* The name of the loop that s->g has open the widest, and by how much. */
const char* cj_widest(cj_instance* s, double* gap)
{
    int worst = 0;
    *gap = -1;
    for (int k = 0; k < NLOOPS; ++k) {
        const double here = cj_largest(s->g + loop_first[k], loop_rows[k]);
        if (!(here <= *gap)) { *gap = here; worst = k; }
    }
    return loop_names[worst];
}

static cj_status opened(cj_instance* s, const double* q, double length, const double* u)
{
    double open, gap;
    cj_tell(&s->now, u);
    cj_call(s, cj_opened, CJ_IN(q, s->now.p), CJ_OUT(s->g, &open));
    const char* loop = cj_widest(s, &gap);
    return cj_say(s, CJ_DISCARD, "logStatusDiscard",
                  "%s opens by %.3g m or rad between %.9g s and %.9g s and the state stays as it was; "
                  "take smaller steps, or export with a smaller --step",
                  loop, gap, s->now.time, s->now.time + length);
}

/* w: inputs and their rates t seconds after u; driven motions go on by their derivatives */
void cj_later(cj_instance* s, const double* u, double t, double* w)
{
#if NMOTION > 0
    cj_call(s, cj_moved_inputs, CJ_IN(u, &t), CJ_OUT(w));
#else
    (void)s;
    for (int k = 0; k < NU; ++k) {
        w[k] = u[k] + t * u[NU + k];
        w[NU + k] = u[NU + k];
    }
#endif
}

/* w: inputs at a time within a communication step and their rates until `end`, zero where they are held. */
static void inputs_between(cj_instance* s, const double* u, double since, double end, double h, double* w)
{
    cj_state* x = &s->now;
    cj_later(s, u, since, w);
    for (int k = 0; k < NU && s->ask; ++k) w[k] = x->u[k];
    if (s->ask) {
        s->ask(s, end);
        for (int k = 0; k < NU; ++k) w[NU + k] = (x->u[k] - w[k]) / h;
    }
}

/* Steps from the present state; what they lead to is written when all is done. */
static cj_status steps_inside(cj_instance* s, double time, double length, const double* u)
{
    cj_state* x = &s->now;
    cj_status status = CJ_OK;
    double w[CJ_ROOM(2 * NU)], tries = 0;
    if (!(length >= 0) || !isfinite(length)) return cj_refuse(s, "a step must be finite and not negative, not %g s", length);
    if (!(fabs(time - x->time) <= SAME_TIME * (1 + fabs(time))))
        return cj_refuse(s, "the step starts at %.9g s, but the mechanism is at %.9g s; restore a state to go back", time, x->time);
    if (time + length > x->stop + SAME_TIME * (1 + fabs(x->stop)))
        return cj_refuse(s, "the step ends at %.9g s, after the stop time %.9g s that was set before", time + length, x->stop);
    double steps = length / CJ_STEP;
    if (steps > 1e9) return cj_refuse(s, "a step of %g s would take more than 1e9 inner steps of %g s", length, CJ_STEP);
    const double same = SAME_TIME + ROUNDED * fabs(time) / CJ_STEP; /* the host may have subtracted large times */
    const long whole = (long)(steps + same);
    const double rest = length - whole * CJ_STEP;
    const double *q = x->at.q, *v = x->at.v, *work = &x->work; /* the state itself is written when all is done */
    cj_sample_start(s, u, time);
    for (long n = 0; n <= whole; ++n) {
        double h = CJ_STEP;
        if (n == whole) {
            if (!(rest > same * CJ_STEP)) break;
            h = rest;
        }
        const int to = n % 2; /* a step never writes what it reads */
        const double since = n * CJ_STEP;
        inputs_between(s, u, since, time + since + h, h, w);
        cj_call(s, s->step, CJ_IN(q, v, work, w, x->p, &h), CJ_OUT(s->step_q[to], s->step_v[to], s->step_work + to, s->verdict));
        tries += s->verdict[TRIES];
        const int last = n == whole || (n + 1 == whole && !(rest > same * CJ_STEP));
        cj_sample_inside(s, q, v, work, w, time + since, last ? time + length : time + (double)(n + 1) * CJ_STEP, s->step_q[to], s->step_v[to]);
        q = s->step_q[to]; v = s->step_v[to]; work = s->step_work + to;
        if (!finite_all(q, NQ) || !finite_all(v, NV) || !isfinite(*work))
            return cj_say(s, CJ_DISCARD, "logStatusDiscard",
                          "the state becomes infinite between %.9g s and %.9g s and stays as it was; take smaller steps",
                          x->time, x->time + length);
        if (s->verdict[LEFT_OPEN] > 0) {
            double end[CJ_ROOM(2 * NU)];
            cj_later(s, w, h, end);
            return opened(s, q, length, end);
        }
        if (s->verdict[UNSETTLED] > 0)
            status = cj_say(s, CJ_WARNING, "logStatusWarning",
                            "a step after %.9g s is too coarse even in sub-steps; take smaller steps", x->time);
        if (s->verdict[TWO_WAYS] > 0)
            cj_say(s, CJ_OK, "logStatusWarning", "after %.9g s a singular pose was met that may as well have been missed", x->time);
    }
    if (q != x->at.q) {
        memcpy(x->at.q, q, sizeof x->at.q);
        memcpy(x->at.v, v, sizeof x->at.v);
        x->work = *work;
        x->placed = 0;
        x->followed = 1;
    }
    if (!s->ask) cj_later(s, u, length, x->u);
    cj_tell(x, x->u);
    memcpy(x->sensed, s->sensed[0], sizeof x->sensed);
    x->time = x->told_at = time + length;
    x->tries = tries;
    if (tries > 0) cj_say(s, CJ_OK, "logEffort", "%g sub-steps were tried between %.9g s and %.9g s", tries, time, x->time);
    cj_forget(s);
    return status;
}

cj_status cj_do_step(cj_instance* s, double time, double length)
{
    double u[CJ_ROOM(2 * NU)];
    memcpy(u, s->now.u, sizeof u);
    const cj_status status = steps_inside(s, time, length, u);
    if (status > CJ_WARNING) { /* nothing has happened */
        memcpy(s->now.u, u, sizeof u);
        cj_tell(&s->now, u);
    }
    return status;
}

/* -- values ---------------------------------------------------------------------------------- */

/* Where a value is kept that a host may set; NULL for all others. */
static double* settable(cj_state* x, unsigned slot)
{
    if (IN(slot, SLOT_INPUT, NU)) return x->u + (slot - SLOT_INPUT);
    if (IN(slot, SLOT_PARAMETER, NPARAMETER)) return x->p + (slot - SLOT_PARAMETER);
    if (IN(slot, SLOT_START_Q, NQ - NI)) return x->start_q + (slot - SLOT_START_Q);
    if (IN(slot, SLOT_START_V, NV)) return x->start_v + (slot - SLOT_START_V);
    return NULL;
}

cj_status cj_set_input_rate(cj_instance* s, unsigned slot, int order, double rate)
{
    if (!IN(slot, SLOT_INPUT, NU)) return cj_refuse(s, "there is no input with value reference %u", slot);
    if (order != 1) return cj_refuse(s, "inputs go along straight lines: a derivative of order %d was given", order);
    if (!isfinite(rate)) return cj_refuse(s, "the derivative of value reference %u was given as %g", slot, rate);
    s->now.u[NU + slot - SLOT_INPUT] = rate;
    return CJ_OK;
}

cj_status cj_get(cj_instance* s, unsigned slot, double* value)
{
    const double* given = settable(&s->now, slot);
    double all[CJ_ROOM(NX)];
    if (slot == SLOT_TIME) given = &s->now.time;
    if (slot == SLOT_EFFORT) given = &s->now.tries;
    if (given) {
        *value = *given;
        return CJ_OK;
    }
    cj_status status = cj_assemble(s);
    if (status == CJ_OK) status = cj_lift(s);
    if (status != CJ_OK) return status;
    if (IN(slot, SLOT_OUTPUT, NY)) {
        if (!s->known_y) cj_read(s);
        *value = s->y[slot - SLOT_OUTPUT];
    } else if (IN(slot, SLOT_SIGMA, NSIGMA)) {
        cj_sigma(s);
        *value = sigma_is_rank[slot - SLOT_SIGMA] ? s->rank : s->sigma;
    } else if (IN(slot, SLOT_STATE, NX)) {
        status = cj_get_states(s, all);
        if (status == CJ_OK) *value = all[slot - SLOT_STATE];
    } else if (IN(slot, SLOT_DERIVATIVE, NX)) {
        status = cj_rates(s, all);
        if (status == CJ_OK) *value = all[slot - SLOT_DERIVATIVE];
    } else if (IN(slot, SLOT_MARGIN, NZ)) {
        status = cj_in_chart(s);
        if (status == CJ_OK) *value = cj_room(s);
    } else if (IN(slot, SLOT_LINEAR, NLINEAR)) {
        status = cj_linearize(s);
        *value = s->linear[slot - SLOT_LINEAR];
    } else {
        status = cj_refuse(s, "there is no real variable with value reference %u", slot);
    }
    return status;
}

static int starting(const cj_instance* s) { return s->now.phase == CJ_CREATED || s->now.phase == CJ_INITIALIZING; }

static cj_status check_value(cj_instance* s, unsigned slot, double value)
{
    if (!settable(&s->now, slot)) return cj_refuse(s, "there is no input or parameter with value reference %u", slot);
    if (!isfinite(value))
        return cj_refuse(s, "value reference %u was given %g; NaN and infinity are refused and nothing was set", slot, value);
    if (s->now.phase == CJ_BETWEEN && !IN(slot, SLOT_INPUT, NU))
        return cj_refuse(s, "value reference %u is no input and can't be set during a step", slot);
    if (IN(slot, SLOT_START_Q, NQ - NI)) { /* but the start that is assembled anyway */
        const unsigned k = slot - SLOT_START_Q;
        if ((value < lowest_q[k] || value > highest_q[k]) && value != initial_q[k])
            return cj_refuse(s, "value reference %u, a start, was given %g, which is beyond the limits of its joint, %g to %g", slot,
                             value, lowest_q[k], highest_q[k]);
    }
    const int tunable = IN(slot, SLOT_INPUT, NU) || (IN(slot, SLOT_PARAMETER, NPARAMETER) && !fixed_p[slot - SLOT_PARAMETER]);
    if (tunable || starting(s)) return CJ_OK;
    return cj_refuse(s, "value reference %u shapes the mechanism or its start and can be set before the end of initialization only",
                     slot);
}

/* Whether a description could have the parameters p: each by itself, and `together`. */
cj_status cj_check_parameters(cj_instance* s, const double* p, int together)
{
    double alone[CJ_ROOM(NP)], all[CJ_ROOM(NP)];
    cj_call(s, cj_allowed, CJ_IN(p), CJ_OUT(alone, all));
    for (int k = 0; k < NPARAMETER; ++k) {
        if (alone[k] == 0) return cj_refuse(s, "%s must be %s, not %g", names_p[k], alone_p[k], p[k]);
        if (together && all[k] == 0)
            return cj_refuse(s, "%s, here %g, and what goes with it must be %s; set them in one call", names_p[k], p[k], together_p[k]);
    }
    return CJ_OK;
}

/* Set values, all or none. Numbers that only make sense together may come one by one until initialization ends. */
cj_status cj_set(cj_instance* s, const unsigned* slots, size_t n, const double* values)
{
    cj_status status = CJ_OK;
    int parameters = 0;
    memcpy(s->new_p, s->now.p, sizeof s->new_p);
    for (size_t k = 0; k < n && status == CJ_OK; ++k) {
        status = check_value(s, slots[k], values[k]);
        if (!IN(slots[k], SLOT_PARAMETER, NPARAMETER)) continue;
        s->new_p[slots[k] - SLOT_PARAMETER] = values[k];
        parameters = 1;
    }
    if (status == CJ_OK && parameters) status = cj_check_parameters(s, s->new_p, !starting(s));
    if (status != CJ_OK) return status;
    for (size_t k = 0; k < n; ++k) {
        double* place = settable(&s->now, slots[k]);
        if (*place == values[k]) continue;
        const int input = IN(slots[k], SLOT_INPUT, NU), moves = input && motion_of_input[slots[k] - SLOT_INPUT] >= 0;
        if (moves) cj_hold(s);
        *place = values[k];
        if (starting(s) && (!input || moves)) s->now.assembled = 0;
        if (moves && !s->exchange) s->now.followed = 0;
        cj_forget(s);
    }
    cj_tell(&s->now, s->now.u);
    return CJ_OK;
}

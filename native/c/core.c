/* Life of an instance, and its step. */
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

/* Whether something overflows is seen by what comes out: no trap that the host has set goes off inside. Returns what
 * the host has set, to give it back. */
static unsigned without_traps(void)
{
    unsigned host = 0;
#if defined(__x86_64__) && defined(__GNUC__)
    const unsigned none = 0x1f80; /* all exceptions of SSE masked */
    __asm__ volatile("stmxcsr %0" : "=m"(host));
    if ((host & none) != none) {
        const unsigned masked = host | none;
        __asm__ volatile("ldmxcsr %0" : : "m"(masked));
    }
#endif
    return host;
}

static void with_traps(unsigned host)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if ((host & 0x1f80) != 0x1f80) __asm__ volatile("ldmxcsr %0" : : "m"(host));
#else
    (void)host;
#endif
}

void cj_evaluate(cj_instance* s, cj_function f, const double* const* in, size_t n_in, double* const* out, size_t n_out)
{
    memcpy(s->arg, in, n_in * sizeof *in); /* behind them there is work space of the function's own */
    memcpy(s->res, out, n_out * sizeof *out);
    const unsigned host = without_traps();
    f(s->arg, s->res, s->iw, s->w, 0);
    with_traps(host);
}

static int settled(const cj_state* x) { return x->assembled && x->followed && x->charted && x->placed && x->lifted; }

void cj_remember(cj_instance* s)
{
    s->remembered = !settled(&s->now);
    if (s->remembered) s->before = s->now;
}

cj_status cj_undo(cj_instance* s, cj_status status)
{
    if (status > CJ_WARNING && s->remembered) {
        s->now = s->before;
        cj_forget(s);
    }
    return status;
}

void cj_forget(cj_instance* s) { s->known_y = s->known_rates = s->known_sigma = s->known_linear = s->known_kinks = 0; }

void cj_reset(cj_instance* s)
{
    cj_state* x = &s->now;
    memset(x, 0, sizeof *x); /* padding too: saved states are compared and written byte by byte */
    memcpy(x->at.q, initial_q, NQ * sizeof(double));
    memcpy(x->at.v, initial_v, NV * sizeof(double));
    memcpy(x->z, initial_z, NI * sizeof(double));
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

const double* cj_motions(cj_instance* s, const double* u)
{
    for (int k = 0; k < NMOTION; ++k) s->motions[k] = u[motion_input[k]];
    return s->motions;
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
    int all = 1;
    for (int i = 0; i < n; ++i) all &= isfinite(x[i]) != 0;
    return all;
}

double cj_largest(const double* x, int n)
{
    double most = 0;
    for (int i = 0; i < n; ++i)
        if (!islessequal(fabs(x[i]), most)) most = fabs(x[i]); /* NaN wins */
    return most;
}

/* The name of the loop that s->g has open the widest, and by how much. */
const char* cj_widest(cj_instance* s, double* gap)
{
    int worst = 0;
    *gap = -1;
    for (int k = 0; k < NLOOPS; ++k) {
        const double here = cj_largest(s->g + loop_first[k], loop_rows[k]);
        if (!islessequal(here, *gap)) { *gap = here; worst = k; }
    }
    return loop_names[worst];
}

static cj_status opened(cj_instance* s, const double* q, double length, const double* u)
{
    double open, gap;
    cj_call(s, cj_open_loops, CJ_IN(q, cj_motions(s, u), s->now.p), CJ_OUT(s->g, &open));
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
    cj_call(s, cj_inputs_after, CJ_IN(u, &t), CJ_OUT(w));
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

/* Inputs of which w has rates, h seconds later. */
static void inputs_at(cj_instance* s, const double* w, double h, double* u)
{
    double end[CJ_ROOM(2 * NU)];
    cj_later(s, w, h, end);
    memcpy(u, end, NU * sizeof(double));
}

void cj_now(const cj_state* x, cj_place* place)
{
    memcpy(place->q, x->at.q, sizeof place->q);
    memcpy(place->v, x->at.v, sizeof place->v);
    memcpy(place->z, x->z, sizeof place->z);
    place->work = x->work;
}

void cj_step_from(cj_instance* s, const cj_place* from, const double* w, double h, cj_place* to, double* verdict)
{
    cj_call_as(s, s->step, cj_step_n_in, cj_step_n_out, CJ_IN(from->q, from->v, from->z, &from->work, w, s->now.p, &h), CJ_OUT(to->q, to->v, to->z, &to->work, verdict));
}

static cj_status check_step(cj_instance* s, double time, double length)
{
    const cj_state* x = &s->now;
    if (!isfinite(length) || length < 0) return cj_refuse(s, "a step must be finite and not negative, not %g s", length);
    if (!isfinite(time) || !(fabs(time - x->time) <= SAME_TIME * (1 + fabs(time))))
        return cj_refuse(s, "the step starts at %.9g s, but the mechanism is at %.9g s; restore a state to go back", time, x->time);
    if (time + length - x->stop > SAME_TIME * (1 + fabs(x->stop))) /* nothing is added to NEVER */
        return cj_refuse(s, "the step ends at %.9g s, after the stop time %.9g s that was set before", time + length, x->stop);
    if (length / CJ_STEP > 1e9) return cj_refuse(s, "a step of %g s would take more than 1e9 inner steps of %g s", length, CJ_STEP);
    return CJ_OK;
}

/* What a step inside has led to: whether it counts, and what is said of it. */
static cj_status judge_step(cj_instance* s, const cj_place* to, const double* w, double h, double length)
{
    const double now = s->now.time;
    if (!finite_all(to->q, NQ) || !finite_all(to->v, NV) || !finite_all(to->z, NI) || !isfinite(to->work))
        return cj_say(s, CJ_DISCARD, "logStatusDiscard",
                      "the state becomes infinite between %.9g s and %.9g s and stays as it was; take smaller steps", now, now + length);
    if (s->verdict[LEFT_OPEN] > 0) {
        double end[CJ_ROOM(2 * NU)];
        cj_later(s, w, h, end);
        return opened(s, to->q, length, end);
    }
    if (s->verdict[BIFURCATION] > 0)
        cj_say(s, CJ_OK, "logStatusWarning", "after %.9g s a singular pose was met that may as well have been missed", now);
    if (s->verdict[UNSETTLED] > 0)
        return cj_say(s, CJ_WARNING, "logStatusWarning", "a step after %.9g s is too coarse even in sub-steps; take smaller steps", now);
    return CJ_OK;
}

/* Steps from the present state; what they lead to is written when all is done. */
static cj_status steps_inside(cj_instance* s, double time, double length, const double* u)
{
    cj_state* x = &s->now;
    double w[CJ_ROOM(2 * NU)], tries = 0, h = 0;
    int moved = 0;
    cj_status worst = check_step(s, time, length);
    if (worst != CJ_OK) return worst;
    if (s->until_change) length = s->until_change(s, time, length);
    const double same = SAME_TIME + ROUNDED * fabs(time) / CJ_STEP; /* the host may have subtracted large times */
    if (!(same < 1)) return cj_refuse(s, "at %g s a step of %g s can't be told from none; start at an earlier time", time, CJ_STEP);
    const long whole = (long)(length / CJ_STEP + same);
    const double rest = length - whole * CJ_STEP;
    const cj_place* from = &s->step_to[1]; /* a step never writes what it reads; the state is written when all is done */
    cj_now(x, &s->step_to[1]);
    cj_sample_start(s, u, time);
    for (long n = 0; n <= whole && !s->returns_early; ++n) {
        h = CJ_STEP;
        if (n == whole) {
            if (!(rest > same * CJ_STEP)) break;
            h = rest;
        }
        cj_place* to = &s->step_to[n % 2];
        const double since = n * CJ_STEP;
        const int last = n == whole || (n + 1 == whole && !(rest > same * CJ_STEP));
        double end = last ? time + length : time + (double)(n + 1) * CJ_STEP;
        inputs_between(s, u, since, time + since + h, h, w);
        cj_step_from(s, from, w, h, to, s->verdict);
        if (s->returns_early && !last) length = since + h; /* the host has asked for it */
        else s->returns_early = 0;
        if (s->until_kink && s->until_kink(s, from, w, &h, to)) {
            length = since + h;
            end = time + length;
        }
        tries += s->verdict[TRIES];
        if (!s->holds) cj_sample_inside(s, from, w, time + since, end, to);
        from = to;
        moved = 1;
        const cj_status status = judge_step(s, to, w, h, length);
        if (status > CJ_WARNING) return status;
        if (status > worst) worst = status;
    }
    if (moved) {
        memcpy(x->at.q, from->q, sizeof x->at.q);
        memcpy(x->at.v, from->v, sizeof x->at.v);
        memcpy(x->z, from->z, sizeof x->z);
        x->work = from->work;
        x->placed = 0;
        x->followed = 1;
    }
    if (!s->ask) cj_later(s, u, length, x->u);
    else if (s->returns_early) inputs_at(s, w, h, x->u);
    s->returns_early |= s->shortened;
    memcpy(x->sensed, s->sensed[0], sizeof x->sensed);
    x->time = time + length;
    if (!s->holds) x->told_at = x->time;
    x->tries = tries;
    if (tries > 0) cj_say(s, CJ_OK, "logEffort", "%g sub-steps were tried between %.9g s and %.9g s", tries, time, x->time);
    cj_forget(s);
    return worst;
}

cj_status cj_do_step(cj_instance* s, double time, double length)
{
    double u[CJ_ROOM(2 * NU)];
    memcpy(u, s->now.u, sizeof u);
    s->event = s->returns_early = s->shortened = s->holds = 0;
    const cj_status status = steps_inside(s, time, length, u);
    if (status > CJ_WARNING) memcpy(s->now.u, u, sizeof u); /* nothing has happened */
    return status;
}

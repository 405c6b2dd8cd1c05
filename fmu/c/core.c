/* Life of an instance, its values, its step. */
#include "core.h"
#include "tables.h"
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define IN(slot, first, count) ((count) > 0 && (slot) >= (unsigned)(first) && (slot) < (unsigned)((first) + (count)))

void cj_say(cj_instance* s, cj_status status, const char* category, const char* format, ...)
{
    if (!s->log || (status == CJ_OK && !s->logging)) return; /* errors are told in any case */
    char text[600];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    s->log(s->host, status, category, text);
}

int cj_same_token(const char* given) { return given && strcmp(given, CJ_TOKEN) == 0; }

void cj_forget(cj_instance* s) { s->known_y = s->known_rates = s->known_sigma = s->known_linear = 0; }

void cj_reset(cj_instance* s)
{
    cj_state* x = &s->now;
    memset(x, 0, sizeof *x); /* padding too: saved states are compared and written byte by byte */
    memcpy(x->q, initial_q, NQ * sizeof(double));
    memcpy(x->v, initial_v, NV * sizeof(double));
    memcpy(x->p, default_p, NP * sizeof(double));
    memcpy(x->start_q, initial_q, NQ * sizeof(double));
    memcpy(x->start_v, default_speed, NV * sizeof(double));
    x->phase = CJ_CREATED;
    x->assembled = x->lifted = 1;
    cj_forget(s);
}

#if defined(__x86_64__) && defined(__GNUC__)
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
#if defined(__x86_64__) && defined(__GNUC__)
    if (has_avx2_and_fma()) s->step = cj_step_fast;
#endif
    cj_reset(s);
}

cj_status cj_initialized(cj_instance* s)
{
    double room;
    cj_status status = cj_assemble(s);
    if (status == CJ_OK && s->exchange) status = cj_new_chart(s);
    return status == CJ_OK && s->exchange ? cj_watch(s, 1, &room) : status;
}

static int finite_all(const double* x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * 0;
    return sum == 0; /* 0 times NaN or infinity is NaN */
}

cj_status cj_do_step(cj_instance* s, double time, double length)
{
    cj_state* x = &s->now;
    if (!(length >= 0) || !isfinite(length)) {
        cj_say(s, CJ_ERROR, "logStatusError", "a step must be finite and not negative, not %g s", length);
        return CJ_ERROR;
    }
    if (!(fabs(time - x->time) <= SAME_TIME * (1 + fabs(time)))) {
        cj_say(s, CJ_ERROR, "logStatusError",
               "the step starts at %.9g s, but the mechanism is at %.9g s; restore a state to go back", time, x->time);
        return CJ_ERROR;
    }
    double steps = length / CJ_STEP;
    if (steps > 1e9) {
        cj_say(s, CJ_ERROR, "logStatusError", "a step of %g s would take more than 1e9 inner steps of %g s", length, CJ_STEP);
        return CJ_ERROR;
    }
    const long whole = (long)(steps + SAME_TIME);
    const double rest = length - whole * CJ_STEP;
    const double *q = x->q, *v = x->v, *work = &x->work; /* the state itself is written when all is done */
    for (long n = 0; n <= whole; ++n) {
        double h = CJ_STEP;
        if (n == whole) {
            if (!(rest > SAME_TIME * CJ_STEP)) break;
            h = rest;
        }
        const int to = n % 2; /* a step never writes what it reads */
        s->arg[0] = q; s->arg[1] = v; s->arg[2] = work; s->arg[3] = x->u; s->arg[4] = x->p; s->arg[5] = &h;
        s->res[0] = s->step_q[to]; s->res[1] = s->step_v[to]; s->res[2] = s->step_work + to;
        s->step(s->arg, s->res, s->iw, s->w, 0);
        q = s->step_q[to]; v = s->step_v[to]; work = s->step_work + to;
    }
    if (q != x->q) {
        if (!finite_all(q, NQ) || !finite_all(v, NV) || !isfinite(*work)) {
            cj_say(s, CJ_DISCARD, "logStatusDiscard",
                   "the state becomes infinite between %.9g s and %.9g s and stays as it was; take smaller steps",
                   x->time, x->time + length);
            return CJ_DISCARD;
        }
        memcpy(x->q, q, sizeof x->q);
        memcpy(x->v, v, sizeof x->v);
        x->work = *work;
        x->placed = 0;
    }
    x->time = time + length;
    cj_forget(s);
    return CJ_OK;
}

/* -- values ---------------------------------------------------------------------------------- */

static cj_status current(cj_instance* s)
{
    cj_status status = s->now.assembled ? CJ_OK : cj_assemble(s);
    return status == CJ_OK ? cj_lift(s) : status;
}

static cj_status outputs(cj_instance* s)
{
    if (s->known_y) return CJ_OK;
    cj_status status = current(s);
    if (status != CJ_OK) return status;
    s->arg[0] = s->now.q; s->arg[1] = s->now.v; s->arg[2] = s->now.u; s->arg[3] = s->now.p;
    s->res[0] = s->y;
    cj_outputs(s->arg, s->res, s->iw, s->w, 0);
    s->known_y = 1;
    return CJ_OK;
}

cj_status cj_get(cj_instance* s, unsigned slot, double* value)
{
    const cj_state* x = &s->now;
    cj_status status = CJ_OK;
    if (IN(slot, SLOT_Y, NY)) {
        status = outputs(s);
        *value = s->y[slot - SLOT_Y];
    } else if (IN(slot, SLOT_U, NU)) {
        *value = x->u[slot - SLOT_U];
    } else if (slot == SLOT_TIME) {
        *value = x->time;
    } else if (IN(slot, SLOT_P, NP)) {
        *value = x->p[slot - SLOT_P];
    } else if (IN(slot, SLOT_START_Q, NQ)) {
        *value = x->start_q[slot - SLOT_START_Q];
    } else if (IN(slot, SLOT_START_V, NV)) {
        *value = x->start_v[slot - SLOT_START_V];
    } else if (IN(slot, SLOT_SIGMA, NSIGMA)) {
        status = current(s);
        if (status == CJ_OK) cj_sigma(s);
        *value = sigma_is_rank[slot - SLOT_SIGMA] ? s->rank : s->sigma;
    } else if (IN(slot, SLOT_X, 2 * NF) || IN(slot, SLOT_DX, 2 * NF)) {
        double all[CJ_ROOM(2 * NF)];
        const int rates = IN(slot, SLOT_DX, 2 * NF);
        status = current(s);
        if (status == CJ_OK) status = rates ? cj_rates(s, all) : cj_get_states(s, all);
        if (status == CJ_OK) *value = all[slot - (rates ? SLOT_DX : SLOT_X)];
    } else if (IN(slot, SLOT_MARGIN, NZ)) {
        status = current(s);
        if (status == CJ_OK) status = cj_in_chart(s);
        if (status == CJ_OK) *value = cj_room(s);
    } else if (IN(slot, SLOT_LINEAR, NLINEAR)) {
        status = current(s);
        if (status == CJ_OK) status = cj_linearize(s);
        *value = s->linear[slot - SLOT_LINEAR];
    } else {
        cj_say(s, CJ_ERROR, "logStatusError", "there is no real variable with value reference %u", slot);
        return CJ_ERROR;
    }
    return status;
}

cj_status cj_check(cj_instance* s, unsigned slot, double value)
{
    const int starting = s->now.phase == CJ_CREATED || s->now.phase == CJ_INITIALIZING;
    const int input = IN(slot, SLOT_U, NU);
    const int parameter = IN(slot, SLOT_P, NP), start = IN(slot, SLOT_START_Q, NQ + NV);
    if (!input && !parameter && !start) {
        cj_say(s, CJ_ERROR, "logStatusError", "there is no input or parameter with value reference %u", slot);
        return CJ_ERROR;
    }
    if (!isfinite(value)) {
        cj_say(s, CJ_ERROR, "logStatusError", "value reference %u was given %g; NaN and infinity are refused and nothing was set",
               slot, value);
        return CJ_ERROR;
    }
    if (!starting && (start || (parameter && fixed_p[slot - SLOT_P]))) {
        cj_say(s, CJ_ERROR, "logStatusError",
               "value reference %u shapes the mechanism or its start and can be set before the end of initialization only", slot);
        return CJ_ERROR;
    }
    return CJ_OK;
}

void cj_put(cj_instance* s, unsigned slot, double value)
{
    cj_state* x = &s->now;
    const int starting = x->phase == CJ_CREATED || x->phase == CJ_INITIALIZING;
    double* place = IN(slot, SLOT_U, NU)           ? x->u + (slot - SLOT_U)
                    : IN(slot, SLOT_P, NP)         ? x->p + (slot - SLOT_P)
                    : IN(slot, SLOT_START_Q, NQ)   ? x->start_q + (slot - SLOT_START_Q)
                                                   : x->start_v + (slot - SLOT_START_V);
    if (*place == value) return;
    *place = value;
    if (starting && !IN(slot, SLOT_U, NU)) x->assembled = 0;
    cj_forget(s);
}

/* -- saved states ------------------------------------------------------------------------------ */

typedef struct { char token[48]; uint64_t size; } header;

size_t cj_saved_size(void) { return sizeof(header) + sizeof(cj_state); }

void cj_write_state(const cj_state* state, char* bytes)
{
    header h;
    memset(&h, 0, sizeof h);
    strncpy(h.token, CJ_TOKEN, sizeof h.token - 1);
    h.size = sizeof(cj_state);
    memcpy(bytes, &h, sizeof h);
    memcpy(bytes + sizeof h, state, sizeof *state);
}

int cj_read_state(const char* bytes, size_t size, cj_state* state)
{
    header h;
    if (!bytes || size != cj_saved_size()) return 0;
    memcpy(&h, bytes, sizeof h);
    h.token[sizeof h.token - 1] = 0;
    if (h.size != sizeof(cj_state) || !cj_same_token(h.token)) return 0;
    memcpy(state, bytes + sizeof h, sizeof *state);
    for (int k = 0; k < NF; ++k)
        if (state->independent[k] < 0 || state->independent[k] >= NV) return 0; /* damaged bytes must not index */
    return 1;
}

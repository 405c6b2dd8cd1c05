/* The core of the FMU behind the functions of native.h. */
#include "native_inside.h"
#include "tables.h"
#include "items.h"
#include <stdlib.h>
#include <string.h>

static void tell(void* host, cj_status status, const char* category, const char* message)
{
    const cutjoint_mechanism* m = (const cutjoint_mechanism*)host;
    (void)category;
    if (m->say && status != CJ_OK) m->say(m->host, message);
}

int cutjoint_native(void) { return CUTJOINT_NATIVE; }
const char* cutjoint_name(void) { return MECHANISM; }
int cutjoint_most_tries(void) { return MOST_TRIES; }

CJ_HOLDS(items, inputs_count == NU && parameters_count == NP && starts_count == NQ + NV && outputs_count == NY && joints_count == NJOINTS);
static const struct { const cutjoint_item* items; size_t count; unsigned slot; } kinds[] = {
    {inputs, inputs_count, SLOT_INPUT},
    {parameters, parameters_count, SLOT_PARAMETER},
    {starts, starts_count, SLOT_START_Q},
    {outputs, outputs_count, SLOT_OUTPUT},
    {joints, joints_count, 0}};

size_t cutjoint_count(cutjoint_kind kind) { return kinds[kind].count; }
const cutjoint_item* cutjoint_items(cutjoint_kind kind) { return kinds[kind].items; }

cutjoint_mechanism* cutjoint_new(cutjoint_say say, void* host)
{
    cutjoint_mechanism* m = (cutjoint_mechanism*)calloc(1, sizeof *m);
    if (!m) return NULL;
    m->say = say;
    m->host = host;
    m->core.log = tell;
    m->core.host = m;
    m->core.logging = cj_category("logStatusError") | cj_category("logStatusDiscard");
    cj_begin(&m->core, 0);
    cutjoint_reset(m);
    return m;
}

void cutjoint_free(cutjoint_mechanism* m) { free(m); }

void cutjoint_reset(cutjoint_mechanism* m)
{
    cj_reset(&m->core);
    m->core.now.phase = CJ_INITIALIZING;
    memset(m->joints, 0, sizeof m->joints);
    m->h = m->stiffness = 0;
}

int cutjoint_set(cutjoint_mechanism* m, cutjoint_kind kind, size_t k, double value)
{
    if (kind != CUTJOINT_PARAMETER && kind != CUTJOINT_START) return 1;
    if (k >= kinds[kind].count) return 1;
    const unsigned slot = kinds[kind].slot + (unsigned)k;
    return cj_set(&m->core, &slot, 1, &value) != CJ_OK;
}

int cutjoint_begin(cutjoint_mechanism* m)
{
    if (cj_assemble(&m->core) != CJ_OK) return 1;
    m->core.now.phase = CJ_STEPPING;
    return 0;
}

int cutjoint_drive(cutjoint_mechanism* m, const double* u)
{
    unsigned slots[CJ_ROOM(NU)];
    for (unsigned k = 0; k < NU; ++k) slots[k] = SLOT_INPUT + k;
    return cj_set(&m->core, slots, NU, u) != CJ_OK;
}

int cutjoint_step(cutjoint_mechanism* m, double h)
{
    if (m->core.now.phase != CJ_STEPPING) return 1;
    if (h != m->h) {
        m->h = h;
        m->count = 0;
        m->since = m->core.now.time;
    }
    if (cj_do_step(&m->core, m->since + (double)m->count * h, h) > CJ_WARNING) return 1;
    ++m->count;
    m->core.now.time = m->since + (double)m->count * h;
    return 0;
}

double cutjoint_time(const cutjoint_mechanism* m) { return m->core.now.time; }
double cutjoint_tries(const cutjoint_mechanism* m) { return m->core.now.tries; }

const double* cutjoint_outputs(cutjoint_mechanism* m)
{
    cj_instance* s = &m->core;
    if (cj_lift(s) != CJ_OK) return s->y; /* driven motions that can't be followed: the step says so */
    cj_read(s);
    return s->y;
}

const double* cutjoint_joints(cutjoint_mechanism* m)
{
    cj_instance* s = &m->core;
    if (cj_lift(s) != CJ_OK) return m->joints[0];
    memcpy(m->near, m->joints[0], sizeof m->near); /* angles stay near the last ones */
    cj_call(s, cj_joints, CJ_IN(s->now.at.q, s->now.at.v, s->now.z, s->now.u, s->now.p, m->near), CJ_OUT(m->joints[0], m->joints[1], m->joints[2]));
    return m->joints[0];
}

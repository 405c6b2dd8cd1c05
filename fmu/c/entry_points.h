/* The calls that FMI 2.0 and 3.0 have in common: when each may be made, and what it does then.
 *
 * Included once, by fmi2.c or fmi3.c, which say before what FMI(name) stands for and how they spell the
 * names that differ, and define cj_result, cj_boolean and cj_byte, `cj_caller` (whom to tell) and `tell`. The
 * pointer that a host holds is an instance, which begins with its core; none at all is an error.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter" /* arguments are the standard's choice */
#endif

typedef struct {
    cj_instance core;
    cj_caller caller;
} instance; /* its name is behind it */

static cj_instance* core(void* p) { return (cj_instance*)p; }

/* When a call may be made: in some phases, and by some only on instances made for one interface. */
enum {
    CREATED = 1 << CJ_CREATED,
    INITIALIZING = 1 << CJ_INITIALIZING,
    EVENT = 1 << CJ_EVENT,
    CONTINUOUS = 1 << CJ_CONTINUOUS,
    STEPPING = 1 << CJ_STEPPING,
    BETWEEN = 1 << CJ_BETWEEN,
    RUNNING = EVENT | CONTINUOUS | STEPPING,
    TERMINATED = 1 << CJ_TERMINATED,
    ALWAYS = CREATED | INITIALIZING | RUNNING | BETWEEN | TERMINATED,
    EXCHANGE = TERMINATED << 1,
    COSIMULATION = TERMINATED << 2
};

/* Whether a function may be called now; says why if not. */
static int may(void* p, const char* function, int when)
{
    cj_instance* s = core(p);
    static const char* const names[] = {"instantiated", "in initialization mode", "in event mode",
                                        "in continuous-time mode", "in step mode", "in intermediate update mode", "terminated"};
    if (!s) return 0;
    if (when & (s->exchange ? COSIMULATION : EXCHANGE))
        cj_refuse(s, "%s was called, but this instance was made for %s", function, s->exchange ? "model exchange" : "co-simulation");
    else if (!(when & 1 << s->now.phase))
        cj_refuse(s, "%s can't be called while the FMU is %s", function, names[s->now.phase]);
    else
        return 1;
    return 0;
}

static cj_status go(void* s, const char* function, int when, cj_phase to)
{
    if (!may(s, function, when)) return CJ_ERROR;
    core(s)->now.phase = to;
    return CJ_OK;
}

static int right_count(void* s, size_t given, size_t wanted, const char* what)
{
    if (given == wanted) return 1;
    cj_refuse(s, "there are %u %s, not %u", (unsigned)wanted, what, (unsigned)given);
    return 0;
}

static cj_status absent(void* s, const char* what) { return cj_refuse(s, "this FMU does not offer %s", what); }

/* -- life ---------------------------------------------------------------------------------------- */

/* A new instance; NULL after telling why there is none. */
static void* create(cj_caller caller, const char* name, const char* token, int logging, int exchange)
{
    const char* problem = NULL;
    if (!name || !*name) problem = "an instance needs a name";
    else if (exchange && !HAS_EXCHANGE) problem = "this FMU was exported for co-simulation alone";
    else if (!token || strcmp(token, CJ_TOKEN) != 0)
        problem = "the " TOKEN_NAME " differs from this binary's; modelDescription.xml and binary belong to different exports";
    instance* c = problem ? NULL : (instance*)calloc(1, sizeof *c + strlen(name) + 1);
    if (!c) {
        if (logging) tell(&caller, CJ_ERROR, "logStatusError", problem ? problem : "not enough memory");
        return NULL;
    }
    caller.name = strcpy((char*)(c + 1), name);
    c->caller = caller;
    c->core.log = tell;
    c->core.host = &c->caller;
    c->core.logging = logging ? (1u << NCATEGORIES) - 1 : 0;
    if (exchange) {
        c->core.hold = cj_hold;
        c->core.put_state = cj_set_state;
    }
    cj_begin(&c->core, exchange);
    return c;
}

CJ_EXPORT void FMI(FreeInstance)(void* s) { free(s); }

CJ_EXPORT cj_result FMI(SetDebugLogging)(void* s, cj_boolean on, size_t n, const char* const categories[])
{
    if (!s) return CJ_ERROR;
    const unsigned all = (1u << NCATEGORIES) - 1;
    unsigned chosen = n ? 0 : all;
    for (size_t k = 0; k < n; ++k) {
        const unsigned category = cj_category(categories[k]);
        if (!category) return cj_refuse(s, "there is no log category '%.80s'", categories[k]);
        chosen |= category;
    }
    core(s)->logging = on ? chosen : 0;
    return CJ_OK;
}

static cj_status set_start(void* p, const char* function, double start, int has_stop, double stop)
{
    cj_instance* s = core(p);
    if (!may(s, function, CREATED)) return CJ_ERROR;
    if (!isfinite(start) || (has_stop && !(isfinite(stop) && stop >= start)))
        return cj_refuse(s, "the start time must be finite, and a stop time too and not before it");
    s->now.time = s->now.told_at = start;
    s->now.stop = has_stop ? stop : NEVER;
    return CJ_OK;
}

CJ_EXPORT cj_result FMI(ExitInitializationMode)(void* p)
{
    cj_instance* s = core(p);
    double room;
    if (!may(s, __func__, INITIALIZING)) return CJ_ERROR;
    cj_remember(s);
    cj_status status = cj_assemble(s);
    if (status == CJ_OK && s->exchange) status = cj_new_chart(s);
    if (status == CJ_OK && s->exchange) status = cj_watch(s, 1, &room);
    if (status == CJ_OK) s->now.phase = s->exchange || s->events ? CJ_EVENT : CJ_STEPPING;
    if (status == CJ_OK && !s->exchange)
        cj_say(s, CJ_OK, "logEffort", "a step of %g s inside costs up to %d plain ones, where the motion asks for sub-steps", CJ_STEP, WORST);
    return cj_undo(s, status);
}

CJ_EXPORT cj_result FMI(Terminate)(void* s) { return go(s, __func__, RUNNING, CJ_TERMINATED); }

CJ_EXPORT cj_result FMI(Reset)(void* s)
{
    if (!may(s, __func__, ALWAYS & ~BETWEEN)) return CJ_ERROR;
    cj_reset(core(s));
    return CJ_OK;
}

/* -- values and steps ------------------------------------------------------------------------------ */

static cj_status set_values(void* s, const char* function, const unsigned* slots, size_t n, const double* values)
{
    if (!may(s, function, ALWAYS & ~TERMINATED)) return CJ_ERROR;
    cj_remember(core(s));
    return cj_undo(core(s), cj_set(core(s), slots, n, values));
}

static cj_status step_once(void* s, const char* function, double time, double length)
{
    return may(s, function, COSIMULATION | STEPPING) ? cj_do_step(core(s), time, length) : CJ_ERROR;
}

/* -- saved states: a host may keep several, and their bytes ------------------------------------------ */

typedef struct { char token[48]; uint64_t size; } cj_label;
typedef struct { cj_label label; uint64_t sum; cj_state state; } packed;
static const cj_label own = {CJ_TOKEN, sizeof(cj_state)};

/* Fowler, Noll and Vo's hash of a state's bytes: damage is seen. */
static uint64_t checksum(const cj_state* state)
{
    uint64_t sum = 14695981039346656037u;
    for (size_t k = 0; k < sizeof *state; ++k) sum = (sum ^ ((const unsigned char*)state)[k]) * 1099511628211u;
    return sum;
}

/* Whether an instance can be in a state: what comes from outside must not index, nor spread NaN. */
static int possible(const cj_instance* s, const cj_state* x)
{
    const int never = BETWEEN | (s->exchange ? STEPPING : s->events ? CONTINUOUS : EVENT | CONTINUOUS);
    int good = x->phase >= CJ_CREATED && x->phase <= CJ_TERMINATED && !(never & 1 << x->phase);
    for (size_t k = 0; k < offsetof(cj_state, independent) / sizeof(double); ++k) good &= isfinite(((const double*)x)[k]) != 0;
    for (int k = 0; k < NKINKS; ++k) good &= x->side[k] >= -1 && x->side[k] <= 1;
    for (int k = 0; k < NF; ++k) good &= x->independent[k] >= 0 && x->independent[k] < NV;
    return good;
}

static cj_status keep(const cj_state* what, void** state)
{
    if (!*state) *state = malloc(sizeof(cj_state));
    if (!*state) return CJ_ERROR;
    memcpy(*state, what, sizeof *what);
    return CJ_OK;
}

CJ_EXPORT cj_result FMI(GetFMUState)(void* s, void** state)
{
    return state && may(s, __func__, ALWAYS & ~BETWEEN) ? keep(&core(s)->now, state) : CJ_ERROR;
}

CJ_EXPORT cj_result FMI(SetFMUState)(void* s, void* state)
{
    if (!state || !may(s, __func__, ALWAYS & ~BETWEEN)) return CJ_ERROR;
    memcpy(&core(s)->now, state, sizeof(cj_state));
    cj_forget(core(s));
    return CJ_OK;
}

CJ_EXPORT cj_result FMI(FreeFMUState)(void* s, void** state)
{
    if (!s) return CJ_ERROR;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return CJ_OK;
}

CJ_EXPORT cj_result FMI(SerializedFMUStateSize)(void* s, void* state, size_t* size)
{
    if (!s || !state || !size) return CJ_ERROR;
    *size = sizeof(packed);
    return CJ_OK;
}

CJ_EXPORT cj_result FMI(SerializeFMUState)(void* s, void* state, cj_byte bytes[], size_t size)
{
    packed all;
    if (!s || !state || !bytes || size < sizeof all) return CJ_ERROR;
    memset(&all, 0, sizeof all);
    all.label = own;
    memcpy(&all.state, state, sizeof all.state);
    all.sum = checksum(&all.state);
    memcpy(bytes, &all, sizeof all);
    return CJ_OK;
}

CJ_EXPORT cj_result FMI(DeserializeFMUState)(void* s, const cj_byte bytes[], size_t size, void** state)
{
    packed all;
    if (!s || !state) return CJ_ERROR;
    if (bytes && size == sizeof all) memcpy(&all, bytes, sizeof all);
    if (!bytes || size != sizeof all || memcmp(&all.label, &own, sizeof own) != 0)
        return cj_refuse(s, "these bytes are not a state of this FMU");
    if (all.sum != checksum(&all.state)) return cj_refuse(s, "these bytes of a state are damaged");
    if (!possible(core(s), &all.state)) return cj_refuse(s, "these bytes are a state that this instance can't be in");
    return keep(&all.state, state);
}

/* -- model exchange ---------------------------------------------------------------------------------- */

/* Model exchange has an event mode, and co-simulation where the host wants one. */
static int with_events(void* s, int when) { return s && core(s)->events ? when : EXCHANGE | when; }

CJ_EXPORT cj_result FMI(EnterEventMode)(void* s) { return go(s, __func__, with_events(s, EVENT | CONTINUOUS | STEPPING), CJ_EVENT); }
CJ_EXPORT cj_result FMI(EnterContinuousTimeMode)(void* s) { return go(s, __func__, EXCHANGE | EVENT, CJ_CONTINUOUS); }

static cj_status handle_events(void* s, const char* function, int* changed)
{
    *changed = 0;
    if (!may(s, function, with_events(s, EVENT))) return CJ_ERROR;
    cj_remember(core(s));
    return cj_undo(core(s), core(s)->exchange ? cj_event(core(s), changed) : cj_event_between(core(s)));
}

CJ_EXPORT cj_result FMI(CompletedIntegratorStep)(void* s, cj_boolean no_set_state, cj_boolean* event, cj_boolean* terminate)
{
    double room = 0;
    cj_status status = CJ_ERROR;
    if (may(s, __func__, EXCHANGE | CONTINUOUS)) {
        cj_remember(core(s));
        status = cj_undo(core(s), cj_watch(core(s), 0, &room));
    }
    *event = room < 0;
    *terminate = status != CJ_OK;
    return status;
}

CJ_EXPORT cj_result FMI(SetTime)(void* s, double time)
{
    if (!may(s, __func__, EXCHANGE | EVENT | CONTINUOUS)) return CJ_ERROR;
    if (!isfinite(time)) return cj_refuse(s, "the time must be finite");
    core(s)->now.time = time;
    return CJ_OK;
}

static int counted(void* s, const char* function, int when, size_t n)
{
    if (!may(s, function, EXCHANGE | when) || !right_count(s, n, NX, "continuous states")) return 0;
    cj_remember(core(s));
    return 1;
}

CJ_EXPORT cj_result FMI(SetContinuousStates)(void* s, const double x[], size_t n)
{
    if (!counted(s, __func__, EVENT | CONTINUOUS, n)) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k)
        if (!isfinite(x[k])) return cj_refuse(s, "state %u was given %g; the states stay as they were", (unsigned)k + 1, x[k]);
    return cj_undo(core(s), cj_set_states(core(s), x));
}

CJ_EXPORT cj_result FMI(GetContinuousStates)(void* s, double x[], size_t n)
{
    return counted(s, __func__, ALWAYS, n) ? cj_undo(core(s), cj_get_states(core(s), x)) : CJ_ERROR;
}

CJ_EXPORT cj_result FMI(GetContinuousStateDerivatives)(void* s, double dx[], size_t n)
{
    return counted(s, __func__, ALWAYS, n) ? cj_undo(core(s), cj_rates(core(s), dx)) : CJ_ERROR;
}

CJ_EXPORT cj_result FMI(GetNominalsOfContinuousStates)(void* s, double x[], size_t n)
{
    if (!counted(s, __func__, ALWAYS, n)) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) x[k] = 1; /* radians, metres and their rates */
    return CJ_OK;
}

CJ_EXPORT cj_result FMI(GetEventIndicators)(void* s, double z[], size_t n)
{
    if (!may(s, __func__, EXCHANGE | ALWAYS) || !right_count(s, n, NZ, "event indicators")) return CJ_ERROR;
    cj_remember(core(s));
    return NZ ? cj_undo(core(s), cj_indicators(core(s), z)) : CJ_OK;
}

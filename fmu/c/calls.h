/* The calls that FMI 2.0 and 3.0 have in common: when each may be made, and what it does then.
 *
 * Included once, by fmi2.c or fmi3.c, which say before what FMI(name) stands for and how they spell the
 * names that differ, and define `cj_caller` (whom to tell) and `tell`. The pointer that a host holds is an
 * instance, which begins with its core; none at all is an error.
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
    char name[];
} instance;

/* When a call may be made: in some phases, and by some only on instances made for one interface. */
enum {
    CREATED = 1 << CJ_CREATED,
    INITIALIZING = 1 << CJ_INITIALIZING,
    EVENT = 1 << CJ_EVENT,
    CONTINUOUS = 1 << CJ_CONTINUOUS,
    STEPPING = 1 << CJ_STEPPING,
    RUNNING = EVENT | CONTINUOUS | STEPPING,
    TERMINATED = 1 << CJ_TERMINATED,
    ALWAYS = CREATED | INITIALIZING | RUNNING | TERMINATED,
    EXCHANGE = TERMINATED << 1,
    COSIMULATION = TERMINATED << 2
};

/* Whether a function may be called now; says why if not. */
static int may(cj_instance* s, const char* function, int when)
{
    static const char* const names[] = {"instantiated", "in initialization mode", "in event mode",
                                        "in continuous-time mode", "in step mode", "terminated"};
    if (!s) return 0;
    if (when & (s->exchange ? COSIMULATION : EXCHANGE))
        cj_refuse(s, "%s was called, but this instance was made for %s", function, s->exchange ? "model exchange" : "co-simulation");
    else if (!(when & 1 << s->now.phase))
        cj_refuse(s, "%s can't be called while the FMU is %s", function, names[s->now.phase]);
    else
        return 1;
    return 0;
}

static cj_status go(cj_instance* s, const char* function, int when, cj_phase to)
{
    if (!may(s, function, when)) return CJ_ERROR;
    s->now.phase = to;
    return CJ_OK;
}

static int right_count(cj_instance* s, size_t given, size_t wanted, const char* what)
{
    if (given == wanted) return 1;
    cj_refuse(s, "there are %u %s, not %u", (unsigned)wanted, what, (unsigned)given);
    return 0;
}

static cj_status absent(cj_instance* s, const char* what) { return cj_refuse(s, "this FMU does not offer %s", what); }

/* -- life ---------------------------------------------------------------------------------------- */

/* A new instance; NULL after telling why there is none. */
static void* create(cj_caller caller, const char* name, const char* token, int logging, int exchange)
{
    const char* problem = NULL;
    if (!name || !*name) problem = "an instance needs a name";
    else if (!token || strcmp(token, CJ_TOKEN) != 0)
        problem = "the " TOKEN_NAME " differs from this binary's; modelDescription.xml and binary belong to different exports";
    instance* c = problem ? NULL : calloc(1, sizeof *c + strlen(name) + 1);
    if (!c) {
        tell(&caller, CJ_ERROR, "logStatusError", problem ? problem : "not enough memory");
        return NULL;
    }
    strcpy(c->name, name);
    caller.name = c->name;
    c->caller = caller;
    c->core.log = tell;
    c->core.host = &c->caller;
    c->core.logging = logging;
    cj_begin(&c->core, exchange);
    return c;
}

CJ_EXPORT void FMI(FreeInstance)(void* s) { free(s); }

CJ_EXPORT FMI(Status) FMI(SetDebugLogging)(void* s, FMI(Boolean) on, size_t n, const char* const categories[])
{
    if (!s) return CJ_ERROR;
    ((cj_instance*)s)->logging = on; /* there is little to say: all categories or none */
    return CJ_OK;
}

static cj_status set_start(cj_instance* s, const char* function, double start)
{
    if (!may(s, function, CREATED)) return CJ_ERROR;
    if (!isfinite(start)) return cj_refuse(s, "the start time must be finite");
    s->now.time = start;
    return CJ_OK;
}

CJ_EXPORT FMI(Status) FMI(ExitInitializationMode)(void* p)
{
    cj_instance* s = p;
    double room;
    if (!may(s, __func__, INITIALIZING)) return CJ_ERROR;
    cj_status status = cj_assemble(s);
    if (status == CJ_OK && s->exchange) status = cj_new_chart(s);
    if (status == CJ_OK && s->exchange) status = cj_watch(s, 1, &room);
    if (status == CJ_OK) s->now.phase = s->exchange ? CJ_EVENT : CJ_STEPPING;
    return status;
}

CJ_EXPORT FMI(Status) FMI(Terminate)(void* s) { return go(s, __func__, RUNNING, CJ_TERMINATED); }

CJ_EXPORT FMI(Status) FMI(Reset)(void* s)
{
    if (!s) return CJ_ERROR;
    cj_reset(s);
    return CJ_OK;
}

/* -- values and steps ------------------------------------------------------------------------------ */

static cj_status get_values(cj_instance* s, const unsigned* slots, size_t n, double* values)
{
    cj_status worst = CJ_OK;
    if (!s) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) {
        const cj_status status = cj_get(s, slots[k], values + k);
        if (status > worst) worst = status;
    }
    return worst;
}

static cj_status set_values(cj_instance* s, const char* function, const unsigned* slots, size_t n, const double* values)
{
    return may(s, function, ALWAYS & ~TERMINATED) ? cj_set(s, slots, n, values) : CJ_ERROR;
}

static cj_status step_once(cj_instance* s, const char* function, double time, double length)
{
    return may(s, function, COSIMULATION | STEPPING) ? cj_do_step(s, time, length) : CJ_ERROR;
}

/* -- saved states: a host may keep several, and their bytes ------------------------------------------ */

typedef struct { char token[48]; uint64_t size; } label;
typedef struct { label label; uint64_t sum; cj_state state; } packed;
static const label own = {CJ_TOKEN, sizeof(cj_state)};

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
    const int never = s->exchange ? STEPPING : EVENT | CONTINUOUS;
    int good = x->phase >= CJ_CREATED && x->phase <= CJ_TERMINATED && !(never & 1 << x->phase);
    for (size_t k = 0; k < offsetof(cj_state, independent) / sizeof(double); ++k) good &= isfinite(((const double*)x)[k]) != 0;
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

CJ_EXPORT FMI(Status) FMI(GetFMUState)(void* s, void** state)
{
    return s && state ? keep(&((cj_instance*)s)->now, state) : CJ_ERROR;
}

CJ_EXPORT FMI(Status) FMI(SetFMUState)(void* s, void* state)
{
    if (!s || !state) return CJ_ERROR;
    memcpy(&((cj_instance*)s)->now, state, sizeof(cj_state));
    cj_forget(s);
    return CJ_OK;
}

CJ_EXPORT FMI(Status) FMI(FreeFMUState)(void* s, void** state)
{
    if (!s) return CJ_ERROR;
    if (state) {
        free(*state);
        *state = NULL;
    }
    return CJ_OK;
}

CJ_EXPORT FMI(Status) FMI(SerializedFMUStateSize)(void* s, void* state, size_t* size)
{
    if (!s || !state || !size) return CJ_ERROR;
    *size = sizeof(packed);
    return CJ_OK;
}

CJ_EXPORT FMI(Status) FMI(SerializeFMUState)(void* s, void* state, FMI(Byte) bytes[], size_t size)
{
    packed all = {.label = own};
    if (!s || !state || !bytes || size < sizeof all) return CJ_ERROR;
    memcpy(&all.state, state, sizeof all.state);
    all.sum = checksum(&all.state);
    memcpy(bytes, &all, sizeof all);
    return CJ_OK;
}

CJ_EXPORT FMI(Status) FMI(DeserializeFMUState)(void* s, const FMI(Byte) bytes[], size_t size, void** state)
{
    packed all;
    if (!s || !state) return CJ_ERROR;
    if (bytes && size == sizeof all) memcpy(&all, bytes, sizeof all);
    if (!bytes || size != sizeof all || memcmp(&all.label, &own, sizeof own) != 0)
        return cj_refuse(s, "these bytes are not a state of this FMU");
    if (all.sum != checksum(&all.state)) return cj_refuse(s, "these bytes of a state are damaged");
    if (!possible(s, &all.state)) return cj_refuse(s, "these bytes are a state that this instance can't be in");
    return keep(&all.state, state);
}

/* -- model exchange ---------------------------------------------------------------------------------- */

CJ_EXPORT FMI(Status) FMI(EnterEventMode)(void* s) { return go(s, __func__, EXCHANGE | EVENT | CONTINUOUS, CJ_EVENT); }
CJ_EXPORT FMI(Status) FMI(EnterContinuousTimeMode)(void* s) { return go(s, __func__, EXCHANGE | EVENT, CJ_CONTINUOUS); }

static cj_status handle_events(cj_instance* s, const char* function, int* changed)
{
    *changed = 0;
    return may(s, function, EXCHANGE | EVENT) ? cj_event(s, changed) : CJ_ERROR;
}

CJ_EXPORT FMI(Status) FMI(CompletedIntegratorStep)(void* s, FMI(Boolean) no_set_state, FMI(Boolean)* event, FMI(Boolean)* terminate)
{
    double room = 0;
    const cj_status status = may(s, __func__, EXCHANGE | CONTINUOUS) ? cj_watch(s, 0, &room) : CJ_ERROR;
    *event = room < 0;
    *terminate = status != CJ_OK;
    return status;
}

CJ_EXPORT FMI(Status) FMI(SetTime)(void* s, double time)
{
    if (!may(s, __func__, EXCHANGE | EVENT | CONTINUOUS)) return CJ_ERROR;
    if (!isfinite(time)) return cj_refuse(s, "the time must be finite");
    ((cj_instance*)s)->now.time = time;
    return CJ_OK;
}

static int counted(cj_instance* s, const char* function, int when, size_t n)
{
    return may(s, function, EXCHANGE | when) && right_count(s, n, NX, "continuous states");
}

CJ_EXPORT FMI(Status) FMI(SetContinuousStates)(void* s, const double x[], size_t n)
{
    if (!counted(s, __func__, EVENT | CONTINUOUS, n)) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k)
        if (!isfinite(x[k])) return cj_refuse(s, "state %u was given %g; the states stay as they were", (unsigned)k + 1, x[k]);
    cj_set_states(s, x);
    return CJ_OK;
}

CJ_EXPORT FMI(Status) FMI(GetContinuousStates)(void* s, double x[], size_t n)
{
    return counted(s, __func__, ALWAYS, n) ? cj_get_states(s, x) : CJ_ERROR;
}

CJ_EXPORT FMI(Status) FMI(GetContinuousStateDerivatives)(void* s, double dx[], size_t n)
{
    return counted(s, __func__, ALWAYS, n) ? cj_rates(s, dx) : CJ_ERROR;
}

CJ_EXPORT FMI(Status) FMI(GetNominalsOfContinuousStates)(void* s, double x[], size_t n)
{
    if (!counted(s, __func__, ALWAYS, n)) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) x[k] = 1; /* radians, metres and their rates */
    return CJ_OK;
}

CJ_EXPORT FMI(Status) FMI(GetEventIndicators)(void* s, double z[], size_t n)
{
    if (!may(s, __func__, EXCHANGE | ALWAYS) || !right_count(s, n, NZ, "event indicators")) return CJ_ERROR;
    return NZ ? cj_watch(s, 0, z) : CJ_OK;
}

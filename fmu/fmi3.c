/* FMI 3.0: model exchange and co-simulation on one core. The types below are the standard's ABI. */
#include "core.h"
#include "variables.h" /* value reference -> first slot and number of slots */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef cj_status fmi3Status;
typedef unsigned int vref;
typedef void (*fmi3Logger)(void*, int, const char*, const char*);

typedef struct {
    cj_instance core; /* first, so that an instance is a core too */
    fmi3Logger logger;
    void* environment;
    unsigned slots[2][CJ_ROOM(SLOT_END)]; /* room to write out arrays */
} instance;

#define PHASES(...) (const cj_phase[]){__VA_ARGS__}, sizeof((const cj_phase[]){__VA_ARGS__}) / sizeof(cj_phase)

/* Whether a function may be called now; says what to do instead. */
static int may(instance* c, const char* function, const cj_phase* phases, size_t n)
{
    if (!c) return 0;
    for (size_t k = 0; k < n; ++k)
        if (c->core.now.phase == (int)phases[k]) return 1;
    static const char* const names[] = {"instantiated", "in initialization mode", "in event mode",
                                        "in continuous-time mode", "in step mode", "terminated"};
    cj_say(&c->core, CJ_ERROR, "logStatusError", "%s can't be called while the FMU is %s", function,
           names[c->core.now.phase]);
    return 0;
}

static int is_exchange(instance* c, const char* function, int exchange)
{
    if (!c) return 0;
    if (c->core.exchange == exchange) return 1;
    cj_say(&c->core, CJ_ERROR, "logStatusError", "%s was called, but this instance was made for %s", function,
           exchange ? "co-simulation" : "model exchange");
    return 0;
}

static fmi3Status absent(void* p, const char* what)
{
    if (p) cj_say(&((instance*)p)->core, CJ_ERROR, "logStatusError", "this FMU does not offer %s", what);
    return CJ_ERROR;
}

static void tell(void* host, cj_status status, const char* category, const char* message)
{
    instance* c = host;
    if (c->logger) c->logger(c->environment, (int)status, category, message);
}

static void* create(const char* name, const char* token, bool logging, void* environment, fmi3Logger logger, int exchange)
{
    const char* problem = NULL;
    if (!name || !*name) problem = "an instance needs a name";
    else if (!cj_same_token(token)) problem = "the instantiation token differs from this binary's; modelDescription.xml and binary belong to different exports";
    instance* c = problem ? NULL : calloc(1, sizeof *c);
    if (!c) {
        if (logger) logger(environment, CJ_ERROR, "logStatusError", problem ? problem : "not enough memory");
        return NULL;
    }
    c->logger = logger;
    c->environment = environment;
    c->core.log = tell;
    c->core.host = c;
    c->core.logging = logging;
    cj_begin(&c->core, exchange);
    return c;
}

CJ_EXPORT const char* fmi3GetVersion(void) { return "3.0"; }

CJ_EXPORT fmi3Status fmi3SetDebugLogging(void* p, bool on, size_t n, const char* const categories[])
{
    (void)n; (void)categories; /* there is little to say: all categories or none */
    if (!p) return CJ_ERROR;
    ((instance*)p)->core.logging = on;
    return CJ_OK;
}

CJ_EXPORT void* fmi3InstantiateModelExchange(const char* name, const char* token, const char* resources, bool visible,
                                             bool logging, void* environment, fmi3Logger logger)
{
    (void)resources; (void)visible; /* everything is in the code */
    return create(name, token, logging, environment, logger, 1);
}

CJ_EXPORT void* fmi3InstantiateCoSimulation(const char* name, const char* token, const char* resources, bool visible,
                                            bool logging, bool event_mode, bool early_return, const vref intermediate[],
                                            size_t n, void* environment, fmi3Logger logger, void* update)
{
    (void)resources; (void)visible; (void)early_return; (void)intermediate; (void)update; (void)n;
    if (event_mode) {
        if (logger) logger(environment, CJ_ERROR, "logStatusError", "this FMU has no event mode in co-simulation");
        return NULL;
    }
    return create(name, token, logging, environment, logger, 0);
}

CJ_EXPORT void* fmi3InstantiateScheduledExecution(const char* name, const char* token, const char* resources, bool visible,
                                                  bool logging, void* environment, fmi3Logger logger, void* a, void* b, void* c)
{
    (void)name; (void)token; (void)resources; (void)visible; (void)logging; (void)a; (void)b; (void)c;
    if (logger) logger(environment, CJ_ERROR, "logStatusError", "this FMU does not offer scheduled execution");
    return NULL;
}

CJ_EXPORT void fmi3FreeInstance(void* p) { free(p); }

CJ_EXPORT fmi3Status fmi3EnterInitializationMode(void* p, bool has_tolerance, double tolerance, double start, bool has_stop, double stop)
{
    instance* c = p;
    (void)has_tolerance; (void)tolerance; (void)has_stop; (void)stop;
    if (!may(c, "fmi3EnterInitializationMode", PHASES(CJ_CREATED))) return CJ_ERROR;
    if (!isfinite(start)) {
        cj_say(&c->core, CJ_ERROR, "logStatusError", "the start time must be finite");
        return CJ_ERROR;
    }
    c->core.now.time = start;
    c->core.now.phase = CJ_INITIALIZING;
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3ExitInitializationMode(void* p)
{
    instance* c = p;
    if (!may(c, "fmi3ExitInitializationMode", PHASES(CJ_INITIALIZING))) return CJ_ERROR;
    cj_status status = cj_initialized(&c->core);
    if (status == CJ_OK) c->core.now.phase = c->core.exchange ? CJ_EVENT : CJ_STEPPING;
    return status;
}

CJ_EXPORT fmi3Status fmi3Terminate(void* p)
{
    instance* c = p;
    if (!may(c, "fmi3Terminate", PHASES(CJ_EVENT, CJ_CONTINUOUS, CJ_STEPPING))) return CJ_ERROR;
    c->core.now.phase = CJ_TERMINATED;
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3Reset(void* p)
{
    if (!p) return CJ_ERROR;
    cj_reset(&((instance*)p)->core);
    return CJ_OK;
}

/* -- values: a value reference names a whole array -------------------------------------------------- */

/* Slots of some value references in c->slots[which]; the count, or -1 with a message. */
static long write_out(instance* c, int which, const vref* references, size_t n)
{
    long count = 0;
    for (size_t k = 0; k < n; ++k) {
        if (references[k] >= NVARIABLES || variables[references[k]].integer) {
            cj_say(&c->core, CJ_ERROR, "logStatusError", "there is no Float64 variable with value reference %u", references[k]);
            return -1;
        }
        if (count + (long)variables[references[k]].count > SLOT_END) {
            cj_say(&c->core, CJ_ERROR, "logStatusError", "a value reference is given twice");
            return -1;
        }
        for (unsigned i = 0; i < variables[references[k]].count; ++i)
            c->slots[which][count++] = variables[references[k]].slot + i;
    }
    return count;
}

static int right_count(instance* c, size_t given, size_t wanted, const char* what)
{
    if (given == wanted) return 1;
    cj_say(&c->core, CJ_ERROR, "logStatusError", "there are %u %s, not %u", (unsigned)wanted, what, (unsigned)given);
    return 0;
}

CJ_EXPORT fmi3Status fmi3GetFloat64(void* p, const vref references[], size_t n, double values[], size_t count)
{
    instance* c = p;
    cj_status worst = CJ_OK;
    size_t at = 0;
    if (!c) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) {
        const long size = write_out(c, 0, references + k, 1);
        if (size < 0 || (at + (size_t)size > count && !right_count(c, count, at + (size_t)size, "values"))) return CJ_ERROR;
        for (long i = 0; i < size; ++i) {
            const cj_status status = cj_get(&c->core, c->slots[0][i], values + at++);
            if (status > worst) worst = status;
        }
    }
    return right_count(c, count, at, "values") ? worst : CJ_ERROR;
}

CJ_EXPORT fmi3Status fmi3SetFloat64(void* p, const vref references[], size_t n, const double values[], size_t count)
{
    instance* c = p;
    if (!may(c, "fmi3SetFloat64", PHASES(CJ_CREATED, CJ_INITIALIZING, CJ_EVENT, CJ_CONTINUOUS, CJ_STEPPING))) return CJ_ERROR;
    const long size = write_out(c, 0, references, n);
    if (size < 0 || !right_count(c, count, (size_t)size, "values")) return CJ_ERROR;
    for (long k = 0; k < size; ++k) /* all or nothing */
        if (cj_check(&c->core, c->slots[0][k], values[k]) != CJ_OK) return CJ_ERROR;
    for (long k = 0; k < size; ++k) cj_put(&c->core, c->slots[0][k], values[k]);
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3GetInt32(void* p, const vref references[], size_t n, int32_t values[], size_t count)
{
    instance* c = p;
    size_t at = 0;
    if (!c) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) {
        if (references[k] >= NVARIABLES || !variables[references[k]].integer) return absent(p, "such an Int32 variable");
        for (unsigned i = 0; i < variables[references[k]].count && at < count; ++i)
            values[at++] = cj_coordinate(&c->core, variables[references[k]].slot - SLOT_COORDINATE + i);
    }
    return right_count(c, count, at, "values") ? CJ_OK : CJ_ERROR;
}

CJ_EXPORT fmi3Status fmi3GetDirectionalDerivative(void* p, const vref unknowns[], size_t nu, const vref knowns[], size_t nk,
                                                  const double seed[], size_t nseed, double result[], size_t nresult)
{
    instance* c = p;
    if (!may(c, "fmi3GetDirectionalDerivative", PHASES(CJ_INITIALIZING, CJ_EVENT, CJ_CONTINUOUS, CJ_STEPPING, CJ_TERMINATED)))
        return CJ_ERROR;
    const long rows = write_out(c, 0, unknowns, nu), columns = write_out(c, 1, knowns, nk);
    if (rows < 0 || columns < 0 || !right_count(c, nseed, (size_t)columns, "seeds")
        || !right_count(c, nresult, (size_t)rows, "sensitivities")) return CJ_ERROR;
    return cj_directional(&c->core, c->slots[0], (size_t)rows, c->slots[1], (size_t)columns, seed, result);
}

CJ_EXPORT fmi3Status fmi3GetAdjointDerivative(void* p, const vref unknowns[], size_t nu, const vref knowns[], size_t nk,
                                              const double seed[], size_t nseed, double result[], size_t nresult)
{
    instance* c = p;
    if (!may(c, "fmi3GetAdjointDerivative", PHASES(CJ_INITIALIZING, CJ_EVENT, CJ_CONTINUOUS, CJ_STEPPING, CJ_TERMINATED)))
        return CJ_ERROR;
    const long rows = write_out(c, 0, unknowns, nu), columns = write_out(c, 1, knowns, nk);
    if (rows < 0 || columns < 0 || !right_count(c, nseed, (size_t)rows, "seeds")
        || !right_count(c, nresult, (size_t)columns, "sensitivities")) return CJ_ERROR;
    return cj_adjoint(&c->core, c->slots[0], (size_t)rows, c->slots[1], (size_t)columns, seed, result);
}

/* -- saved states ------------------------------------------------------------------------------------ */

CJ_EXPORT fmi3Status fmi3GetFMUState(void* p, void** state)
{
    if (!p || !state) return CJ_ERROR;
    if (!*state) *state = malloc(sizeof(cj_state));
    if (!*state) return CJ_ERROR;
    memcpy(*state, &((instance*)p)->core.now, sizeof(cj_state));
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3SetFMUState(void* p, void* state)
{
    if (!p || !state) return CJ_ERROR;
    memcpy(&((instance*)p)->core.now, state, sizeof(cj_state));
    cj_forget(&((instance*)p)->core);
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3FreeFMUState(void* p, void** state)
{
    if (!p) return CJ_ERROR;
    if (state) { free(*state); *state = NULL; }
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3SerializedFMUStateSize(void* p, void* state, size_t* size)
{
    if (!p || !state || !size) return CJ_ERROR;
    *size = cj_saved_size();
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3SerializeFMUState(void* p, void* state, uint8_t bytes[], size_t size)
{
    if (!p || !state || !bytes || size < cj_saved_size()) return CJ_ERROR;
    cj_write_state(state, (char*)bytes);
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3DeserializeFMUState(void* p, const uint8_t bytes[], size_t size, void** state)
{
    cj_state read;
    if (!p || !state) return CJ_ERROR;
    if (!cj_read_state((const char*)bytes, size, &read)) {
        cj_say(&((instance*)p)->core, CJ_ERROR, "logStatusError", "these bytes are not a state of this FMU");
        return CJ_ERROR;
    }
    if (!*state) *state = malloc(sizeof(cj_state));
    if (!*state) return CJ_ERROR;
    memcpy(*state, &read, sizeof read);
    return CJ_OK;
}

/* -- model exchange ------------------------------------------------------------------------------------ */

CJ_EXPORT fmi3Status fmi3EnterEventMode(void* p)
{
    instance* c = p;
    if (!is_exchange(c, "fmi3EnterEventMode", 1) || !may(c, "fmi3EnterEventMode", PHASES(CJ_EVENT, CJ_CONTINUOUS))) return CJ_ERROR;
    c->core.now.phase = CJ_EVENT;
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3UpdateDiscreteStates(void* p, bool* again, bool* terminate, bool* nominals, bool* values,
                                              bool* next_event, double* next_time)
{
    instance* c = p;
    int changed = 0;
    if (!is_exchange(c, "fmi3UpdateDiscreteStates", 1) || !may(c, "fmi3UpdateDiscreteStates", PHASES(CJ_EVENT))) return CJ_ERROR;
    *again = *terminate = *nominals = *values = *next_event = false;
    *next_time = 0;
    const cj_status status = cj_event(&c->core, &changed);
    *values = changed != 0;
    return status;
}

CJ_EXPORT fmi3Status fmi3EvaluateDiscreteStates(void* p) { return p ? CJ_OK : CJ_ERROR; }

CJ_EXPORT fmi3Status fmi3EnterContinuousTimeMode(void* p)
{
    instance* c = p;
    if (!is_exchange(c, "fmi3EnterContinuousTimeMode", 1) || !may(c, "fmi3EnterContinuousTimeMode", PHASES(CJ_EVENT))) return CJ_ERROR;
    c->core.now.phase = CJ_CONTINUOUS;
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3CompletedIntegratorStep(void* p, bool no_set_state, bool* event, bool* terminate)
{
    instance* c = p;
    double room = 0;
    (void)no_set_state;
    if (!is_exchange(c, "fmi3CompletedIntegratorStep", 1) || !may(c, "fmi3CompletedIntegratorStep", PHASES(CJ_CONTINUOUS))) return CJ_ERROR;
    const cj_status status = cj_watch(&c->core, 0, &room);
    *terminate = status != CJ_OK;
    *event = room < 0;
    return status;
}

CJ_EXPORT fmi3Status fmi3SetTime(void* p, double time)
{
    instance* c = p;
    if (!is_exchange(c, "fmi3SetTime", 1) || !may(c, "fmi3SetTime", PHASES(CJ_EVENT, CJ_CONTINUOUS)) || !isfinite(time)) return CJ_ERROR;
    c->core.now.time = time;
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3SetContinuousStates(void* p, const double x[], size_t n)
{
    instance* c = p;
    if (!is_exchange(c, "fmi3SetContinuousStates", 1) || !may(c, "fmi3SetContinuousStates", PHASES(CJ_EVENT, CJ_CONTINUOUS))
        || !right_count(c, n, 2 * NF, "continuous states")) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k)
        if (!isfinite(x[k])) {
            cj_say(&c->core, CJ_ERROR, "logStatusError", "state %u was given %g; the states stay as they were", (unsigned)k + 1, x[k]);
            return CJ_ERROR;
        }
    cj_set_states(&c->core, x);
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3GetContinuousStateDerivatives(void* p, double dx[], size_t n)
{
    instance* c = p;
    if (!is_exchange(c, "fmi3GetContinuousStateDerivatives", 1) || !right_count(c, n, 2 * NF, "continuous states")) return CJ_ERROR;
    return cj_rates(&c->core, dx);
}

CJ_EXPORT fmi3Status fmi3GetEventIndicators(void* p, double z[], size_t n)
{
    instance* c = p;
    if (!is_exchange(c, "fmi3GetEventIndicators", 1) || !right_count(c, n, NZ, "event indicators")) return CJ_ERROR;
    return NZ ? cj_watch(&c->core, 0, z) : CJ_OK;
}

CJ_EXPORT fmi3Status fmi3GetContinuousStates(void* p, double x[], size_t n)
{
    instance* c = p;
    if (!is_exchange(c, "fmi3GetContinuousStates", 1) || !right_count(c, n, 2 * NF, "continuous states")) return CJ_ERROR;
    return cj_get_states(&c->core, x);
}

CJ_EXPORT fmi3Status fmi3GetNominalsOfContinuousStates(void* p, double x[], size_t n)
{
    instance* c = p;
    if (!is_exchange(c, "fmi3GetNominalsOfContinuousStates", 1) || !right_count(c, n, 2 * NF, "continuous states")) return CJ_ERROR;
    cj_nominals(&c->core, x);
    return CJ_OK;
}

CJ_EXPORT fmi3Status fmi3GetNumberOfEventIndicators(void* p, size_t* n) { *n = NZ; return p ? CJ_OK : CJ_ERROR; }
CJ_EXPORT fmi3Status fmi3GetNumberOfContinuousStates(void* p, size_t* n) { *n = 2 * NF; return p ? CJ_OK : CJ_ERROR; }

/* -- co-simulation -------------------------------------------------------------------------------------- */

CJ_EXPORT fmi3Status fmi3DoStep(void* p, double time, double length, bool no_set_state, bool* event, bool* terminate,
                                bool* early, double* last)
{
    instance* c = p;
    (void)no_set_state;
    if (!is_exchange(c, "fmi3DoStep", 0) || !may(c, "fmi3DoStep", PHASES(CJ_STEPPING))) return CJ_ERROR;
    const cj_status status = cj_do_step(&c->core, time, length);
    *event = *terminate = *early = false;
    *last = c->core.now.time;
    return status;
}

/* -- what this FMU has none of ---------------------------------------------------------------------------- */

#define EMPTY(name, type) \
    CJ_EXPORT fmi3Status name(void* p, const vref r[], size_t n, type v[], size_t m) \
    { (void)r; (void)v; (void)m; return p && n == 0 ? CJ_OK : absent(p, "variables of this type"); }
EMPTY(fmi3GetFloat32, float) EMPTY(fmi3GetInt8, int8_t) EMPTY(fmi3GetUInt8, uint8_t) EMPTY(fmi3GetInt16, int16_t)
EMPTY(fmi3GetUInt16, uint16_t) EMPTY(fmi3GetUInt32, uint32_t) EMPTY(fmi3GetInt64, int64_t) EMPTY(fmi3GetUInt64, uint64_t)
EMPTY(fmi3GetBoolean, bool) EMPTY(fmi3GetString, const char*)
EMPTY(fmi3SetFloat32, const float) EMPTY(fmi3SetInt8, const int8_t) EMPTY(fmi3SetUInt8, const uint8_t)
EMPTY(fmi3SetInt16, const int16_t) EMPTY(fmi3SetUInt16, const uint16_t) EMPTY(fmi3SetInt32, const int32_t)
EMPTY(fmi3SetUInt32, const uint32_t) EMPTY(fmi3SetInt64, const int64_t) EMPTY(fmi3SetUInt64, const uint64_t)
EMPTY(fmi3SetBoolean, const bool) EMPTY(fmi3SetString, const char* const)

CJ_EXPORT fmi3Status fmi3GetBinary(void* p, const vref r[], size_t n, size_t sizes[], const uint8_t* v[], size_t m)
{ (void)r; (void)sizes; (void)v; (void)m; return p && n == 0 ? CJ_OK : absent(p, "binary variables"); }
CJ_EXPORT fmi3Status fmi3SetBinary(void* p, const vref r[], size_t n, const size_t sizes[], const uint8_t* const v[], size_t m)
{ (void)r; (void)sizes; (void)v; (void)m; return p && n == 0 ? CJ_OK : absent(p, "binary variables"); }

/* Functions whose arguments are not looked at: the caller cleans up, so one shape serves them all. */
#define ABSENT(name, what) CJ_EXPORT fmi3Status name(void* p) { return absent(p, what); }
ABSENT(fmi3GetClock, "clocks") ABSENT(fmi3SetClock, "clocks") ABSENT(fmi3GetIntervalDecimal, "clocks")
ABSENT(fmi3GetIntervalFraction, "clocks") ABSENT(fmi3GetShiftDecimal, "clocks") ABSENT(fmi3GetShiftFraction, "clocks")
ABSENT(fmi3SetIntervalDecimal, "clocks") ABSENT(fmi3SetIntervalFraction, "clocks") ABSENT(fmi3SetShiftDecimal, "clocks")
ABSENT(fmi3SetShiftFraction, "clocks") ABSENT(fmi3ActivateModelPartition, "scheduled execution")
ABSENT(fmi3EnterConfigurationMode, "structural parameters") ABSENT(fmi3ExitConfigurationMode, "structural parameters")
ABSENT(fmi3EnterStepMode, "event mode in co-simulation")
ABSENT(fmi3GetOutputDerivatives, "output derivatives: velocities and accelerations are outputs themselves")
ABSENT(fmi3GetNumberOfVariableDependencies, "dependencies of elements; see modelDescription.xml")
ABSENT(fmi3GetVariableDependencies, "dependencies of elements; see modelDescription.xml")

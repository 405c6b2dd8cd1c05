/* FMI 3.0: model exchange and co-simulation on one core. The types below are the standard's ABI. */
#include "core.h"
#include "tables.h"
#include "variables.h" /* value reference -> first slot, number of slots, type */
#include <stdbool.h>
#include <stdint.h>

#ifdef CJ_STANDARD_HEADERS /* a test has the compiler compare all signatures with the standard's */
#include "fmi3Functions.h"
#else
typedef cj_status fmi3Status;
typedef bool fmi3Boolean;
typedef unsigned char fmi3Byte;
typedef int fmi3IntervalQualifier, fmi3DependencyKind;
typedef void (*fmi3LogMessageCallback)(void*, fmi3Status, const char*, const char*);
typedef void (*fmi3IntermediateUpdateCallback)(void*, double, bool, bool, bool, bool, bool*, double*);
typedef void (*fmi3ClockUpdateCallback)(void*);
typedef void (*fmi3LockPreemptionCallback)(void);
typedef void (*fmi3UnlockPreemptionCallback)(void);
#endif
typedef uint32_t vref;


typedef struct {
    fmi3LogMessageCallback logger;
    void* environment;
    const char* name;
    fmi3IntermediateUpdateCallback update;
} cj_caller;

static void tell(void* caller, cj_status status, const char* category, const char* message)
{
    const cj_caller* c = (const cj_caller*)caller;
    if (c->logger) c->logger(c->environment, (fmi3Status)status, category, message);
}

#define TOKEN_NAME "instantiation token"
#define FMI(name) FMI_(CJ_PREFIX, name)
#define FMI_(prefix, name) FMI__(prefix, name)
#define FMI__(prefix, name) prefix##fmi3##name
typedef fmi3Status cj_result;
typedef fmi3Boolean cj_boolean;
typedef fmi3Byte cj_byte;
#include "entry_points.h"

CJ_EXPORT const char* FMI(GetVersion)(void) { return "3.0"; }

CJ_EXPORT void* FMI(InstantiateModelExchange)(const char* name, const char* token, const char* resources, bool visible,
                                             bool logging, void* environment, fmi3LogMessageCallback logger)
{
    /* everything is in the code */
    const cj_caller caller = {logger, environment, name, NULL};
    return create(caller, name, token, logging, 1);
}

/* Inputs of a later time in the step: within the callback the host may set them. */
static void ask_inputs(cj_instance* s, double time)
{
    const cj_caller* c = (const cj_caller*)s->host;
    bool early = false;
    double at = time;
    s->now.phase = CJ_BETWEEN;
    c->update(c->environment, time, true, false, false, s->early != 0, &early, &at);
    s->now.phase = CJ_STEPPING;
    if (early && s->early && at <= time) s->returns_early = 1;
}

static void* refuse_instance(bool logging, void* environment, fmi3LogMessageCallback logger, const char* problem)
{
    if (logging && logger) logger(environment, CJ_ERROR, "logStatusError", problem);
    return NULL;
}

CJ_EXPORT void* FMI(InstantiateCoSimulation)(const char* name, const char* token, const char* resources, bool visible,
                                            bool logging, bool event_mode, bool early_return, const vref intermediate[],
                                            size_t n, void* environment, fmi3LogMessageCallback logger,
                                            fmi3IntermediateUpdateCallback update)
{
    const cj_caller caller = {logger, environment, name, update};
    void* s = create(caller, name, token, logging, 0);
    if (!s) return NULL;
    if (update && n > 0) core(s)->ask = ask_inputs;
    core(s)->early = early_return;
    core(s)->events = event_mode;
    if (event_mode) {
        core(s)->until_change = cj_until_change;
        core(s)->until_kink = cj_until_kink;
    }
    return s;
}

CJ_EXPORT void* FMI(InstantiateScheduledExecution)(const char* name, const char* token, const char* resources, bool visible,
                                                  bool logging, void* environment, fmi3LogMessageCallback logger,
                                                  fmi3ClockUpdateCallback a, fmi3LockPreemptionCallback b,
                                                  fmi3UnlockPreemptionCallback c)
{
    return refuse_instance(logging, environment, logger, "this FMU does not offer scheduled execution");
}

CJ_EXPORT fmi3Status FMI(EnterInitializationMode)(void* c, bool has_tolerance, double tolerance, double start, bool has_stop, double stop)
{
    const cj_status status = set_start(c, __func__, start, has_stop, stop);
    return status == CJ_OK ? go(c, __func__, CREATED, CJ_INITIALIZING) : status;
}

/* -- values: a value reference names a whole array -------------------------------------------------- */

/* Slots of some value references in c->slots[which]; the count, or -1 with a message. */
static long write_out(cj_instance* c, int which, const vref* references, size_t n)
{
    long count = 0;
    for (size_t k = 0; k < n; ++k) {
        if (references[k] >= NVARIABLES || variables[references[k]].type != A_FLOAT) {
            cj_refuse(c, "there is no Float64 variable with value reference %u", references[k]);
            return -1;
        }
        if (count + (long)variables[references[k]].count > SLOT_END) {
            cj_refuse(c, "a value reference is given twice");
            return -1;
        }
        for (unsigned i = 0; i < variables[references[k]].count; ++i)
            c->slots[which][count++] = variables[references[k]].slot + i;
    }
    return count;
}

/* Whether these are numbers that can be read, as many as the caller has room for; one may be asked for twice. */
static int all_there(cj_instance* c, const vref* references, size_t n, size_t count)
{
    size_t there = 0;
    for (size_t k = 0; k < n; ++k) {
        const long size = write_out(c, 0, references + k, 1);
        if (size < 0) return 0;
        there += (size_t)size;
    }
    return right_count(c, count, there, "values");
}

CJ_EXPORT fmi3Status FMI(GetFloat64)(void* p, const vref references[], size_t n, double values[], size_t count)
{
    cj_instance* c = core(p);
    cj_status worst = CJ_OK;
    if (!c || !all_there(c, references, n, count)) return CJ_ERROR;
    cj_remember(c);
    for (size_t k = 0; k < n; ++k)
        for (unsigned i = 0; i < variables[references[k]].count; ++i) {
            const cj_status status = cj_get(c, variables[references[k]].slot + i, values++);
            if (status > worst) worst = status;
        }
    return cj_undo(c, worst);
}

CJ_EXPORT fmi3Status FMI(SetFloat64)(void* p, const vref references[], size_t n, const double values[], size_t count)
{
    cj_instance* c = core(p);
    const long size = c ? write_out(c, 0, references, n) : -1;
    if (size < 0 || !right_count(c, count, (size_t)size, "values")) return CJ_ERROR;
    return set_values(c, __func__, c->slots[0], (size_t)size, values);
}

CJ_EXPORT fmi3Status FMI(GetInt32)(void* p, const vref references[], size_t n, int32_t values[], size_t count)
{
    cj_instance* c = core(p);
    size_t there = 0;
    if (!c) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) {
        if (references[k] >= NVARIABLES || variables[references[k]].type != AN_INTEGER) return absent(p, "such an Int32 variable");
        there += variables[references[k]].count;
    }
    if (!right_count(c, count, there, "values")) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k)
        for (unsigned i = 0; i < variables[references[k]].count; ++i)
            *values++ = cj_coordinate(c, variables[references[k]].slot - SLOT_COORDINATE + i);
    return CJ_OK;
}

CJ_EXPORT fmi3Status FMI(GetOutputDerivatives)(void* p, const vref references[], size_t n, const int32_t orders[], double values[],
                                              size_t count)
{
    cj_instance* c = core(p);
    cj_status status = CJ_OK;
    if (!may(p, __func__, COSIMULATION | (ALWAYS & ~CREATED)) || !all_there(c, references, n, count)) return CJ_ERROR;
    cj_remember(c);
    for (size_t k = 0; k < n; ++k)
        for (unsigned i = 0; i < variables[references[k]].count && status == CJ_OK; ++i) {
            const unsigned slot = variables[references[k]].slot + i;
            status = cj_output_rates(c, &slot, orders + k, 1, values++);
        }
    return cj_undo(c, status);
}

/* Derivatives of unknowns along a seed of the knowns, or of the seeded unknowns by the knowns. */
static cj_status differentiate(void* p, const char* function, int adjoint, const vref* unknowns, size_t nu, const vref* knowns,
                               size_t nk, const double* seed, size_t nseed, double* result, size_t nresult)
{
    cj_instance* c = core(p);
    if (!may(p, function, ALWAYS & ~CREATED)) return CJ_ERROR;
    const long rows = write_out(c, 0, unknowns, nu), columns = write_out(c, 1, knowns, nk);
    if (rows < 0 || columns < 0 || !right_count(c, nseed, (size_t)(adjoint ? rows : columns), "seeds")
        || !right_count(c, nresult, (size_t)(adjoint ? columns : rows), "sensitivities")) return CJ_ERROR;
    cj_remember(c);
    return cj_undo(c, (adjoint ? cj_adjoint : cj_directional)(c, c->slots[0], (size_t)rows, c->slots[1], (size_t)columns, seed, result));
}

#define DERIVATIVE(name, adjoint) \
    CJ_EXPORT fmi3Status FMI(name)(void* p, const vref unknowns[], size_t nu, const vref knowns[], size_t nk, \
                              const double seed[], size_t nseed, double result[], size_t nresult) \
    { return differentiate(p, __func__, adjoint, unknowns, nu, knowns, nk, seed, nseed, result, nresult); }
DERIVATIVE(GetDirectionalDerivative, 0)
DERIVATIVE(GetAdjointDerivative, 1)

/* -- events and steps ------------------------------------------------------------------------------------ */

CJ_EXPORT fmi3Status FMI(UpdateDiscreteStates)(void* c, bool* again, bool* terminate, bool* nominals, bool* values,
                                              bool* next_event, double* next_time)
{
    int changed;
    const cj_status status = handle_events(c, __func__, &changed);
    if (status == CJ_OK) memset(core(c)->now.ticks, 0, sizeof core(c)->now.ticks);
    *again = *terminate = *nominals = *next_event = false;
    *values = changed != 0;
    *next_time = status == CJ_OK && NSENSED > 0 ? cj_next_change(core(c)) : 0;
    *next_event = status == CJ_OK && NSENSED > 0;
    return status;
}

CJ_EXPORT fmi3Status FMI(EnterStepMode)(void* p) { return go(p, __func__, COSIMULATION | EVENT, CJ_STEPPING); }

CJ_EXPORT fmi3Status FMI(EvaluateDiscreteStates)(void* c) { return c ? CJ_OK : CJ_ERROR; }

CJ_EXPORT fmi3Status FMI(GetNumberOfEventIndicators)(void* c, size_t* n) { *n = NZ; return c ? CJ_OK : CJ_ERROR; }
CJ_EXPORT fmi3Status FMI(GetNumberOfContinuousStates)(void* c, size_t* n) { *n = NX; return c ? CJ_OK : CJ_ERROR; }

CJ_EXPORT fmi3Status FMI(DoStep)(void* c, double time, double length, bool no_set_state, bool* event, bool* terminate,
                                bool* early, double* last)
{
    const cj_status status = step_once(c, __func__, time, length);
    const int done = c && status <= CJ_WARNING;
    *event = done && core(c)->event;
    *early = done && core(c)->returns_early;
    *terminate = false;
    *last = c ? core(c)->now.time : 0;
    return status;
}

/* -- clocks: sensors tell something new when they tick, as the host knows in advance ------------------------- */

/* Whether all of these are clocks, and the function may be called. */
static int clocks(void* p, const char* function, int when, const vref* references, size_t n)
{
    if (!may(p, function, when)) return 0;
    for (size_t k = 0; k < n; ++k)
        if (references[k] >= NVARIABLES || variables[references[k]].type != A_CLOCK) {
            cj_refuse(p, "there is no clock with value reference %u", references[k]);
            return 0;
        }
    return 1;
}

#define CLOCK(k) (variables[r[k]].slot - SLOT_CLOCK)

CJ_EXPORT fmi3Status FMI(SetClock)(void* p, const vref r[], size_t n, const bool v[])
{
    if (!clocks(p, __func__, with_events(p, EVENT), r, n)) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) {
        core(p)->now.ticks[CLOCK(k)] = v[k];
        if (v[k]) cj_tell(core(p));
    }
    return CJ_OK;
}

CJ_EXPORT fmi3Status FMI(GetClock)(void* p, const vref r[], size_t n, bool v[])
{
    if (!clocks(p, __func__, with_events(p, EVENT), r, n)) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) v[k] = core(p)->now.ticks[CLOCK(k)] != 0;
    return CJ_OK;
}

CJ_EXPORT fmi3Status FMI(GetIntervalDecimal)(void* p, const vref r[], size_t n, double v[], fmi3IntervalQualifier q[])
{
    if (!clocks(p, __func__, INITIALIZING | EVENT, r, n)) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) {
        v[k] = clock_interval[CLOCK(k)];
        q[k] = (fmi3IntervalQualifier)1; /* unchanged: it is constant */
    }
    return CJ_OK;
}

CJ_EXPORT fmi3Status FMI(GetShiftDecimal)(void* p, const vref r[], size_t n, double v[])
{
    if (!clocks(p, __func__, INITIALIZING | EVENT, r, n)) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) v[k] = clock_shift[CLOCK(k)];
    return CJ_OK;
}

/* -- what this FMU has none of ---------------------------------------------------------------------------- */

#define EMPTY(name, type) \
    CJ_EXPORT fmi3Status FMI(name)(void* p, const vref r[], size_t n, type v[], size_t m) \
    { return p && n == 0 ? CJ_OK : absent(p, "variables of this type"); }
EMPTY(GetFloat32, float) EMPTY(GetInt8, int8_t) EMPTY(GetUInt8, uint8_t) EMPTY(GetInt16, int16_t)
EMPTY(GetUInt16, uint16_t) EMPTY(GetUInt32, uint32_t) EMPTY(GetInt64, int64_t) EMPTY(GetUInt64, uint64_t)
EMPTY(GetBoolean, bool) EMPTY(GetString, const char*)
EMPTY(SetFloat32, const float) EMPTY(SetInt8, const int8_t) EMPTY(SetUInt8, const uint8_t)
EMPTY(SetInt16, const int16_t) EMPTY(SetUInt16, const uint16_t) EMPTY(SetInt32, const int32_t)
EMPTY(SetUInt32, const uint32_t) EMPTY(SetInt64, const int64_t) EMPTY(SetUInt64, const uint64_t)
EMPTY(SetBoolean, const bool) EMPTY(SetString, const char* const)

CJ_EXPORT fmi3Status FMI(GetBinary)(void* p, const vref r[], size_t n, size_t sizes[], const uint8_t* v[], size_t m)
{ return p && n == 0 ? CJ_OK : absent(p, "binary variables"); }
CJ_EXPORT fmi3Status FMI(SetBinary)(void* p, const vref r[], size_t n, const size_t sizes[], const uint8_t* const v[], size_t m)
{ return p && n == 0 ? CJ_OK : absent(p, "binary variables"); }

#define ABSENT(name, what, ...) CJ_EXPORT fmi3Status FMI(name)(void* p, __VA_ARGS__) { return absent(p, what); }
#define CLOCKS(name, ...) ABSENT(name, "clocks of this kind", const vref r[], size_t n, __VA_ARGS__)
CLOCKS(GetIntervalFraction, uint64_t v[], uint64_t of[], fmi3IntervalQualifier q[])
CLOCKS(GetShiftFraction, uint64_t v[], uint64_t of[])
CLOCKS(SetIntervalDecimal, const double v[])
CLOCKS(SetIntervalFraction, const uint64_t v[], const uint64_t of[])
CLOCKS(SetShiftDecimal, const double v[])
CLOCKS(SetShiftFraction, const uint64_t v[], const uint64_t of[])
ABSENT(ActivateModelPartition, "scheduled execution", vref clock, double time)
ABSENT(GetNumberOfVariableDependencies, "dependencies of elements; see modelDescription.xml", vref r, size_t* n)
ABSENT(GetVariableDependencies, "dependencies of elements; see modelDescription.xml",
       vref r, size_t at[], vref on[], size_t there[], fmi3DependencyKind kinds[], size_t n)
CJ_EXPORT fmi3Status FMI(EnterConfigurationMode)(void* p) { return absent(p, "structural parameters"); }
CJ_EXPORT fmi3Status FMI(ExitConfigurationMode)(void* p) { return absent(p, "structural parameters"); }


/* FMI 3.0: model exchange and co-simulation on one core. The types below are the standard's ABI. */
#include "core.h"
#include "variables.h" /* value reference -> first slot and number of slots */
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


typedef struct { fmi3LogMessageCallback logger; void* environment; const char* name; } cj_caller;

static void tell(void* caller, cj_status status, const char* category, const char* message)
{
    const cj_caller* c = caller;
    if (c->logger) c->logger(c->environment, (int)status, category, message);
}

#define TOKEN_NAME "instantiation token"
#define FMI(name) fmi3##name
#include "calls.h"

CJ_EXPORT const char* fmi3GetVersion(void) { return "3.0"; }

CJ_EXPORT void* fmi3InstantiateModelExchange(const char* name, const char* token, const char* resources, bool visible,
                                             bool logging, void* environment, fmi3LogMessageCallback logger)
{
    /* everything is in the code */
    return create((cj_caller){logger, environment, name}, name, token, logging, 1);
}

static void* refuse_instance(void* environment, fmi3LogMessageCallback logger, const char* problem)
{
    if (logger) logger(environment, CJ_ERROR, "logStatusError", problem);
    return NULL;
}

CJ_EXPORT void* fmi3InstantiateCoSimulation(const char* name, const char* token, const char* resources, bool visible,
                                            bool logging, bool event_mode, bool early_return, const vref intermediate[],
                                            size_t n, void* environment, fmi3LogMessageCallback logger,
                                            fmi3IntermediateUpdateCallback update)
{
    if (event_mode) return refuse_instance(environment, logger, "this FMU has no event mode in co-simulation");
    return create((cj_caller){logger, environment, name}, name, token, logging, 0);
}

CJ_EXPORT void* fmi3InstantiateScheduledExecution(const char* name, const char* token, const char* resources, bool visible,
                                                  bool logging, void* environment, fmi3LogMessageCallback logger,
                                                  fmi3ClockUpdateCallback a, fmi3LockPreemptionCallback b,
                                                  fmi3UnlockPreemptionCallback c)
{
    return refuse_instance(environment, logger, "this FMU does not offer scheduled execution");
}

CJ_EXPORT fmi3Status fmi3EnterInitializationMode(void* c, bool has_tolerance, double tolerance, double start, bool has_stop, double stop)
{
    const cj_status status = set_start(c, __func__, start);
    return status == CJ_OK ? go(c, __func__, CREATED, CJ_INITIALIZING) : status;
}

/* -- values: a value reference names a whole array -------------------------------------------------- */

/* Slots of some value references in c->slots[which]; the count, or -1 with a message. */
static long write_out(cj_instance* c, int which, const vref* references, size_t n)
{
    long count = 0;
    for (size_t k = 0; k < n; ++k) {
        if (references[k] >= NVARIABLES || variables[references[k]].integer) {
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

CJ_EXPORT fmi3Status fmi3GetFloat64(void* p, const vref references[], size_t n, double values[], size_t count)
{
    cj_instance* c = p;
    cj_status worst = CJ_OK;
    size_t at = 0;
    if (!c) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) {
        const long size = write_out(c, 0, references + k, 1);
        if (size < 0 || (at + (size_t)size > count && !right_count(c, count, at + (size_t)size, "values"))) return CJ_ERROR;
        const cj_status status = get_values(c, c->slots[0], (size_t)size, values + at);
        if (status > worst) worst = status;
        at += (size_t)size;
    }
    return right_count(c, count, at, "values") ? worst : CJ_ERROR;
}

CJ_EXPORT fmi3Status fmi3SetFloat64(void* p, const vref references[], size_t n, const double values[], size_t count)
{
    cj_instance* c = p;
    const long size = c ? write_out(c, 0, references, n) : -1;
    if (size < 0 || !right_count(c, count, (size_t)size, "values")) return CJ_ERROR;
    return set_values(c, __func__, c->slots[0], (size_t)size, values);
}

CJ_EXPORT fmi3Status fmi3GetInt32(void* p, const vref references[], size_t n, int32_t values[], size_t count)
{
    cj_instance* c = p;
    size_t at = 0;
    if (!c) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) {
        if (references[k] >= NVARIABLES || !variables[references[k]].integer) return absent(p, "such an Int32 variable");
        for (unsigned i = 0; i < variables[references[k]].count && at < count; ++i)
            values[at++] = cj_coordinate(c, variables[references[k]].slot - SLOT_COORDINATE + i);
    }
    return right_count(c, count, at, "values") ? CJ_OK : CJ_ERROR;
}

/* Derivatives of unknowns along a seed of the knowns, or of the seeded unknowns by the knowns. */
static cj_status differentiate(void* p, const char* function, int adjoint, const vref* unknowns, size_t nu, const vref* knowns,
                               size_t nk, const double* seed, size_t nseed, double* result, size_t nresult)
{
    cj_instance* c = p;
    if (!may(p, function, ALWAYS & ~CREATED)) return CJ_ERROR;
    const long rows = write_out(c, 0, unknowns, nu), columns = write_out(c, 1, knowns, nk);
    if (rows < 0 || columns < 0 || !right_count(c, nseed, (size_t)(adjoint ? rows : columns), "seeds")
        || !right_count(c, nresult, (size_t)(adjoint ? columns : rows), "sensitivities")) return CJ_ERROR;
    return (adjoint ? cj_adjoint : cj_directional)(p, c->slots[0], (size_t)rows, c->slots[1], (size_t)columns, seed, result);
}

#define DERIVATIVE(name, adjoint) \
    CJ_EXPORT fmi3Status name(void* p, const vref unknowns[], size_t nu, const vref knowns[], size_t nk, \
                              const double seed[], size_t nseed, double result[], size_t nresult) \
    { return differentiate(p, __func__, adjoint, unknowns, nu, knowns, nk, seed, nseed, result, nresult); }
DERIVATIVE(fmi3GetDirectionalDerivative, 0)
DERIVATIVE(fmi3GetAdjointDerivative, 1)

/* -- events and steps ------------------------------------------------------------------------------------ */

CJ_EXPORT fmi3Status fmi3UpdateDiscreteStates(void* c, bool* again, bool* terminate, bool* nominals, bool* values,
                                              bool* next_event, double* next_time)
{
    int changed;
    const cj_status status = handle_events(c, __func__, &changed);
    *again = *terminate = *nominals = *next_event = false;
    *values = changed != 0;
    *next_time = 0;
    return status;
}

CJ_EXPORT fmi3Status fmi3EvaluateDiscreteStates(void* c) { return c ? CJ_OK : CJ_ERROR; }

CJ_EXPORT fmi3Status fmi3GetNumberOfEventIndicators(void* c, size_t* n) { *n = NZ; return c ? CJ_OK : CJ_ERROR; }
CJ_EXPORT fmi3Status fmi3GetNumberOfContinuousStates(void* c, size_t* n) { *n = NX; return c ? CJ_OK : CJ_ERROR; }

CJ_EXPORT fmi3Status fmi3DoStep(void* c, double time, double length, bool no_set_state, bool* event, bool* terminate,
                                bool* early, double* last)
{
    const cj_status status = step_once(c, __func__, time, length);
    *event = *terminate = *early = false;
    *last = c ? ((cj_instance*)c)->now.time : 0;
    return status;
}

/* -- what this FMU has none of ---------------------------------------------------------------------------- */

#define EMPTY(name, type) \
    CJ_EXPORT fmi3Status name(void* p, const vref r[], size_t n, type v[], size_t m) \
    { return p && n == 0 ? CJ_OK : absent(p, "variables of this type"); }
EMPTY(fmi3GetFloat32, float) EMPTY(fmi3GetInt8, int8_t) EMPTY(fmi3GetUInt8, uint8_t) EMPTY(fmi3GetInt16, int16_t)
EMPTY(fmi3GetUInt16, uint16_t) EMPTY(fmi3GetUInt32, uint32_t) EMPTY(fmi3GetInt64, int64_t) EMPTY(fmi3GetUInt64, uint64_t)
EMPTY(fmi3GetBoolean, bool) EMPTY(fmi3GetString, const char*)
EMPTY(fmi3SetFloat32, const float) EMPTY(fmi3SetInt8, const int8_t) EMPTY(fmi3SetUInt8, const uint8_t)
EMPTY(fmi3SetInt16, const int16_t) EMPTY(fmi3SetUInt16, const uint16_t) EMPTY(fmi3SetInt32, const int32_t)
EMPTY(fmi3SetUInt32, const uint32_t) EMPTY(fmi3SetInt64, const int64_t) EMPTY(fmi3SetUInt64, const uint64_t)
EMPTY(fmi3SetBoolean, const bool) EMPTY(fmi3SetString, const char* const)

CJ_EXPORT fmi3Status fmi3GetBinary(void* p, const vref r[], size_t n, size_t sizes[], const uint8_t* v[], size_t m)
{ return p && n == 0 ? CJ_OK : absent(p, "binary variables"); }
CJ_EXPORT fmi3Status fmi3SetBinary(void* p, const vref r[], size_t n, const size_t sizes[], const uint8_t* const v[], size_t m)
{ return p && n == 0 ? CJ_OK : absent(p, "binary variables"); }

#define ABSENT(name, what, ...) CJ_EXPORT fmi3Status name(void* p, __VA_ARGS__) { return absent(p, what); }
#define CLOCKS(name, ...) ABSENT(name, "clocks", const vref r[], size_t n, __VA_ARGS__)
CLOCKS(fmi3GetClock, bool v[])
CLOCKS(fmi3SetClock, const bool v[])
CLOCKS(fmi3GetIntervalDecimal, double v[], fmi3IntervalQualifier q[])
CLOCKS(fmi3GetIntervalFraction, uint64_t v[], uint64_t of[], fmi3IntervalQualifier q[])
CLOCKS(fmi3GetShiftDecimal, double v[])
CLOCKS(fmi3GetShiftFraction, uint64_t v[], uint64_t of[])
CLOCKS(fmi3SetIntervalDecimal, const double v[])
CLOCKS(fmi3SetIntervalFraction, const uint64_t v[], const uint64_t of[])
CLOCKS(fmi3SetShiftDecimal, const double v[])
CLOCKS(fmi3SetShiftFraction, const uint64_t v[], const uint64_t of[])
ABSENT(fmi3ActivateModelPartition, "scheduled execution", vref clock, double time)
ABSENT(fmi3GetOutputDerivatives, "output derivatives: velocities and accelerations are outputs themselves",
       const vref r[], size_t n, const int32_t orders[], double v[], size_t m)
ABSENT(fmi3GetNumberOfVariableDependencies, "dependencies of elements; see modelDescription.xml", vref r, size_t* n)
ABSENT(fmi3GetVariableDependencies, "dependencies of elements; see modelDescription.xml",
       vref r, size_t at[], vref on[], size_t there[], fmi3DependencyKind kinds[], size_t n)
CJ_EXPORT fmi3Status fmi3EnterConfigurationMode(void* p) { return absent(p, "structural parameters"); }
CJ_EXPORT fmi3Status fmi3ExitConfigurationMode(void* p) { return absent(p, "structural parameters"); }
CJ_EXPORT fmi3Status fmi3EnterStepMode(void* p) { return absent(p, "event mode in co-simulation"); }

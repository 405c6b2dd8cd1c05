/* FMI 2.0: model exchange and co-simulation on one core. */
#include "core.h"
#include <string.h>

#ifdef CJ_STANDARD_HEADERS /* a test has the compiler compare all signatures with the standard's */
#include "fmi2Functions.h"
#else
typedef int fmi2Type, fmi2StatusKind, fmi2Boolean;
typedef char fmi2Byte;
typedef cj_status fmi2Status; /* OK, warning, discard, error; fatal and pending never occur */
typedef void (*fmi2CallbackLogger)(void*, const char*, fmi2Status, const char*, const char*, ...);
typedef struct {
    fmi2CallbackLogger logger;
    void* (*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void*);
    void (*stepFinished)(void*, fmi2Status);
    void* componentEnvironment;
} fmi2CallbackFunctions;
typedef struct {
    int newDiscreteStatesNeeded, terminateSimulation, nominalsOfContinuousStatesChanged,
        valuesOfContinuousStatesChanged, nextEventTimeDefined;
    double nextEventTime;
} fmi2EventInfo;
#endif

typedef struct { fmi2CallbackFunctions host; const char* name; } cj_caller;

static void tell(void* caller, cj_status status, const char* category, const char* message)
{
    const cj_caller* c = (const cj_caller*)caller;
    char plain[1200]; /* as a format of its own: many hosts can't take the arguments behind one */
    size_t n = 0;
    for (; *message && n < sizeof plain - 2; ++message) {
        if (*message == '%') plain[n++] = '%';
        plain[n++] = *message;
    }
    plain[n] = 0;
    if (c->host.logger) c->host.logger(c->host.componentEnvironment, c->name ? c->name : "", (fmi2Status)status, category, plain);
}

#define TOKEN_NAME "GUID"
#define FMI(name) FMI_(CJ_PREFIX, name) /* after other spellings have been put in */
#define FMI_(prefix, name) FMI__(prefix, name)
#define FMI__(prefix, name) prefix##fmi2##name
typedef fmi2Status cj_result;
typedef fmi2Boolean cj_boolean;
typedef fmi2Byte cj_byte;
#define GetFMUState GetFMUstate
#define SetFMUState SetFMUstate
#define FreeFMUState FreeFMUstate
#define SerializedFMUStateSize SerializedFMUstateSize
#define SerializeFMUState SerializeFMUstate
#define DeserializeFMUState DeSerializeFMUstate
#define GetContinuousStateDerivatives GetDerivatives
#include "entry_points.h"

CJ_EXPORT const char* FMI(GetTypesPlatform)(void) { return "default"; }
CJ_EXPORT const char* FMI(GetVersion)(void) { return "2.0"; }

CJ_EXPORT void* FMI(Instantiate)(const char* name, fmi2Type type, const char* guid, const char* resources,
                                const fmi2CallbackFunctions* functions, int visible, int logging)
{
    /* everything is in the code */
    cj_caller caller;
    memset(&caller, 0, sizeof caller);
    caller.name = name;
    if (functions) caller.host = *functions;
    if (type == 0 || type == 1) return create(caller, name, guid, logging, type == 0);
    if (logging) tell(&caller, CJ_ERROR, "logStatusError", "the type must be model exchange (0) or co-simulation (1)");
    return NULL;
}

CJ_EXPORT fmi2Status FMI(SetupExperiment)(void* c, int has_tolerance, double tolerance, double start, int has_stop, double stop)
{
    return set_start(c, __func__, start, has_stop, stop);
}

CJ_EXPORT fmi2Status FMI(EnterInitializationMode)(void* c) { return go(c, __func__, CREATED, CJ_INITIALIZING); }

/* -- values ---------------------------------------------------------------------------------- */

CJ_EXPORT fmi2Status FMI(GetReal)(void* c, const unsigned vr[], size_t n, double value[])
{
    cj_status worst = CJ_OK;
    if (!c) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k)
        if (!cj_readable(vr[k])) return cj_refuse(c, "there is no real variable with value reference %u", vr[k]);
    cj_remember(core(c));
    for (size_t k = 0; k < n; ++k) {
        const cj_status status = cj_get(core(c), vr[k], value + k);
        if (status > worst) worst = status;
    }
    return cj_undo(core(c), worst);
}

CJ_EXPORT fmi2Status FMI(SetReal)(void* c, const unsigned vr[], size_t n, const double value[])
{
    return set_values(c, __func__, vr, n, value);
}

static fmi2Status nothing(void* c, size_t n, const char* type)
{
    return c && n == 0 ? CJ_OK : cj_refuse(c, "this FMU has no such %s variable", type);
}

CJ_EXPORT fmi2Status FMI(GetInteger)(void* c, const unsigned vr[], size_t n, int value[])
{
    if (!c) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k)
        if (!IN(vr[k], SLOT_COORDINATE, NF)) return nothing(c, 1, "integer");
    for (size_t k = 0; k < n; ++k) value[k] = cj_coordinate(core(c), vr[k] - SLOT_COORDINATE);
    return CJ_OK;
}

#define EMPTY(name, type, what) \
    CJ_EXPORT fmi2Status FMI(name)(void* c, const unsigned vr[], size_t n, type value[]) { return nothing(c, n, what); }
EMPTY(SetInteger, const int, "settable integer")
EMPTY(GetBoolean, int, "boolean")
EMPTY(SetBoolean, const int, "boolean")
EMPTY(GetString, const char*, "string")
EMPTY(SetString, const char* const, "string")

CJ_EXPORT fmi2Status FMI(GetDirectionalDerivative)(void* c, const unsigned unknowns[], size_t nu, const unsigned knowns[],
                                                  size_t nk, const double seed[], double result[])
{
    if (!may(c, __func__, ALWAYS & ~CREATED)) return CJ_ERROR;
    cj_remember(core(c));
    return cj_undo(core(c), cj_directional(core(c), unknowns, nu, knowns, nk, seed, result));
}

/* -- events and steps -------------------------------------------------------------------------- */

CJ_EXPORT fmi2Status FMI(NewDiscreteStates)(void* c, fmi2EventInfo* info)
{
    memset(info, 0, sizeof *info);
    const cj_status status = handle_events(c, __func__, &info->valuesOfContinuousStatesChanged);
    if (status == CJ_OK && NSENSED > 0) {
        info->nextEventTime = cj_next_change(core(c));
        info->nextEventTimeDefined = 1;
    }
    return status;
}

CJ_EXPORT fmi2Status FMI(DoStep)(void* c, double time, double length, int no_set_state)
{
    return step_once(c, __func__, time, length);
}

CJ_EXPORT fmi2Status FMI(CancelStep)(void* c) { return absent(c, "cancelling: a step ends before the call does"); }

CJ_EXPORT fmi2Status FMI(SetRealInputDerivatives)(void* c, const unsigned vr[], size_t n, const int order[], const double value[])
{
    cj_status status = may(c, __func__, COSIMULATION | (ALWAYS & ~TERMINATED)) ? CJ_OK : CJ_ERROR;
    for (size_t k = 0; k < n && status == CJ_OK; ++k) status = cj_check_input_rate(core(c), vr[k], order[k], value[k]);
    for (size_t k = 0; k < n && status == CJ_OK; ++k) core(c)->now.u[NU + vr[k] - SLOT_INPUT] = value[k];
    return status;
}

CJ_EXPORT fmi2Status FMI(GetRealOutputDerivatives)(void* c, const unsigned vr[], size_t n, const int order[], double value[])
{
    if (!may(c, __func__, COSIMULATION | (ALWAYS & ~CREATED))) return CJ_ERROR;
    cj_remember(core(c));
    return cj_undo(core(c), cj_output_rates(core(c), vr, order, n, value));
}

#define STATUS(name, type) \
    CJ_EXPORT fmi2Status FMI(name)(void* c, fmi2StatusKind kind, type* value) { return c ? CJ_DISCARD : CJ_ERROR; }
STATUS(GetStatus, fmi2Status)
STATUS(GetIntegerStatus, int)
STATUS(GetStringStatus, const char*)

CJ_EXPORT fmi2Status FMI(GetRealStatus)(void* c, fmi2StatusKind kind, double* value)
{
    if (!c || kind != 2) return CJ_DISCARD; /* 2: the last time that was reached */
    *value = core(c)->now.time;
    return CJ_OK;
}

CJ_EXPORT fmi2Status FMI(GetBooleanStatus)(void* c, fmi2StatusKind kind, int* value)
{
    if (!c || kind != 3) return CJ_DISCARD; /* 3: whether the FMU wants to end */
    *value = 0;
    return CJ_OK;
}

/* FMI 2.0: model exchange and co-simulation on one core. */
#include "core.h"
#include <stdlib.h>
#include <string.h>

#ifdef CJ_STANDARD_HEADERS /* a test has the compiler compare all signatures with the standard's */
#include "fmi2Functions.h"
#else
typedef int fmi2Type, fmi2StatusKind;
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

typedef struct {
    cj_instance core; /* first, so that a component is a core too */
    fmi2CallbackFunctions host;
    char* name;
} component;

static void tell(void* host, cj_status status, const char* category, const char* message)
{
    component* c = host;
    char plain[1200]; /* as a format of its own: many hosts can't take the arguments behind one */
    size_t n = 0;
    for (; *message && n < sizeof plain - 2; ++message) {
        if (*message == '%') plain[n++] = '%';
        plain[n++] = *message;
    }
    plain[n] = 0;
    if (c->host.logger) c->host.logger(c->host.componentEnvironment, c->name ? c->name : "", (fmi2Status)status, category, plain);
}

CJ_EXPORT const char* fmi2GetTypesPlatform(void) { return "default"; }
CJ_EXPORT const char* fmi2GetVersion(void) { return "2.0"; }

CJ_EXPORT fmi2Status fmi2SetDebugLogging(void* c, int on, size_t n, const char* const categories[])
{
    (void)n; (void)categories;
    return cj_set_logging(c, on);
}

CJ_EXPORT void* fmi2Instantiate(const char* name, fmi2Type type, const char* guid, const char* resources,
                                const fmi2CallbackFunctions* functions, int visible, int logging)
{
    (void)resources; (void)visible; /* everything is in the code */
    fmi2CallbackFunctions host;
    memset(&host, 0, sizeof host);
    if (functions) host = *functions;
    const char* problem = NULL;
    if (!name || !*name) problem = "an instance needs a name";
    else if (!cj_same_token(guid)) problem = "the GUID differs from this binary's; modelDescription.xml and binary belong to different exports";
    else if (type != 0 && type != 1) problem = "the type must be model exchange (0) or co-simulation (1)";
    if (problem) {
        if (host.logger)
            host.logger(host.componentEnvironment, name ? name : "", CJ_ERROR, "logStatusError", problem);
        return NULL;
    }
    component* c = calloc(1, sizeof *c);
    char* copy = malloc(strlen(name) + 1);
    if (!c || !copy) {
        free(c);
        free(copy);
        return NULL;
    }
    strcpy(copy, name);
    c->name = copy;
    c->host = host;
    c->core.log = tell;
    c->core.host = c;
    c->core.logging = logging;
    cj_begin(&c->core, type == 0);
    return c;
}

CJ_EXPORT void fmi2FreeInstance(void* c)
{
    if (!c) return;
    free(((component*)c)->name);
    free(c);
}

CJ_EXPORT fmi2Status fmi2SetupExperiment(void* c, int has_tolerance, double tolerance, double start, int has_stop, double stop)
{
    (void)has_tolerance; (void)tolerance; (void)has_stop; (void)stop;
    return cj_set_start(c, __func__, start);
}

CJ_EXPORT fmi2Status fmi2EnterInitializationMode(void* c) { return cj_enter_initialization(c, __func__); }
CJ_EXPORT fmi2Status fmi2ExitInitializationMode(void* c) { return cj_exit_initialization(c, __func__); }
CJ_EXPORT fmi2Status fmi2Terminate(void* c) { return cj_terminate(c, __func__); }
CJ_EXPORT fmi2Status fmi2Reset(void* c) { return cj_start_again(c); }

/* -- values ---------------------------------------------------------------------------------- */

CJ_EXPORT fmi2Status fmi2GetReal(void* c, const unsigned vr[], size_t n, double value[])
{
    return cj_get_values(c, vr, n, value);
}

CJ_EXPORT fmi2Status fmi2SetReal(void* c, const unsigned vr[], size_t n, const double value[])
{
    return cj_set_values(c, __func__, vr, n, value);
}

static fmi2Status nothing(void* p, size_t n, const char* type)
{
    return p && n == 0 ? CJ_OK : cj_refuse(p, "this FMU has no such %s variable", type);
}

CJ_EXPORT fmi2Status fmi2GetInteger(void* c, const unsigned vr[], size_t n, int value[])
{
    if (!c) return CJ_ERROR;
    for (size_t k = 0; k < n; ++k) {
        if (!IN(vr[k], SLOT_COORDINATE, NF)) return nothing(c, 1, "integer");
        value[k] = cj_coordinate(c, vr[k] - SLOT_COORDINATE);
    }
    return CJ_OK;
}

CJ_EXPORT fmi2Status fmi2SetInteger(void* p, const unsigned vr[], size_t n, const int value[]) { (void)vr; (void)value; return nothing(p, n, "settable integer"); }
CJ_EXPORT fmi2Status fmi2GetBoolean(void* p, const unsigned vr[], size_t n, int value[]) { (void)vr; (void)value; return nothing(p, n, "boolean"); }
CJ_EXPORT fmi2Status fmi2SetBoolean(void* p, const unsigned vr[], size_t n, const int value[]) { (void)vr; (void)value; return nothing(p, n, "boolean"); }
CJ_EXPORT fmi2Status fmi2GetString(void* p, const unsigned vr[], size_t n, const char* value[]) { (void)vr; (void)value; return nothing(p, n, "string"); }
CJ_EXPORT fmi2Status fmi2SetString(void* p, const unsigned vr[], size_t n, const char* const value[]) { (void)vr; (void)value; return nothing(p, n, "string"); }

CJ_EXPORT fmi2Status fmi2GetDirectionalDerivative(void* c, const unsigned unknowns[], size_t nu, const unsigned knowns[],
                                                  size_t nk, const double seed[], double result[])
{
    return cj_may_differentiate(c, __func__) ? cj_directional(c, unknowns, nu, knowns, nk, seed, result) : CJ_ERROR;
}

/* -- saved states ------------------------------------------------------------------------------ */

CJ_EXPORT fmi2Status fmi2GetFMUstate(void* c, void** state) { return cj_save(c, state); }
CJ_EXPORT fmi2Status fmi2SetFMUstate(void* c, void* state) { return cj_restore(c, state); }
CJ_EXPORT fmi2Status fmi2FreeFMUstate(void* c, void** state) { return cj_drop(c, state); }
CJ_EXPORT fmi2Status fmi2SerializedFMUstateSize(void* c, void* state, size_t* size) { return cj_pack_size(c, state, size); }
CJ_EXPORT fmi2Status fmi2SerializeFMUstate(void* c, void* state, char bytes[], size_t size) { return cj_pack(c, state, bytes, size); }
CJ_EXPORT fmi2Status fmi2DeSerializeFMUstate(void* c, const char bytes[], size_t size, void** state) { return cj_unpack(c, bytes, size, state); }

/* -- model exchange ------------------------------------------------------------------------------ */

CJ_EXPORT fmi2Status fmi2EnterEventMode(void* c) { return cj_enter_events(c, __func__); }

CJ_EXPORT fmi2Status fmi2NewDiscreteStates(void* c, fmi2EventInfo* info)
{
    memset(info, 0, sizeof *info);
    return cj_handle_events(c, __func__, &info->valuesOfContinuousStatesChanged);
}

CJ_EXPORT fmi2Status fmi2EnterContinuousTimeMode(void* c) { return cj_enter_continuous(c, __func__); }

CJ_EXPORT fmi2Status fmi2CompletedIntegratorStep(void* c, int no_set_state, int* event, int* terminate)
{
    (void)no_set_state;
    const cj_status status = cj_completed(c, __func__, event);
    *terminate = status != CJ_OK;
    return status;
}

CJ_EXPORT fmi2Status fmi2SetTime(void* c, double time) { return cj_set_time(c, __func__, time); }
CJ_EXPORT fmi2Status fmi2SetContinuousStates(void* c, const double x[], size_t n) { return cj_take_states(c, __func__, x, n); }
CJ_EXPORT fmi2Status fmi2GetContinuousStates(void* c, double x[], size_t n) { return cj_give_states(c, __func__, x, n); }
CJ_EXPORT fmi2Status fmi2GetDerivatives(void* c, double dx[], size_t n) { return cj_give_rates(c, __func__, dx, n); }
CJ_EXPORT fmi2Status fmi2GetEventIndicators(void* c, double z[], size_t n) { return cj_give_indicators(c, __func__, z, n); }
CJ_EXPORT fmi2Status fmi2GetNominalsOfContinuousStates(void* c, double x[], size_t n) { return cj_give_nominals(c, __func__, x, n); }

/* -- co-simulation ------------------------------------------------------------------------------- */

CJ_EXPORT fmi2Status fmi2DoStep(void* c, double time, double length, int no_set_state)
{
    (void)no_set_state;
    return cj_step_once(c, __func__, time, length);
}

CJ_EXPORT fmi2Status fmi2SetRealInputDerivatives(void* p, const unsigned vr[], size_t n, const int order[], const double value[])
{
    (void)vr; (void)n; (void)order; (void)value;
    return cj_absent(p, "input derivatives: inputs are held between communication points");
}

CJ_EXPORT fmi2Status fmi2GetRealOutputDerivatives(void* p, const unsigned vr[], size_t n, const int order[], double value[])
{
    (void)vr; (void)n; (void)order; (void)value;
    return cj_absent(p, "output derivatives: velocities and accelerations are outputs themselves");
}

CJ_EXPORT fmi2Status fmi2CancelStep(void* p) { return cj_absent(p, "cancelling: a step ends before the call does"); }

CJ_EXPORT fmi2Status fmi2GetStatus(void* p, fmi2StatusKind kind, fmi2Status* value) { (void)kind; (void)value; return p ? CJ_DISCARD : CJ_ERROR; }

CJ_EXPORT fmi2Status fmi2GetRealStatus(void* p, fmi2StatusKind kind, double* value)
{
    if (!p || kind != 2) return CJ_DISCARD; /* 2: the last time that was reached */
    *value = ((component*)p)->core.now.time;
    return CJ_OK;
}

CJ_EXPORT fmi2Status fmi2GetIntegerStatus(void* p, fmi2StatusKind kind, int* value) { (void)kind; (void)value; return p ? CJ_DISCARD : CJ_ERROR; }

CJ_EXPORT fmi2Status fmi2GetBooleanStatus(void* p, fmi2StatusKind kind, int* value)
{
    if (!p || kind != 3) return CJ_DISCARD; /* 3: whether the FMU wants to end */
    *value = 0;
    return CJ_OK;
}

CJ_EXPORT fmi2Status fmi2GetStringStatus(void* p, fmi2StatusKind kind, const char** value) { (void)kind; (void)value; return p ? CJ_DISCARD : CJ_ERROR; }

/* A host for FMI 2.0: loads an FMU with dlopen, checks it and times it.
 *
 *   fmu_host check LIBRARY GUID INPUTS OUTPUTS
 *   fmu_host stack LIBRARY GUID INPUTS OUTPUTS
 *   fmu_host bench LIBRARY GUID INPUTS OUTPUTS STEPS
 *   fmu_host save|resume LIBRARY GUID INPUTS OUTPUTS FILE
 *
 * INPUTS and OUTPUTS are value references with commas. Prints one `key value` per line; exit code 1
 * and a line on stderr if a check fails. Inner and communication step are 1 ms, inputs 10.
 */
#include "fmu_host.h"
#include <dlfcn.h>
#include <fenv.h>
#include <stdarg.h>

library fmi;
int logged;
char last_message[1024];

static void logger(void* e, const char* name, int status, const char* category, const char* format, ...)
{
    (void)e; (void)name; (void)status; (void)category;
    va_list list;
    va_start(list, format);
    vsnprintf(last_message, sizeof last_message, format, list);
    va_end(list);
    ++logged;
}

const callbacks host = {logger, calloc, free, NULL, NULL};

void fail(const char* what)
{
    fprintf(stderr, "fmu_host: %s (last message: %s)\n", what, last_message);
    exit(1);
}

void need(int right, const char* what) { if (!right) fail(what); }

void* symbol(void* library, const char* name)
{
    void* found = dlsym(library, name);
    if (!found) fail(name);
    return found;
}

static size_t numbers(const char* text, unsigned* out, size_t room)
{
    size_t n = 0;
    char* end;
    while (*text && *text != '-' && n < room) {
        out[n++] = (unsigned)strtoul(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
    return n;
}

static void load(const char* path)
{
    void* so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so) { fprintf(stderr, "fmu_host: %s\n", dlerror()); exit(1); }
    *(void**)&fmi.instantiate = symbol(so, "fmi2Instantiate");
    *(void**)&fmi.release = symbol(so, "fmi2FreeInstance");
    *(void**)&fmi.setup = symbol(so, "fmi2SetupExperiment");
    *(void**)&fmi.enter = symbol(so, "fmi2EnterInitializationMode");
    *(void**)&fmi.leave = symbol(so, "fmi2ExitInitializationMode");
    *(void**)&fmi.reset = symbol(so, "fmi2Reset");
    *(void**)&fmi.get = symbol(so, "fmi2GetReal");
    *(void**)&fmi.set = symbol(so, "fmi2SetReal");
    *(void**)&fmi.step = symbol(so, "fmi2DoStep");
    *(void**)&fmi.save = symbol(so, "fmi2GetFMUstate");
    *(void**)&fmi.restore = symbol(so, "fmi2SetFMUstate");
    *(void**)&fmi.drop = symbol(so, "fmi2FreeFMUstate");
    *(void**)&fmi.size = symbol(so, "fmi2SerializedFMUstateSize");
    *(void**)&fmi.pack = symbol(so, "fmi2SerializeFMUstate");
    *(void**)&fmi.unpack = symbol(so, "fmi2DeSerializeFMUstate");
    *(void**)&fmi.event = symbol(so, "fmi2EnterEventMode");
    *(void**)&fmi.discrete = symbol(so, "fmi2NewDiscreteStates");
    *(void**)&fmi.continuous = symbol(so, "fmi2EnterContinuousTimeMode");
    *(void**)&fmi.completed = symbol(so, "fmi2CompletedIntegratorStep");
    *(void**)&fmi.set_time = symbol(so, "fmi2SetTime");
    *(void**)&fmi.set_states = symbol(so, "fmi2SetContinuousStates");
    *(void**)&fmi.get_states = symbol(so, "fmi2GetContinuousStates");
    *(void**)&fmi.rates = symbol(so, "fmi2GetDerivatives");
    *(void**)&fmi.indicators = symbol(so, "fmi2GetEventIndicators");
    *(void**)&fmi.directional = symbol(so, "fmi2GetDirectionalDerivative");
}

void* start_as(const char* name, int type)
{
    void* c = fmi.instantiate(name, type, fmi.guid, "", &host, 0, 1);
    need(c != NULL, "no instance");
    need(fmi.setup(c, 0, 0, 0, 0, 0) == 0 && fmi.enter(c) == 0, "initialization did not begin");
    double ten[64];
    for (size_t k = 0; k < fmi.ni; ++k) ten[k] = 10;
    need(fmi.set(c, fmi.inputs, fmi.ni, ten) == 0 && fmi.leave(c) == 0, "initialization did not end");
    return c;
}

void* start(const char* name) { return start_as(name, 1); }

void run(void* c, int from, int steps)
{
    for (int n = from; n < from + steps; ++n) need(fmi.step(c, n * H, H, 1) == 0, "a step failed");
}

void read_all(void* c, double* y) { need(fmi.get(c, fmi.outputs, fmi.no, y) == 0, "outputs can't be read"); }

/* -- a state in a file, read by another process --------------------------------------------------------- */

static void print_outputs(void* c)
{
    double y[512];
    read_all(c, y);
    for (size_t k = 0; k < fmi.no; ++k) printf("%a\n", y[k]);
}

static void save(const char* path)
{
    void *c = start("one"), *state = NULL;
    size_t size;
    run(c, 0, 100);
    need(fmi.save(c, &state) == 0 && fmi.size(c, state, &size) == 0, "no state");
    char* bytes = malloc(size);
    need(fmi.pack(c, state, bytes, size) == 0, "no bytes");
    FILE* f = fopen(path, "wb");
    need(f && fwrite(bytes, 1, size, f) == size && fclose(f) == 0, "the file can't be written");
    free(bytes);
    run(c, 100, 100);
    print_outputs(c);
    fmi.drop(c, &state);
    fmi.release(c);
}

static void resume(const char* path)
{
    void *c = start("other"), *state = NULL;
    static char bytes[1 << 20];
    FILE* f = fopen(path, "rb");
    need(f != NULL, "the file can't be read");
    const size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    need(fmi.unpack(c, bytes, size, &state) == 0 && fmi.restore(c, state) == 0, "the state can't be restored");
    run(c, 100, 100);
    print_outputs(c);
    fmi.drop(c, &state);
    fmi.release(c);
}

int main(int n, char** word)
{
    if (n < 6) fail("too few arguments");
    const char* what = word[1];
    load(word[2]);
    fmi.guid = word[3];
    fmi.ni = numbers(word[4], fmi.inputs, 64);
    fmi.no = numbers(word[5], fmi.outputs, 512);
    feenableexcept(FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO); /* as some hosts do; threads inherit it */
    if (strcmp(what, "check") == 0) check();
    else if (strcmp(what, "stack") == 0) stack();
    else if (strcmp(what, "save") == 0 && n == 7) save(word[6]);
    else if (strcmp(what, "resume") == 0 && n == 7) resume(word[6]);
    else if (strcmp(what, "bench") == 0 && n == 7) bench(atol(word[6]));
    else fail("unknown arguments");
    return 0;
}

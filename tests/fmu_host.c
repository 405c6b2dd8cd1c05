/* A host for FMI 2.0 co-simulation: loads an FMU with dlopen, checks it and times it.
 *
 *   fmu_host check LIBRARY GUID INPUTS OUTPUTS
 *   fmu_host bench LIBRARY GUID INPUTS OUTPUTS STEPS
 *   fmu_host beside LIBRARY GUID INPUTS OUTPUTS ENGINE NUMBERS
 *                   [LIBRARY GUID INPUTS OUTPUTS LIBPYTHON RESOURCES of a pythonfmu FMU]
 *   fmu_host save|resume LIBRARY GUID INPUTS OUTPUTS FILE
 *
 * INPUTS and OUTPUTS are value references with commas. Prints one `key value` per line; exit code 1
 * and a line on stderr if a check fails. Inner and communication step are 1 ms, inputs 10.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    void (*logger)(void*, const char*, int, const char*, const char*, ...);
    void* (*allocate)(size_t, size_t);
    void (*release)(void*);
    void (*finished)(void*, int);
    void* environment;
} callbacks;

typedef struct { int again, terminate, nominals, values, next_defined; double next; } event_info;

typedef struct {
    void* (*instantiate)(const char*, int, const char*, const char*, const callbacks*, int, int);
    void (*release)(void*);
    int (*setup)(void*, int, double, double, int, double);
    int (*enter)(void*);
    int (*leave)(void*);
    int (*reset)(void*);
    int (*get)(void*, const unsigned*, size_t, double*);
    int (*set)(void*, const unsigned*, size_t, const double*);
    int (*step)(void*, double, double, int);
    int (*save)(void*, void**);
    int (*restore)(void*, void*);
    int (*drop)(void*, void**);
    int (*size)(void*, void*, size_t*);
    int (*pack)(void*, void*, char*, size_t);
    int (*unpack)(void*, const char*, size_t, void**);
    int (*event)(void*);
    int (*discrete)(void*, event_info*);
    int (*continuous)(void*);
    int (*completed)(void*, int, int*, int*);
    int (*set_time)(void*, double);
    int (*set_states)(void*, const double*, size_t);
    int (*get_states)(void*, double*, size_t);
    int (*rates)(void*, double*, size_t);
    int (*indicators)(void*, double*, size_t);
    const char *guid, *resources;
    unsigned inputs[64], outputs[512];
    size_t ni, no;
} library;

static library fmi; /* the FMU that the functions below call */
static int logged;
static char last_message[1024];
static const double H = 1e-3;

static void logger(void* e, const char* name, int status, const char* category, const char* format, ...)
{
    (void)e; (void)name; (void)status; (void)category;
    va_list list;
    va_start(list, format);
    vsnprintf(last_message, sizeof last_message, format, list);
    va_end(list);
    ++logged;
}

static const callbacks host = {logger, calloc, free, NULL, NULL};

static void fail(const char* what)
{
    fprintf(stderr, "fmu_host: %s (last message: %s)\n", what, last_message);
    exit(1);
}

static void need(int right, const char* what) { if (!right) fail(what); }

static void* symbol(void* library, const char* name)
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
    *(void**)&fmi.event = dlsym(so, "fmi2EnterEventMode"); /* pythonfmu's library has no model exchange */
    *(void**)&fmi.discrete = dlsym(so, "fmi2NewDiscreteStates");
    *(void**)&fmi.continuous = dlsym(so, "fmi2EnterContinuousTimeMode");
    *(void**)&fmi.completed = dlsym(so, "fmi2CompletedIntegratorStep");
    *(void**)&fmi.set_time = dlsym(so, "fmi2SetTime");
    *(void**)&fmi.set_states = dlsym(so, "fmi2SetContinuousStates");
    *(void**)&fmi.get_states = dlsym(so, "fmi2GetContinuousStates");
    *(void**)&fmi.rates = dlsym(so, "fmi2GetDerivatives");
    *(void**)&fmi.indicators = dlsym(so, "fmi2GetEventIndicators");
}

static void* start_as(const char* name, int type)
{
    void* c = fmi.instantiate(name, type, fmi.guid, fmi.resources, &host, 0, 0);
    need(c != NULL, "no instance");
    need(fmi.setup(c, 0, 0, 0, 0, 0) == 0 && fmi.enter(c) == 0, "initialization did not begin");
    double ten[64];
    for (size_t k = 0; k < fmi.ni; ++k) ten[k] = 10;
    need(fmi.set(c, fmi.inputs, fmi.ni, ten) == 0 && fmi.leave(c) == 0, "initialization did not end");
    return c;
}

static void* start(const char* name) { return start_as(name, 1); }

static void run(void* c, int from, int steps)
{
    for (int n = from; n < from + steps; ++n) need(fmi.step(c, n * H, H, 1) == 0, "a step failed");
}

static void read_all(void* c, double* y) { need(fmi.get(c, fmi.outputs, fmi.no, y) == 0, "outputs can't be read"); }

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long resident(void)
{
    long all = 0, here = 0;
    FILE* f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%ld %ld", &all, &here) != 2) here = 0;
    fclose(f);
    return here * 4;
}

/* -- checks ------------------------------------------------------------------------------------- */

static double alone[512];

static void* in_thread(void* number)
{
    double y[512];
    char name[16];
    snprintf(name, sizeof name, "t%d", *(int*)number);
    void* c = start(name);
    run(c, 0, 200);
    read_all(c, y);
    fmi.release(c);
    return memcmp(y, alone, fmi.no * sizeof(double)) == 0 ? number : NULL;
}

static void check_instances(void)
{
    double y[512];
    void *a = start("a"), *b = start("b");
    for (int n = 0; n < 200; ++n) {
        run(a, n, 1);
        if (n % 3 == 0) read_all(b, y);
        run(b, n, 1);
    }
    read_all(a, y);
    need(memcmp(y, alone, fmi.no * sizeof(double)) == 0, "two instances interleaved disturb each other");
    read_all(b, y);
    need(memcmp(y, alone, fmi.no * sizeof(double)) == 0, "two instances interleaved differ");
    fmi.release(a);
    fmi.release(b);
    pthread_t threads[4];
    int numbers_[4] = {0, 1, 2, 3};
    void* same[4];
    for (int k = 0; k < 4; ++k) pthread_create(threads + k, NULL, in_thread, numbers_ + k);
    for (int k = 0; k < 4; ++k) pthread_join(threads[k], same + k);
    for (int k = 0; k < 4; ++k) need(same[k] != NULL, "a thread's instance differs from one that runs alone");
}

static void check_states(void)
{
    double first[512], again[512];
    void *c = start("s"), *state = NULL, *copy = NULL;
    run(c, 0, 100);
    need(fmi.save(c, &state) == 0, "the state can't be saved");
    run(c, 100, 100);
    read_all(c, first);
    need(memcmp(first, alone, fmi.no * sizeof(double)) == 0, "saving a state changes the run");
    need(fmi.restore(c, state) == 0, "the state can't be restored");
    run(c, 100, 100);
    read_all(c, again);
    need(memcmp(first, again, fmi.no * sizeof(double)) == 0, "a restored run differs");
    size_t size = 0;
    need(fmi.size(c, state, &size) == 0 && size > 0, "no size of a state");
    char* bytes = malloc(size);
    need(fmi.pack(c, state, bytes, size) == 0 && fmi.unpack(c, bytes, size, &copy) == 0, "a state can't be serialized");
    need(fmi.restore(c, copy) == 0, "a serialized state can't be restored");
    run(c, 100, 100);
    read_all(c, again);
    need(memcmp(first, again, fmi.no * sizeof(double)) == 0, "a run from a serialized state differs");
    void* none = NULL;
    bytes[0] ^= 1;
    need(fmi.unpack(c, bytes, size, &none) == 3 && !none, "damaged bytes are taken for a state");
    bytes[0] ^= 1;
    need(fmi.unpack(c, bytes, size - 1, &none) == 3 && !none, "a cut-off state is taken for a whole one");
    free(bytes);
    need(fmi.drop(c, &state) == 0 && !state && fmi.drop(c, &copy) == 0 && fmi.drop(c, &copy) == 0, "states can't be freed");
    fmi.release(c);
}

/* Model exchange by Heun's method, an event asked for every 50 steps; a saved state goes on with the same bits. */
static void integrate(void* c, double* x, size_t n, int from, int steps)
{
    double dx[64], next[64], dx2[64], z;
    int event, terminate;
    event_info info;
    for (int k = from; k < from + steps; ++k) {
        need(fmi.set_time(c, k * H) == 0 && fmi.set_states(c, x, n) == 0 && fmi.rates(c, dx, n) == 0, "no rates");
        for (size_t i = 0; i < n; ++i) next[i] = x[i] + H * dx[i];
        need(fmi.set_time(c, (k + 1) * H) == 0 && fmi.set_states(c, next, n) == 0 && fmi.rates(c, dx2, n) == 0, "no rates");
        for (size_t i = 0; i < n; ++i) x[i] += 0.5 * H * (dx[i] + dx2[i]);
        need(fmi.set_states(c, x, n) == 0 && fmi.completed(c, 1, &event, &terminate) == 0 && !terminate, "a step is not completed");
        need(fmi.indicators(c, &z, 1) == 0 && isfinite(z) && (z < 0) == (event != 0), "the indicator and the event differ");
        if (!event && k % 50) continue;
        need(fmi.event(c) == 0 && fmi.discrete(c, &info) == 0 && fmi.continuous(c) == 0 && fmi.get_states(c, x, n) == 0, "no event");
    }
}

static void check_exchange(void)
{
    double first[512], again[512], x[64], y[64];
    event_info info;
    size_t n = 0;
    void *c = start_as("e", 0), *state = NULL;
    need(fmi.discrete(c, &info) == 0 && fmi.continuous(c) == 0, "no continuous time");
    while (n < 64 && fmi.get_states(c, x, n) != 0) ++n; /* a wrong number is refused */
    need(n > 0 && n < 64 && fmi.step(c, 0, H, 1) == 3, "model exchange takes steps");
    integrate(c, x, n, 0, 100);
    need(fmi.save(c, &state) == 0, "the state can't be saved");
    memcpy(y, x, sizeof y);
    integrate(c, x, n, 100, 100);
    read_all(c, first);
    for (size_t k = 0; k < fmi.no; ++k)
        need(fabs(first[k] - alone[k]) < 1e-3 * (1 + fabs(alone[k])), "model exchange and co-simulation differ");
    need(fmi.restore(c, state) == 0, "the state can't be restored");
    integrate(c, y, n, 100, 100);
    read_all(c, again);
    need(memcmp(first, again, fmi.no * sizeof(double)) == 0, "model exchange differs after a restored state");
    fmi.drop(c, &state);
    fmi.release(c);
}

static void refused(int status, const char* what)
{
    need(status == 3 && logged > 0 && last_message[0], what);
    logged = 0;
    last_message[0] = 0;
}

static void check_misuse(void)
{
    double before[512], after[512], value = 1;
    const unsigned unknown = 4000000000u;
    logged = 0;
    need(!fmi.instantiate("x", 1, "{wrong}", "", &host, 0, 0) && logged == 1, "a wrong GUID is accepted");
    need(!fmi.instantiate("x", 1, NULL, NULL, NULL, 0, 0), "no GUID and no callbacks are accepted");
    void* c = fmi.instantiate("x", 1, fmi.guid, "file:///no/such/folder", &host, 0, 0);
    need(c != NULL, "missing resources stop an FMU that needs none");
    logged = 0;
    refused(fmi.step(c, 0, H, 1), "a step before initialization is taken");
    fmi.release(c);
    c = start("m");
    run(c, 0, 10);
    read_all(c, before);
    logged = 0;
    refused(fmi.set(c, &unknown, 1, &value), "an unknown reference is set");
    refused(fmi.get(c, &unknown, 1, &value), "an unknown reference is read");
    refused(fmi.step(c, 0.01, -H, 1), "a negative step is taken");
    refused(fmi.step(c, 0.01, NAN, 1), "a step of NaN is taken");
    refused(fmi.step(c, 7, H, 1), "a step from another time is taken");
    for (int k = 0; fmi.ni && k < 3; ++k) {
        const double bad[] = {NAN, INFINITY, -INFINITY};
        refused(fmi.set(c, fmi.inputs, 1, bad + k), "a bad input is taken");
    }
    if (fmi.ni) {
        value = 1e300;
        need(fmi.set(c, fmi.inputs, 1, &value) == 0, "a huge input is finite");
        need(fmi.step(c, 0.01, H, 1) == 2 && logged, "an overflow is not told as discard");
        value = 10;
        need(fmi.set(c, fmi.inputs, 1, &value) == 0, "an input can't be set");
    }
    read_all(c, after);
    need(memcmp(before, after, fmi.no * sizeof(double)) == 0, "misuse changes the state");
    run(c, 10, 190);
    read_all(c, after);
    need(memcmp(alone, after, fmi.no * sizeof(double)) == 0, "a run after misuse differs");
    need(fmi.step(NULL, 0, H, 1) == 3 && fmi.get(NULL, &unknown, 1, &value) == 3, "no instance is not noticed");
    fmi.release(c);
    fmi.release(NULL);
}

static void check(void)
{
    void* c = start("alone");
    run(c, 0, 200);
    read_all(c, alone);
    need(fmi.reset(c) == 0 && fmi.setup(c, 0, 0, 0, 0, 0) == 0 && fmi.enter(c) == 0, "no reset");
    fmi.release(c);
    check_instances();
    check_states();
    check_exchange();
    check_misuse();
    printf("checks passed\n");
}

/* -- time ----------------------------------------------------------------------------------------- */

static int ascending(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void bench(long steps)
{
    double* took = malloc((size_t)steps * sizeof *took);
    void* c = start("bench");
    for (long n = 0; n < steps; ++n) took[n] = 0; /* have the pages before memory is measured */
    run(c, 0, 1000);
    const long before = resident();
    const double begin = seconds();
    for (long n = 0; n < steps; ++n) {
        const double t = seconds();
        if (fmi.step(c, (double)(n + 1000) * H, H, 1) != 0) fail("a step failed");
        took[n] = seconds() - t;
    }
    const double total = seconds() - begin;
    const long after = resident();
    qsort(took, (size_t)steps, sizeof *took, ascending);
    printf("steps %ld\nmean_us %.4f\nmedian_us %.4f\np99_us %.4f\np999_us %.4f\nworst_us %.4f\n", steps, 1e6 * total / (double)steps,
           1e6 * took[steps / 2], 1e6 * took[(long)(0.99 * (double)steps)], 1e6 * took[(long)(0.999 * (double)steps)], 1e6 * took[steps - 1]);
    printf("real_time_factor %.1f\nmemory_before_kb %ld\nmemory_after_kb %ld\n", (double)steps * H / total, before, after);
    free(took);
    fmi.release(c);
}

/* Steps as a master takes them: inputs, step, outputs. */
static void exchange(void* c, int from, int steps)
{
    double y[512], ten[64];
    for (size_t k = 0; k < fmi.ni; ++k) ten[k] = 10;
    for (int n = from; n < from + steps; ++n)
        need(fmi.set(c, fmi.inputs, fmi.ni, ten) == 0 && fmi.step(c, n * H, H, 1) == 0 && fmi.get(c, fmi.outputs, fmi.no, y) == 0,
             "a step failed");
    for (size_t k = 0; k < fmi.no; ++k) need(isfinite(y[k]), "an output is not finite");
}

static struct {
    int (*step)(const double**, double**, long long*, double*, int);
    int size[4]; /* q v u p */
    double value[5][256], next[3][256], h;
    const double** arg;
    double** res;
    long long* iw;
    double* w;
} engine;

static void load_engine(const char* kernel, const char* numbers_)
{
    void* so = dlopen(kernel, RTLD_NOW | RTLD_LOCAL);
    FILE* f = fopen(numbers_, "r");
    need(so && f, "no engine to compare with");
    int (*work)(long long*, long long*, long long*, long long*);
    *(void**)&engine.step = symbol(so, "step");
    *(void**)&work = symbol(so, "step_work");
    int* size = engine.size;
    need(fscanf(f, "%d %d %d %d", size, size + 1, size + 2, size + 3) == 4, "bad numbers");
    for (int k = 0; k < 4; ++k)
        for (int i = 0; i < size[k]; ++i) need(fscanf(f, "%lf", engine.value[k < 2 ? k : k + 1] + i) == 1, "bad numbers");
    fclose(f);
    long long sizes[4];
    work(sizes, sizes + 1, sizes + 2, sizes + 3);
    engine.h = H;
    engine.arg = calloc((size_t)sizes[0], sizeof *engine.arg);
    engine.res = calloc((size_t)sizes[1], sizeof *engine.res);
    engine.iw = calloc((size_t)sizes[2] + 1, sizeof *engine.iw);
    engine.w = calloc((size_t)sizes[3] + 1, sizeof *engine.w);
}

static void run_engine(int steps)
{
    for (int n = 0; n < steps; ++n) {
        for (int k = 0; k < 5; ++k) engine.arg[k] = engine.value[k];
        engine.arg[5] = &engine.h;
        for (int k = 0; k < 3; ++k) engine.res[k] = engine.next[k];
        engine.step(engine.arg, engine.res, engine.iw, engine.w, 0);
        memcpy(engine.value[0], engine.next[0], (size_t)engine.size[0] * sizeof(double));
        memcpy(engine.value[1], engine.next[1], (size_t)engine.size[1] * sizeof(double));
        engine.value[2][0] = engine.next[2][0];
    }
}

/* The engine's own compiled step, the FMU's and that of a pythonfmu FMU in turns so short that many are not
 * interrupted even on a busy machine; the quickest turn of each tells. */
static void beside(library python)
{
    enum { TURNS = 1000, LENGTH = 40, FEW = 8 }; /* about as long as each other */
    const library native = fmi;
    double best[5] = {1e9, 1e9, 1e9, 1e9, 1e9};
    void *a = start("native"), *b = NULL;
    if (python.step) {
        fmi = python;
        b = start("python");
    }
    for (int turn = 0; turn < TURNS; ++turn) {
        const int from = 2 * turn * LENGTH, from_few = 2 * turn * FEW;
        double t[6];
        fmi = native;
        t[0] = seconds();
        run(a, from, LENGTH);
        t[1] = seconds();
        run_engine(LENGTH);
        t[2] = seconds();
        exchange(a, from + LENGTH, LENGTH);
        t[3] = t[4] = t[5] = seconds();
        if (b) {
            fmi = python;
            run(b, from_few, FEW);
            t[4] = seconds();
            exchange(b, from_few + FEW, FEW);
            t[5] = seconds();
        }
        for (int k = 0; k < 5; ++k)
            if (t[k + 1] - t[k] < best[k]) best[k] = t[k + 1] - t[k];
    }
    printf("fmu_us %.4f\nengine_us %.4f\nexchange_us %.4f\n", 1e6 * best[0] / LENGTH, 1e6 * best[1] / LENGTH, 1e6 * best[2] / LENGTH);
    if (b) printf("python_us %.4f\npython_exchange_us %.4f\n", 1e6 * best[3] / FEW, 1e6 * best[4] / FEW);
    fmi = native;
    fmi.release(a); /* the Python instance stays: freeing the last one ends the interpreter, see main */
    free(engine.arg); free(engine.res); free(engine.iw); free(engine.w);
}

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

static void choose(char** word, const char* resources)
{
    load(word[0]);
    fmi.guid = word[1];
    fmi.resources = resources;
    fmi.ni = numbers(word[2], fmi.inputs, 64);
    fmi.no = numbers(word[3], fmi.outputs, 512);
}

int main(int n, char** word)
{
    if (n < 6) fail("too few arguments");
    const char* what = word[1];
    library python = {0};
    if (n == 14) {
        need(dlopen(word[12], RTLD_NOW | RTLD_GLOBAL) != NULL, "libpython can't be loaded");
        choose(word + 8, word[13]);
        python = fmi;
    }
    choose(word + 2, "");
    if (strcmp(what, "check") == 0) check();
    else if (strcmp(what, "save") == 0 && n == 7) save(word[6]);
    else if (strcmp(what, "resume") == 0 && n == 7) resume(word[6]);
    else if (strcmp(what, "bench") == 0 && n == 7) bench(atol(word[6]));
    else if (strcmp(what, "beside") == 0 && (n == 8 || n == 14)) {
        load_engine(word[6], word[7]);
        beside(python);
    } else fail("unknown arguments");
    fflush(stdout);
    if (python.step) _exit(0); /* an interpreter that ends within a host may take it along */
    return 0;
}

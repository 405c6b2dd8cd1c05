/* Instances, threads, saved states, model exchange and misuse: each must leave the others' results alone. */
#include "fmu_host.h"
#include <pthread.h>

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
    double dx[64], next[64], dx2[64], z[64];
    size_t nz = 0;
    int event, terminate;
    event_info info;
    for (int k = from; k < from + steps; ++k) {
        need(fmi.set_time(c, k * H) == 0 && fmi.set_states(c, x, n) == 0 && fmi.rates(c, dx, n) == 0, "no rates");
        for (size_t i = 0; i < n; ++i) next[i] = x[i] + H * dx[i];
        need(fmi.set_time(c, (k + 1) * H) == 0 && fmi.set_states(c, next, n) == 0 && fmi.rates(c, dx2, n) == 0, "no rates");
        for (size_t i = 0; i < n; ++i) x[i] += 0.5 * H * (dx[i] + dx2[i]);
        need(fmi.set_states(c, x, n) == 0 && fmi.completed(c, 1, &event, &terminate) == 0 && !terminate, "a step is not completed");
        while (nz < 64 && fmi.indicators(c, z, nz) != 0) ++nz;
        need(nz < 64 && isfinite(z[0]) && (z[0] < 0) == (event != 0), "the indicator and the event differ");
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
    need(!fmi.instantiate("x", 1, "{wrong}", "", &host, 0, 1) && logged == 1, "a wrong GUID is accepted");
    need(!fmi.instantiate("x", 1, NULL, NULL, NULL, 0, 0), "no GUID and no callbacks are accepted");
    void* c = fmi.instantiate("x", 1, fmi.guid, "file:///no/such/folder", &host, 0, 1);
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

void check(void)
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

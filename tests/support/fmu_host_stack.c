/* How much stack the calls take: each runs in a thread of its own on memory that was painted before. */
#include "fmu_host.h"
#include <pthread.h>

enum { ROOM = 8 << 20, PAINT = 0xA5 };

typedef struct { void* c; void (*call)(void*); } task;

static void* on_paint(void* what)
{
    const task* t = what;
    t->call(t->c);
    return NULL;
}

/* Bytes of stack that a call in a thread takes, the thread's own among them. */
static long taken(void* c, void (*call)(void*))
{
    unsigned char* memory = aligned_alloc(4096, ROOM);
    pthread_attr_t attributes;
    pthread_t thread;
    task what = {c, call};
    long k = 0;
    memset(memory, PAINT, ROOM);
    pthread_attr_init(&attributes);
    need(pthread_attr_setstack(&attributes, memory, ROOM) == 0, "no stack");
    need(pthread_create(&thread, &attributes, on_paint, &what) == 0, "no thread");
    pthread_join(thread, NULL);
    while (k < ROOM && memory[k] == PAINT) ++k;
    free(memory);
    return ROOM - k;
}

static void idle(void* c) { (void)c; }

static void steps(void* c) { run(c, 0, 20); }

static void outputs(void* c)
{
    double y[512];
    read_all(c, y);
}

static void initialization(void* c)
{
    (void)c;
    fmi.release(start("deep"));
}

static void derivatives(void* c)
{
    const double one = 1;
    double slope;
    for (size_t k = 0; k < fmi.ni; ++k)
        need(fmi.directional(c, fmi.outputs, 1, fmi.inputs + k, 1, &one, &slope) == 0, "no derivative");
}

static void exchange(void* c)
{
    double x[64], dx[64], z[64];
    event_info info;
    size_t n = 0;
    (void)c;
    c = start_as("deep", 0);
    need(fmi.discrete(c, &info) == 0 && fmi.continuous(c) == 0, "no continuous time");
    while (n < 64 && fmi.get_states(c, x, n) != 0) ++n;
    need(fmi.set_states(c, x, n) == 0 && fmi.rates(c, dx, n) == 0, "no rates");
    for (n = 0; n < 64 && fmi.indicators(c, z, n) != 0; ++n) {}
    fmi.release(c);
}

void stack(void)
{
    void* c = start("stack");
    const long thread = taken(c, idle);
    printf("thread %ld\nstep %ld\n", thread, taken(c, steps) - thread);
    printf("outputs %ld\nderivatives %ld\n", taken(c, outputs) - thread, taken(c, derivatives) - thread);
    printf("initialization %ld\nexchange %ld\n", taken(c, initialization) - thread, taken(c, exchange) - thread);
    fmi.release(c);
}

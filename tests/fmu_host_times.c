/* How long steps take: their distribution, and side by side with the engine and with a pythonfmu FMU. */
#include "fmu_host.h"
#include <dlfcn.h>
#include <time.h>

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

static int ascending(const void* a, const void* b)
{
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

void bench(long steps)
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

void load_engine(const char* kernel, const char* numbers_)
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
 * interrupted even on a busy machine: the quickest turn of each, and the median of FMU over engine turn by turn. */
void beside(library python)
{
    enum { TURNS = 1000, WARM = 10, LENGTH = 40, FEW = 8 }; /* about as long as each other */
    const library native = fmi;
    double best[5] = {1e9, 1e9, 1e9, 1e9, 1e9}, over[TURNS];
    void *a = start("native"), *b = NULL;
    if (python.step) {
        fmi = python;
        b = start("python");
    }
    for (int turn = 0; turn < TURNS; ++turn) {
        const int from = turn * (WARM + 2 * LENGTH) + WARM, from_few = 2 * turn * FEW;
        double t[6];
        fmi = native;
        run_engine(WARM); /* Python has emptied the caches for both */
        run(a, from - WARM, WARM);
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
        over[turn] = (t[1] - t[0]) / (t[2] - t[1]);
        for (int k = 0; k < 5; ++k)
            if (t[k + 1] - t[k] < best[k]) best[k] = t[k + 1] - t[k];
    }
    qsort(over, TURNS, sizeof *over, ascending);
    printf("fmu_over_engine %.4f\n", over[TURNS / 2]);
    printf("fmu_us %.4f\nengine_us %.4f\nexchange_us %.4f\n", 1e6 * best[0] / LENGTH, 1e6 * best[1] / LENGTH, 1e6 * best[2] / LENGTH);
    if (b) printf("python_us %.4f\npython_exchange_us %.4f\n", 1e6 * best[3] / FEW, 1e6 * best[4] / FEW);
    fmi = native;
    fmi.release(a); /* the Python instance stays: freeing the last one ends the interpreter, see main */
    free(engine.arg); free(engine.res); free(engine.iw); free(engine.w);
}

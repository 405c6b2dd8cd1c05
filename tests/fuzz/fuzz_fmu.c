/* Calls of an FMU in any order, with any numbers and saved states: none crashes it, and what it gives well is finite.
 *
 * Compiled with the sources of an export; fmi2.c or fmi3.c is included, since a saved state needs its checksum.
 */
#if FMI_VERSION == 2
#include "fmi2.c"
#else
#include "fmi3.c"
#endif

typedef struct { const uint8_t* at; size_t left; } bytes;

static unsigned byte(bytes* b) { return b->left ? (--b->left, *b->at++) : 0; }

/* Mostly a number such as hosts give, at times any bits at all. */
static double number(bytes* b)
{
    uint64_t bits = 0;
    double x;
    const unsigned kind = byte(b);
    if (kind < 200) return ((int)kind - 100) * 0.01;
    for (int k = 0; k < 8; ++k) bits = bits << 8 | byte(b);
    memcpy(&x, &bits, sizeof x);
    return x;
}

static void need_finite(cj_status status, const double* x, size_t n)
{
    for (size_t k = 0; k < n && status == CJ_OK; ++k)
        if (!isfinite(x[k])) abort();
}

#define MANY (SLOT_END + 8)
static unsigned which[MANY], others[MANY];
static double x[MANY * 64];

static size_t some(bytes* b, unsigned* references)
{
    const size_t n = byte(b) % 9;
    for (size_t k = 0; k < n; ++k) references[k] = byte(b) | (byte(b) & 3) << 8;
    return n;
}

/* A state as bytes, some of them changed, as a file may be that holds one; then its checksum put right, or not. */
static void change_state(void* s, bytes* b)
{
    void* state = NULL;
    packed all;
    if (FMI(GetFMUState)(s, &state) != CJ_OK) return;
    if (FMI(SerializeFMUState)(s, state, (cj_byte*)&all, sizeof all) != CJ_OK) abort();
    for (unsigned n = byte(b) % 5; n; --n) {
        const size_t at = (byte(b) << 8 | byte(b)) % sizeof(cj_state);
        ((uint8_t*)&all.state)[at] = (uint8_t)byte(b);
    }
    if (byte(b) % 4) all.sum = checksum(&all.state);
    if (FMI(DeserializeFMUState)(s, (cj_byte*)&all, sizeof all - (byte(b) == 0), &state) == CJ_OK) FMI(SetFMUState)(s, state);
    FMI(FreeFMUState)(s, &state);
}

#if FMI_VERSION == 2
static void logger(void* e, const char* name, fmi2Status status, const char* category, const char* text, ...) { (void)e; }
static void* begin(int exchange)
{
    const fmi2CallbackFunctions host = {logger, calloc, free, NULL, NULL};
    return FMI(Instantiate)("one", exchange ? 0 : 1, CJ_TOKEN, "", &host, 0, 1);
}
static void enter(void* s, bytes* b)
{
    FMI(SetupExperiment)(s, 0, 0, number(b), (int)byte(b) % 2, number(b));
    FMI(EnterInitializationMode)(s);
}
static void set(void* s, bytes* b)
{
    const size_t n = some(b, which);
    for (size_t k = 0; k < n; ++k) x[k] = number(b);
    FMI(SetReal)(s, which, n, x);
}
static void get(void* s, bytes* b)
{
    const size_t n = some(b, which);
    need_finite(FMI(GetReal)(s, which, n, x), x, n);
}
static void derivative(void* s, bytes* b)
{
    const size_t n = some(b, which), m = some(b, others);
    for (size_t k = 0; k < m; ++k) x[k] = number(b);
    FMI(GetDirectionalDerivative)(s, which, n, others, m, x, x + MANY);
}
static void rates(void* s, bytes* b)
{
    int orders[16];
    const size_t n = some(b, which);
    for (size_t k = 0; k < n; ++k) orders[k] = (int)byte(b) - 2, x[k] = number(b);
    if (byte(b) % 2) FMI(SetRealInputDerivatives)(s, which, n, orders, x);
    else FMI(GetRealOutputDerivatives)(s, which, n, orders, x);
}
static void events(void* s)
{
    fmi2EventInfo info;
    FMI(NewDiscreteStates)(s, &info);
}
static void step(void* s, double time, double length) { FMI(DoStep)(s, time, length, 1); }
#else
static void logger(void* e, fmi3Status status, const char* category, const char* text) { (void)e; }
static void* begin(int exchange)
{
    return exchange ? FMI(InstantiateModelExchange)("one", CJ_TOKEN, "", 0, 1, NULL, logger)
                    : FMI(InstantiateCoSimulation)("one", CJ_TOKEN, "", 0, 1, 0, 0, NULL, 0, NULL, logger, NULL);
}
static void enter(void* s, bytes* b) { FMI(EnterInitializationMode)(s, 0, 0, number(b), byte(b) % 2, number(b)); }
static size_t width(size_t n)
{
    size_t count = 0;
    for (size_t k = 0; k < n; ++k) count += which[k] < NVARIABLES ? variables[which[k]].count : 1;
    return count < MANY ? count : MANY;
}
static void set(void* s, bytes* b)
{
    const size_t n = some(b, which), count = width(n) + (byte(b) == 1);
    for (size_t k = 0; k < count; ++k) x[k] = number(b);
    FMI(SetFloat64)(s, which, n, x, count);
}
static void get(void* s, bytes* b)
{
    int32_t whole[MANY];
    const size_t n = some(b, which), count = width(n) - (byte(b) == 1 && n);
    if (byte(b) % 4 == 0) FMI(GetInt32)(s, which, n, whole, count);
    else need_finite(FMI(GetFloat64)(s, which, n, x, count), x, count);
}
static void derivative(void* s, bytes* b)
{
    const size_t n = some(b, others), m = some(b, which), nseed = width(m), adjoint = byte(b) % 2;
    for (size_t k = 0; k < nseed; ++k) x[k] = number(b);
    const size_t nresult = (byte(b) << 8 | byte(b)) % MANY;
    (adjoint ? FMI(GetAdjointDerivative) : FMI(GetDirectionalDerivative))(
        s, adjoint ? which : others, adjoint ? m : n, adjoint ? others : which, adjoint ? n : m, x, nseed, x + MANY, nresult);
}
static void rates(void* s, bytes* b)
{
    int32_t orders[16];
    const size_t n = some(b, which);
    for (size_t k = 0; k < n; ++k) orders[k] = (int)byte(b) - 2;
    FMI(GetOutputDerivatives)(s, which, n, orders, x, width(n));
}
static void events(void* s)
{
    bool a, b, c, d, e;
    double next;
    FMI(UpdateDiscreteStates)(s, &a, &b, &c, &d, &e, &next);
}
static void step(void* s, double time, double length)
{
    bool a, b, c;
    double last;
    FMI(DoStep)(s, time, length, 1, &a, &b, &c, &last);
}
#endif

static void exchange(void* s, bytes* b)
{
    cj_boolean event, end;
    const size_t n = byte(b) == 1 ? NX + 1 : NX;
    switch (byte(b) % 5) {
    case 0:
        for (size_t k = 0; k < n; ++k) x[k] = number(b);
        FMI(SetContinuousStates)(s, x, n);
        break;
    case 1: FMI(SetTime)(s, number(b)); break;
    case 2: need_finite(FMI(GetContinuousStateDerivatives)(s, x, n), x, n); break;
    case 3: need_finite(FMI(GetContinuousStates)(s, x, n), x, n); break;
    default: FMI(CompletedIntegratorStep)(s, 1, &event, &end); FMI(GetEventIndicators)(s, x, NZ);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    bytes b = {data, size};
    void* s = begin((int)byte(&b) % 2);
    for (int calls = 0; b.left && calls < 64; ++calls) switch (byte(&b) % 16) {
    case 0: enter(s, &b); break;
    case 1: FMI(ExitInitializationMode)(s); break;
    case 2: case 3: set(s, &b); break;
    case 4: case 5: get(s, &b); break;
    case 6: case 7: step(s, core(s)->now.time + (byte(&b) == 1), byte(&b) * 1e-4); break;
    case 8: step(s, number(&b), number(&b)); break;
    case 9: case 10: exchange(s, &b); break;
    case 11: change_state(s, &b); break;
    case 12: derivative(s, &b); break;
    case 13: rates(s, &b); break;
    case 14: FMI(EnterContinuousTimeMode)(s); events(s); break;
    default: byte(&b) % 4 ? FMI(EnterEventMode)(s) : byte(&b) % 2 ? FMI(Reset)(s) : FMI(Terminate)(s);
    }
    FMI(FreeInstance)(s);
    return 0;
}

/* Drives parts of the native loop from standard input, so that a test can hold them against Python's. */
#include "loop.h"
#include <stdio.h>
#include <stdlib.h>

static const cutjoint_item inputs[] = {{"one", "N.m", -50, 50, 0, 100, 0, "torque"}, {"two", "N.m", -50, 50, 0, 100, 1, "torque"}};
static const cutjoint_item outputs[] = {{"a", "rad", 0, 0, 0, 0, -1, ""}, {"b", "rad", 0, 0, 0, 0, -1, ""}};
const char* cutjoint_name(void) { return "driver"; }
size_t cutjoint_count(cutjoint_kind kind) { (void)kind; return 2; }
const cutjoint_item* cutjoint_items(cutjoint_kind kind) { return kind == CUTJOINT_INPUT ? inputs : outputs; }
size_t rt_find(cutjoint_kind kind, const char* name)
{
    size_t k = 0;
    while (k < 2 && strcmp(cutjoint_items(kind)[k].name, name) != 0) ++k;
    return k;
}
int rt_fail(const char* format, ...) { fprintf(stderr, "%s\n", format); return 2; }

static int get(void* to, size_t n) { return n == 0 || fread(to, n, 1, stdin) == 1; }

/* Records of (time, latest state, host, port, size, bytes) become verdicts; at the end the counts. */
static void gate(const char* key, const char* host, const char* port, const char* lock_step)
{
    static double ranges[] = {100, 100};
    static rt_gate g = {.inputs = 2, .ranges = ranges, .silence = NS / 5};
    struct { uint64_t now; uint32_t sent, host; uint16_t port, size; uint32_t pad; } head;
    uint8_t* bytes = NULL;
    if (*key) cutjoint_key_set(&g.key, key, strlen(key));
    g.host = (uint32_t)strtoul(host, NULL, 10);
    g.port = (uint16_t)strtoul(port, NULL, 10);
    g.lock_step = atoi(lock_step);
    while (get(&head, sizeof head)) {
        struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = head.port, .sin_addr = {head.host}};
        cutjoint_head packet;
        double values[2 * CUTJOINT_FIELDS_TOLD];
        bytes = (uint8_t*)realloc(bytes, head.size + 1u); /* of the right size: reading beyond it is seen */
        if (!get(bytes, head.size)) break;
        const rt_verdict verdict = rt_gate_accept(&g, bytes, head.size, &from, head.now, head.sent, &packet, values);
        putchar(verdict == RT_OBEYED ? '1' : '0'); /* again: not done twice */
    }
    putchar('\n');
    for (int k = 0; k < RT_COUNTS; ++k) printf("%lld ", (long long)g.counts[k]);
    putchar('\n');
    free(bytes);
}

/* Size of a key, size of a message, both: its tag in hexadecimal. */
static void tags(void)
{
    uint32_t sizes[2];
    while (get(sizes, sizeof sizes)) {
        uint8_t *key = (uint8_t*)malloc(sizes[0] + 1u), *data = (uint8_t*)malloc(sizes[1] + 1u), tag[TAG];
        cutjoint_key k;
        if (!get(key, sizes[0]) || !get(data, sizes[1])) exit(3);
        cutjoint_key_set(&k, key, sizes[0]);
        cutjoint_key_tag(&k, data, sizes[1], tag);
        for (int i = 0; i < TAG; ++i) printf("%02x", tag[i]);
        putchar('\n');
        if (!cutjoint_key_fits(&k, data, sizes[1], tag)) exit(4);
        tag[TAG - 1] ^= 1;
        if (cutjoint_key_fits(&k, data, sizes[1], tag)) exit(5);
        free(key);
        free(data);
    }
}

/* Two outputs as frames by a table, and frames as two inputs. */
static void can(const char* table)
{
    static rt_loop loop;
    static rt_can c;
    static double ranges[] = {100, 100};
    double values[2];
    rt_frame frame;
    loop.drive = (rt_drive){.n = 2, .inputs = inputs, .ranges = ranges};
    if (rt_can_read_table(&c, table, &loop)) exit(2);
    while (get(values, sizeof values)) {
        for (int k = 0; k < c.frames; ++k) {
            rt_can_pack(&c, c.ids[k], values, &frame);
            printf("%x ", frame.id);
            for (int i = 0; i < frame.size; ++i) printf("%02x", frame.data[i]);
            putchar(' ');
            frame.id += 0x100; /* the device says the same back */
            rt_can_unpack(&c, &frame, &loop.drive);
        }
        printf("%a %a %llu %llu\n", c.values[0], c.values[1], (unsigned long long)c.malformed, (unsigned long long)c.beyond);
    }
    free(c.values);
}

/* Times in nanoseconds: their quantiles. */
static void histogram(void)
{
    static rt_histogram h;
    uint64_t ns;
    while (get(&ns, sizeof ns)) rt_add(&h, ns);
    printf("%llu %llu %llu\n", (unsigned long long)rt_quantile(&h, .5), (unsigned long long)rt_quantile(&h, .99), (unsigned long long)rt_quantile(&h, 1));
}

/* A period, then times, all in nanoseconds: the steps of each, and what was counted. */
static void pace(void)
{
    rt_pace p = {0};
    uint64_t ns;
    if (!get(&p.period, sizeof p.period)) exit(3);
    p.next = p.period;
    while (get(&ns, sizeof ns)) putchar('0' + rt_pace_tick(&p, ns));
    printf("\n%llu %llu %llu\n", (unsigned long long)p.overruns, (unsigned long long)p.owed, (unsigned long long)p.dropped);
}

int rt_drive_accept(rt_drive* d, uint64_t flags, const double* values, uint64_t now) { (void)d, (void)flags, (void)values, (void)now; return 1; }

/* Busy times in nanoseconds: the highest rate of each. */
static void rates(void)
{
    double busy;
    while (get(&busy, sizeof busy)) printf("%.17g\n", rt_highest_rate(busy));
}

int main(int argc, char** argv)
{
    const char* what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "gate") == 0) gate(argv[2], argv[3], argv[4], argv[5]);
    if (strcmp(what, "tags") == 0) tags();
    if (strcmp(what, "can") == 0) can(argv[2]);
    if (strcmp(what, "histogram") == 0) histogram();
    if (strcmp(what, "pace") == 0) pace();
    if (strcmp(what, "rates") == 0) rates();
    return 0;
}

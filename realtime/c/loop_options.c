/* What the loop is told: by the command line, and by a file of lines `name value` beside or instead of it. */
#include "loop.h"
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int rt_fail(const char* format, ...)
{
    va_list list;
    fprintf(stderr, "%s: ", cutjoint_name());
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return 2;
}

typedef enum { NUMBER, COUNT, FLAG, TEXT, LIST, MODE, WATCHDOG, FILE_ } kind;
#define AT(field) offsetof(rt_options, field)
static const struct { const char* name; kind kind; size_t at, count; double low, high; const char *value, *help; } known[] = {
    {"rate", NUMBER, AT(rate), 0, 1, 100000, "HZ", "periods a second (default 1000)"},
    {"steps", COUNT, AT(steps), 0, 1, 10000, "N", "integration steps in one period (default 1)"},
    {"mode", MODE, AT(mode), 0, 0, 0, "MODE", "real_time, lock_step (one period for each command) or fast (default real_time)"},
    {"seconds", NUMBER, AT(seconds), 0, 0, 1e9, "S", "simulated time to run (default 0: until Ctrl-C)"},
    {"start", LIST, AT(starts), AT(n_starts), 0, 0, "JOINT=VALUE", "coordinate held at the start, or JOINT.speed=VALUE; repeat it"},
    {"parameter", LIST, AT(parameters), AT(n_parameters), 0, 0, "NAME=VALUE", "a parameter of the description; repeat it"},
    {"output", LIST, AT(outputs), AT(n_outputs), 0, 0, "PATTERN", "outputs that go out (default all that were built in); repeat it"},
    {"udp", TEXT, AT(udp), 0, 0, 0, "HOST:PORT", "hear commands and send states there"},
    {"peer", TEXT, AT(peer), 0, 0, 0, "HOST[:PORT]", "the only device that is heard (default: who speaks first)"},
    {"key", TEXT, AT(key), 0, 0, 0, "FILE", "obey only packets with a checksum made with this key"},
    {"shared", TEXT, AT(shared), 0, 0, 0, "/NAME", "state and command in shared memory"},
    {"shared-mode", TEXT, AT(shared_mode), 0, 0, 0, "OCTAL", "who may open it, such as 0660 for the group's devices (default 0600)"},
    {"can", TEXT, AT(can), 0, 0, 0, "INTERFACE", "state and command on a CAN bus"},
    {"can-table", TEXT, AT(can_table), 0, 0, 0, "FILE", "which number stands where in which frame"},
    {"timeout", NUMBER, AT(timeout), 0, 0, 3600, "S", "silence after which the watchdog acts; 0: never"},
    {"watchdog", WATCHDOG, AT(hold), 0, 0, 0, "WHAT", "zero: torques vanish (default); hold: they stay as they were"},
    {"frequency", NUMBER, AT(frequency), 0, 0.1, 1000, "RAD/S", "how stiffly told positions and velocities are followed (default 20)"},
    {"wait", FLAG, AT(wait), 0, 0, 0, "", "stand still at the start until the first command"},
    {"range", LIST, AT(ranges), AT(n_ranges), 0, 0, "INPUT=VALUE", "commands beyond it are refused as errors; repeat it"},
    {"priority", COUNT, AT(priority), 0, 0, 99, "N", "SCHED_FIFO priority, 0 for none (default 80)"},
    {"cpu", COUNT, AT(cpu), 0, -1, 1023, "N", "run on this processor only (default -1: any)"},
    {"spin", NUMBER, AT(spin), 0, 0, 1000, "US", "stay awake for the last microseconds of a period (default 0)"},
    {"lock", COUNT, AT(lock), 0, 0, 1, "0|1", "lock all memory (default 1)"},
    {"record", TEXT, AT(record), 0, 0, 0, "FILE", "write all signals of every period, for numpy.load"},
    {"report", TEXT, AT(report), 0, 0, 0, "FILE", "write the report as JSON when the run ends"},
    {"json", FLAG, AT(json), 0, 0, 0, "", "print the report as JSON"},
    {"live", FLAG, AT(live), 0, 0, 0, "", "show the numbers on the terminal while it runs"},
    {"empty", FLAG, AT(empty), 0, 0, 0, "", "only sleep and wake: the machine's own latency"},
    {"measure", FLAG, AT(measure), 0, 0, 0, "", "how long steps take and how late the machine wakes; recommends a rate"},
    {"config", FILE_, 0, 0, 0, 0, "FILE", "read more of these from a file of lines 'name value'"},
};
#define KNOWN (int)(sizeof known / sizeof *known)

static int read_file(rt_options* o, const char* path);

static int take(rt_options* o, const char* name, const char* value)
{
    int k = 0;
    while (k < KNOWN && strcmp(name, known[k].name) != 0) ++k;
    if (k == KNOWN) return rt_fail("there is no option '%s'; --help lists them", name);
    void* place = (char*)o + known[k].at;
    if (known[k].kind == FLAG) {
        static const char* const words[] = {"0", "false", "no", "off", "1", "true", "yes", "on"}; /* a file may say them */
        int word = 0;
        if (!value || !*value) value = "1";
        while (word < 8 && strcmp(value, words[word]) != 0) ++word;
        *(int*)place = word >= 4;
        return word < 8 ? 0 : rt_fail("%s is 0 or 1, not '%s'", name, value);
    }
    if (!value || !*value) return rt_fail("%s needs a value: %s", name, known[k].value);
    char* end;
    const double x = strtod(value, &end);
    const int good = !*end && isfinite(x) && x >= known[k].low && x <= known[k].high;
    switch (known[k].kind) {
    case NUMBER:
        if (!good) return rt_fail("%s must be a number from %g to %g, not '%s'", name, known[k].low, known[k].high, value);
        *(double*)place = x;
        return 0;
    case COUNT:
        if (!good || x != floor(x)) return rt_fail("%s must be a whole number from %g to %g, not '%s'", name, known[k].low, known[k].high, value);
        *(int*)place = (int)x;
        return 0;
    case TEXT: *(const char**)place = value; return 0;
    case LIST: {
        int* n = (int*)((char*)o + known[k].count);
        if (*n == RT_MANY) return rt_fail("%s is given more than %d times", name, RT_MANY);
        ((const char**)place)[(*n)++] = value;
        return 0;
    }
    case MODE:
        for (int m = RT_REAL_TIME; m <= RT_FAST; ++m)
            if (strcmp(value, m == RT_REAL_TIME ? "real_time" : m == RT_LOCK_STEP ? "lock_step" : "fast") == 0) {
                o->mode = (rt_mode)m;
                return 0;
            }
        return rt_fail("mode is real_time, lock_step or fast, not '%s'", value);
    case WATCHDOG:
        if (strcmp(value, "zero") != 0 && strcmp(value, "hold") != 0) return rt_fail("watchdog is zero or hold, not '%s'", value);
        *(int*)place = value[0] == 'h';
        return 0;
    default: return read_file(o, value);
    }
}

/* Lines `name value`, also with = between; # begins a comment. */
static int read_file(rt_options* o, const char* path)
{
    char *line = NULL, name[64];
    size_t room = 0;
    FILE* file = fopen(path, "r");
    if (!file) return rt_fail("config: can't read '%s': %s", path, strerror(errno));
    int wrong = 0;
    for (int number = 1; !wrong && getline(&line, &room, file) >= 0; ++number) {
        line[strcspn(line, "#\r\n")] = 0;
        const char* from = line + strspn(line, " \t");
        size_t n = strcspn(from, " \t=");
        if (!*from) continue;
        if (n >= sizeof name) n = sizeof name - 1;
        memcpy(name, from, n);
        name[n] = 0;
        from += n + strspn(from + n, " \t");
        if (*from == '=') ++from;
        from += strspn(from, " \t");
        size_t size = strlen(from);
        while (size && (from[size - 1] == ' ' || from[size - 1] == '\t')) --size;
        if (o->used + size + 1 > sizeof o->text) wrong = rt_fail("config: '%s' is too long", path);
        else if (strcmp(name, "config") == 0) wrong = rt_fail("config: a file can't name another");
        else {
            char* kept = (char*)memcpy(o->text + o->used, from, size);
            kept[size] = 0;
            o->used += size + 1;
            wrong = take(o, name, kept);
        }
        if (wrong) rt_fail("config: that is line %d of '%s'", number, path);
    }
    free(line);
    fclose(file);
    return wrong;
}

static void help(void)
{
    printf("Runs the mechanism '%s' at a fixed rate in the loop with a device.\n\n", cutjoint_name());
    for (int k = 0; k < KNOWN; ++k) printf("  --%-10s %-12s %s\n", known[k].name, known[k].value, known[k].help);
    const struct { cutjoint_kind kind; const char* what; } lists[] = {{CUTJOINT_INPUT, "inputs"}, {CUTJOINT_PARAMETER, "parameters"}, {CUTJOINT_OUTPUT, "outputs"}};
    for (int k = 0; k < 3; ++k) {
        const size_t n = cutjoint_count(lists[k].kind);
        printf("\n%s:", lists[k].what);
        for (size_t i = 0; i < n; ++i) printf(" %s", cutjoint_items(lists[k].kind)[i].name);
        if (!n) printf(" none");
    }
    printf("\n");
}

int rt_read_options(rt_options* o, int argc, char** argv)
{
    *o = (rt_options){.rate = RATE, .steps = 1, .timeout = TIMEOUT, .frequency = FREQUENCY, .priority = 80, .cpu = -1, .lock = 1};
    for (int k = 1; k < argc; ++k) {
        const char* word = argv[k];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            help();
            return 1;
        }
        if (strncmp(word, "--", 2) != 0) return rt_fail("'%s' is no option; --help lists them", word);
        int flag = 0;
        for (int i = 0; i < KNOWN; ++i) flag |= known[i].kind == FLAG && strcmp(word + 2, known[i].name) == 0;
        if (take(o, word + 2, flag ? NULL : k + 1 < argc ? argv[++k] : NULL)) return 2;
    }
    if (o->shared_mode && !o->shared) return rt_fail("shared-mode is for shared: name the memory, --shared /NAME");
    if (o->peer && !o->udp) return rt_fail("peer is for udp: say where to listen, --udp HOST:PORT");
    if (o->mode == RT_LOCK_STEP && !o->udp && !o->shared && !o->can) return rt_fail("lock_step waits for commands: choose udp, shared or can");
    return 0;
}

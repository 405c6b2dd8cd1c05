/* The native loop: start, periods, end. */
#include "loop.h"
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static volatile sig_atomic_t stopped;
static rt_loop loop; /* all that there is */
static char said[700];

static void stop(int signal) { (void)signal; stopped = 1; }

/* The core's first sentence of a call is kept; it is printed when the loop has ended, or before it has begun. */
static void keep(void* host, const char* message)
{
    (void)host;
    if (!said[0]) strncpy(said, message, sizeof said - 1);
}

size_t rt_find(cutjoint_kind kind, const char* name)
{
    size_t k = 0;
    while (k < cutjoint_count(kind) && strcmp(cutjoint_items(kind)[k].name, name) != 0) ++k;
    return k;
}

/* NAME=VALUE; the value is finite. */
static int pair(const char* word, const char* option, char* name, size_t room, double* value)
{
    const char* equals = strchr(word, '=');
    char* end;
    if (!equals || (size_t)(equals - word) >= room) return rt_fail("%s takes NAME=VALUE, not '%s'", option, word);
    memcpy(name, word, (size_t)(equals - word));
    name[equals - word] = 0;
    *value = strtod(equals + 1, &end);
    return *end || end == equals + 1 || !isfinite(*value) ? rt_fail("%s %s: '%s' is not a finite number", option, name, equals + 1) : 0;
}

static int set_all(const char* const* words, int n, cutjoint_kind kind, const char* option)
{
    char name[256], full[300];
    double value;
    for (int k = 0; k < n; ++k) {
        if (pair(words[k], option, name, sizeof name, &value)) return 2;
        size_t at = rt_find(kind, name);
        if (kind == CUTJOINT_START && at == cutjoint_count(kind)) { /* a joint's name stands for its position */
            snprintf(full, sizeof full, "%s.position", name);
            at = rt_find(kind, full);
        }
        if (at == cutjoint_count(kind)) return rt_fail("%s: there is no '%s'", option, name);
        if (cutjoint_set(loop.mechanism, kind, at, value)) return rt_fail("%s %s: %s", option, name, said);
    }
    return 0;
}

/* To the start that the options tell, from anywhere. */
static int begin(const rt_options* o)
{
    said[0] = 0;
    cutjoint_reset(loop.mechanism);
    if (set_all(o->parameters, o->n_parameters, CUTJOINT_PARAMETER, "parameter") || set_all(o->starts, o->n_starts, CUTJOINT_START, "start")) return 2;
    if (cutjoint_begin(loop.mechanism)) return 3;
    if (loop.drive.n) cutjoint_follow_order(loop.mechanism, loop.drive.halt, loop.drive.frequency, loop.drive.next); /* forces that follow are bounded by the start's */
    return 0;
}

static int prepare_drive(const rt_options* o)
{
    rt_drive* d = &loop.drive;
    char name[256];
    double value;
    d->n = cutjoint_count(CUTJOINT_INPUT);
    d->inputs = cutjoint_items(CUTJOINT_INPUT);
    d->mechanism = loop.mechanism;
    d->order = (double*)calloc(4 * d->n + 1, sizeof(double)); /* no force */
    d->next = (double*)calloc(4 * d->n + 1, sizeof(double));
    d->halt = (double*)calloc(4 * d->n + 1, sizeof(double));
    d->latest = (double*)calloc(d->n + 1, sizeof(double));
    d->ranges = (double*)calloc(d->n + 1, sizeof(double));
    loop.driven = (size_t*)calloc(d->n + 1, sizeof(size_t));
    if (!d->order || !d->next || !d->halt || !d->latest || !d->ranges || !loop.driven) return rt_fail("not enough memory");
    d->timeout = o->timeout;
    d->frequency = fmin(o->frequency, cutjoint_longest_hold(1) * o->rate); /* no stiffer than periods allow */
    d->hold = o->hold;
    d->silent = 1;
    for (size_t k = 0; k < d->n; ++k) {
        d->ranges[k] = d->inputs[k].range;
        loop.driven[k] = (size_t)d->inputs[k].joint;
    }
    for (int k = 0; k < o->n_ranges; ++k) {
        if (pair(o->ranges[k], "range", name, sizeof name, &value)) return 2;
        const size_t at = rt_find(CUTJOINT_INPUT, name);
        if (at == d->n || value < 0) return rt_fail("range: there is no input '%s', or its range is negative", name);
        d->ranges[at] = value;
    }
    return 0;
}

static int choose_outputs(const rt_options* o)
{
    const size_t n = cutjoint_count(CUTJOINT_OUTPUT);
    loop.out = (size_t*)calloc(n + 1, sizeof(size_t));
    if (!loop.out) return rt_fail("not enough memory");
    for (size_t k = 0; k < n; ++k) {
        int wanted = o->n_outputs == 0;
        for (int i = 0; i < o->n_outputs; ++i) wanted |= fnmatch(o->outputs[i], cutjoint_items(CUTJOINT_OUTPUT)[k].name, 0) == 0;
        if (wanted) loop.out[loop.n_out++] = k;
    }
    return o->n_outputs && !loop.n_out ? rt_fail("output: no output of that name was built in; --help lists them") : 0;
}

/* What a real-time program asks of its machine; what is refused is told, and the loop runs without. */
static void ask_for_rights(const rt_options* o)
{
    const struct sched_param first = {.sched_priority = o->priority};
    cpu_set_t set;
    CPU_ZERO(&set);
    if (o->cpu >= 0) CPU_SET((size_t)o->cpu, &set);
    if (o->cpu >= 0 && sched_setaffinity(0, sizeof set, &set) != 0) fprintf(stderr, "refused: processor %d alone (%s)\n", o->cpu, strerror(errno));
    if (o->lock && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) fprintf(stderr, "refused: locked memory (%s); see 'ulimit -l'\n", strerror(errno));
    if (o->priority && o->mode != RT_FAST && sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) != 0)
        fprintf(stderr, "refused: SCHED_FIFO priority %d (%s); run as root, or see 'ulimit -r'\n", o->priority, strerror(errno));
}

static void read_values(void)
{
    loop.joints = cutjoint_joints(loop.mechanism);
    if (loop.wants_outputs) loop.outputs = cutjoint_outputs(loop.mechanism);
}

uint64_t rt_flags(const rt_loop* l) { return rt_drive_flags(&l->drive) | (l->fault ? CUTJOINT_FAULT : 0); }

static void tell(void)
{
    const uint64_t now = rt_now();
    if (loop.udp) rt_udp_send(loop.udp, &loop, &now);
    if (loop.shared) rt_shared_send(loop.shared, &loop, now);
    if (loop.can) rt_can_send(loop.can, &loop);
    if (loop.record && (loop.drive.commands || !loop.options.wait)) rt_record_add(loop.record, &loop);
}

/* One period: apply, step, read, tell. After a fault time stands still at the last finite state. A reset takes a period. */
static void advance(uint64_t now)
{
    const uint64_t before = rt_now();
    if (loop.drive.reset) {
        loop.drive.reset = 0;
        ++loop.resets;
        loop.fault = begin(&loop.options) ? said : NULL;
        read_values();
    } else if (!loop.fault) {
        said[0] = 0;
        if (cutjoint_drive(loop.mechanism, rt_drive_present(&loop.drive, now, loop.options.mode == RT_LOCK_STEP))) ++loop.drive.refused;
        for (int k = 0; k < loop.options.steps && !loop.fault; ++k) {
            if (cutjoint_step(loop.mechanism, loop.h)) loop.fault = said;
            else ++loop.steps;
            loop.tries += (uint64_t)cutjoint_tries(loop.mechanism);
        }
        if (loop.fault) {
            memset(loop.drive.order, 0, 4 * loop.drive.n * sizeof(double));
            memset(loop.drive.latest, 0, loop.drive.n * sizeof(double));
            cutjoint_drive(loop.mechanism, loop.drive.latest);
        }
        read_values();
    }
    rt_add(&loop.took, rt_now() - before);
    tell();
    ++loop.periods;
}

/* 1 if a command came; waits up to wait_ms for one if that is not negative. */
static int hear(uint64_t now, uint64_t until, int wait_ms)
{
    int got = 0;
    const int links = (loop.udp != NULL) + (loop.shared != NULL) + (loop.can != NULL);
    const int each = wait_ms < 0 || links == 1 ? wait_ms : 0; /* several: look at each in turn */
    if (loop.udp) got |= rt_udp_receive(loop.udp, &loop, now, until, each);
    if (loop.shared) got |= rt_shared_receive(loop.shared, &loop, now);
    if (loop.can) got |= rt_can_receive(loop.can, &loop, now, each);
    if (!got && wait_ms >= 0 && (loop.shared || links > 1)) rt_sleep_until(rt_now() + 20000, 0);
    return got;
}

static void run(void)
{
    const rt_options* o = &loop.options;
    const uint64_t period = (uint64_t)llround((double)NS / o->rate), spin = (uint64_t)(o->spin * 1000);
    const uint64_t last = o->seconds > 0 ? (uint64_t)llround(o->seconds * o->rate) : UINT64_MAX;
    loop.began = rt_now();
    const double cpu = rt_cpu_seconds();
    rt_pace_start(&loop.pace, period);
    while (!stopped && loop.periods < last) {
        if (o->mode == RT_LOCK_STEP) {
            if (hear(rt_now(), 0, 100)) advance(rt_now());
            continue;
        }
        if (o->mode == RT_FAST) {
            hear(rt_now(), 0, -1);
            advance(rt_now());
            continue;
        }
        rt_sleep_until(loop.pace.next, spin);
        const uint64_t now = rt_now();
        if (stopped) break;
        rt_add(&loop.late, now > loop.pace.next ? now - loop.pace.next : 0);
        const int steps = rt_pace_tick(&loop.pace, now);
        if (o->empty) {
            ++loop.periods;
            continue;
        }
        hear(now, now + (uint64_t)(DRAIN_SHARE * (double)period), -1);
        if (o->wait && !loop.drive.commands) {
            tell();
            continue;
        }
        for (int k = 0; k < steps && loop.periods < last; ++k) advance(now); /* a period owed is not one more than asked */
        rt_add(&loop.whole, rt_now() - now);
        if (loop.periods % 1024 == 0) loop.cpu = rt_cpu_seconds() - cpu; /* for the screen */
    }
    loop.ended = rt_now();
    loop.cpu = rt_cpu_seconds() - cpu;
}

static int open_links(const rt_options* o)
{
    static rt_udp udp;
    static rt_shared shared;
    static rt_can can;
    loop.wants_outputs = o->shared || o->can || o->record;
    if (o->udp && rt_udp_open(loop.udp = &udp, o, &loop.drive)) return 2;
    if (o->can && rt_can_open(loop.can = &can, o, &loop)) return 2;
    if (o->shared && rt_shared_open(loop.shared = &shared, &loop)) return 2;
    if (o->record && !(loop.record = rt_record_open(&loop))) return 2;
    return 0;
}

int main(int argc, char** argv)
{
    rt_options* o = &loop.options;
    const int done = rt_read_options(o, argc, argv);
    if (done) return done == 1 ? 0 : 2;
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    loop.h = 1 / o->rate / o->steps;
    loop.mechanism = cutjoint_new(keep, NULL);
    if (!loop.mechanism) return rt_fail("not enough memory");
    if (prepare_drive(o) || choose_outputs(o)) return 2;
    const int problem = begin(o);
    if (problem == 3) rt_fail("%s", said);
    if (problem) return problem;
    if (o->measure) {
        ask_for_rights(o);
        return rt_measure(&loop);
    }
    if (open_links(o)) {
        if (loop.shared && loop.shared->bytes) rt_shared_close(loop.shared);
        return 2;
    }
    if (o->live) rt_screen_start(&loop);
    ask_for_rights(o);
    read_values();
    const uint64_t now = rt_now();
    if (loop.shared) rt_shared_send(loop.shared, &loop, now);
    if (loop.udp) rt_udp_send(loop.udp, &loop, &now); /* nobody hears it yet, but it can be said again */
    run();
    if (o->live) rt_screen_stop();
    const int unrecorded = loop.record && rt_record_close(loop.record);
    const uint64_t lost = loop.record ? rt_record_lost(loop.record) : 0;
    if (lost) fprintf(stderr, "record: %llu rows found no room\n", (unsigned long long)lost);
    if (loop.shared) rt_shared_close(loop.shared);
    if (loop.fault) fprintf(stderr, "%s: %s; time stood still at %.9g s\n", cutjoint_name(), said, cutjoint_time(loop.mechanism));
    rt_report(&loop, o->json, stdout);
    if (o->report) {
        FILE* file = fopen(o->report, "w");
        const int wrong = !file || rt_report(&loop, 1, file);
        if ((file && fclose(file) != 0) || wrong) return rt_fail("report: can't write '%s': %s", o->report, strerror(errno));
    }
    return loop.fault ? 4 : unrecorded ? 5 : 0;
}

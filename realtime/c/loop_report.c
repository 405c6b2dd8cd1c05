/* What a run was like: for people, and as JSON. */
#include "loop.h"
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static const char* const counts[RT_COUNTS] = {RT_COUNT_NAMES};

static double us(uint64_t ns) { return (double)ns / 1000; }

static void spread(FILE* to, int json, const char* name, const rt_histogram* h)
{
    static const struct { const char* name; double part; } parts[] = {{"p50", .5}, {"p99", .99}, {"p99.9", .999}};
    const double mean = h->count ? h->sum / (double)h->count / 1000 : 0;
    if (json) fprintf(to, ", \"%s\": {\"count\": %llu, \"mean\": %.3f", name, (unsigned long long)h->count, mean);
    else fprintf(to, "%-14s %10llu  mean %8.1f", name, (unsigned long long)h->count, mean);
    for (int k = 0; k < 3; ++k) {
        const double x = h->count ? us(rt_quantile(h, parts[k].part)) : 0;
        fprintf(to, json ? ", \"%s\": %.3f" : "  %s %8.1f", parts[k].name, x);
    }
    fprintf(to, json ? ", \"max\": %.3f}" : "  max %8.1f us\n", us(h->longest));
}

/* The bins that hold something, as pairs of the longest time and a count, so that runs can be put together. */
static void bins(FILE* to, const char* name, const rt_histogram* h)
{
    fprintf(to, ", \"%s\": [", name);
    for (unsigned k = 0, first = 1; k < RT_BINS; ++k)
        if (h->bins[k]) {
            fprintf(to, "%s[%.3f, %llu]", first ? "" : ", ", us(rt_top(k)), (unsigned long long)h->bins[k]);
            first = 0;
        }
    fprintf(to, "]");
}

int rt_report(rt_loop* l, int json, void* stream)
{
    FILE* to = (FILE*)stream;
    const double seconds = (double)((l->ended ? l->ended : rt_now()) - l->began) / (double)NS;
    const double cpu = seconds > 0 ? 100 * l->cpu / seconds : 0;
    const struct { const char* name; uint64_t value; } whole[] = {
        {"periods", l->periods}, {"steps", l->steps}, {"tries", l->tries}, {"overruns", l->pace.overruns}, {"owed", l->pace.owed},
        {"dropped", l->pace.dropped}, {"commands", l->drive.commands}, {"saturated", l->drive.saturated}, {"refused", l->drive.refused},
        {"watchdog", l->drive.expired}, {"stops", l->drive.stops}, {"resets", l->resets},
        {"record_lost", l->record ? rt_record_lost(l->record) : 0}};
    const int n = (int)(sizeof whole / sizeof *whole);
    const double time = l->mechanism ? cutjoint_time(l->mechanism) : 0;
    if (json) {
        fprintf(to, "{\"mechanism\": \"%s\", \"rate\": %.17g, \"seconds\": %.6f, \"time\": %.17g, \"cpu_percent\": %.3f, \"fault\": %s",
                cutjoint_name(), l->options.rate, seconds, time, cpu, l->fault ? "true" : "false");
        fprintf(to, ", \"stopped\": %s", l->drive.stopped ? l->drive.stopped == CUTJOINT_BRAKED ? "\"brake\"" : "\"stop\"" : "false");
        for (int k = 0; k < n; ++k) fprintf(to, ", \"%s\": %llu", whole[k].name, (unsigned long long)whole[k].value);
    } else {
        fprintf(to, "%s at %g Hz for %.1f s: simulated %.3f s, %.2f %% of a core%s\n", cutjoint_name(), l->options.rate, seconds, time, cpu,
                l->fault ? ", time stands still" : l->drive.stopped == CUTJOINT_BRAKED ? ", braked" : l->drive.stopped ? ", stopped" : "");
    }
    spread(to, json, "lateness_us", &l->late);
    if (json) bins(to, "lateness_bins", &l->late);
    spread(to, json, "step_us", &l->took);
    spread(to, json, "period_us", &l->whole);
    if (l->udp) spread(to, json, "response_us", &l->udp->response);
    if (!json)
        for (int k = 0; k < n; ++k) fprintf(to, "%s %llu%s", whole[k].name, (unsigned long long)whole[k].value, k < n - 1 ? ", " : "\n");
    if (l->udp) {
        fprintf(to, json ? ", \"udp\": {" : "udp: ");
        for (int k = 0; k < RT_COUNTS; ++k)
            fprintf(to, json ? "\"%s\": %lld, " : "%s %lld, ", counts[k], (long long)l->udp->gate.counts[k]);
        fprintf(to, json ? "\"sent\": %llu, \"unsent\": %llu, \"cut_short\": %llu}" : "sent %llu, unsent %llu, cut short %llu\n", (unsigned long long)l->udp->sent,
                (unsigned long long)l->udp->unsent, (unsigned long long)l->udp->cut_short);
    }
    if (l->can)
        fprintf(to, json ? ", \"can\": {\"received\": %llu, \"malformed\": %llu, \"beyond\": %llu, \"missing\": %llu}"
                         : "can: received %llu, malformed %llu, beyond %llu, missing %llu\n",
                (unsigned long long)l->can->received, (unsigned long long)l->can->malformed, (unsigned long long)l->can->beyond, (unsigned long long)l->can->missing);
    if (json) fprintf(to, "}\n");
    return fflush(to) != 0 || ferror(to);
}

/* -- the screen: a thread of its own, which reads numbers that the loop writes; one may be a period old ---------- */

static pthread_t screen;
static int stop, running;

static void* show(void* given)
{
    const struct timespec pause = {0, 500000000};
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        fprintf(stderr, "\033[H\033[J");
        rt_report((rt_loop*)given, 0, stderr);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

void rt_screen_start(rt_loop* l) { running = pthread_create(&screen, NULL, show, l) == 0; }

void rt_screen_stop(void)
{
    if (!running) return;
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(screen, NULL);
}

/* All signals of every period to a file that numpy.load reads, without disturbing the loop.
 *
 * The loop puts rows into a ring and never waits; a thread of low priority writes them out. A full ring loses
 * rows and counts them. The head of the file is written again with every piece, so that a run that is killed,
 * or a disk that is full, leaves a file that can be read: what was written whole. The latter is said at once.
 */
#include "loop.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct rt_record {
    int file, failed; /* errno of what could not be written */
    size_t columns, rows; /* of the ring */
    double* ring;
    uint64_t put, taken, lost; /* rows */
    int stop;
    pthread_t thread;
    char* head;
    size_t head_size, shape; /* where the number of rows stands */
};

/* Write n bytes, or return why not all of them; `done` are those written. */
static int whole(int file, const void* data, size_t n, off_t at, size_t* done)
{
    for (*done = 0; *done < n;) {
        const ssize_t more = pwrite(file, (const char*)data + *done, n - *done, at + (off_t)*done);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) return more < 0 ? errno : EIO;
        *done += (size_t)more;
    }
    return 0;
}

/* Rows of the ring to the file, then their number to its head; after a failure rows are lost and counted. */
static void write_out(rt_record* r)
{
    const uint64_t put = __atomic_load_n(&r->put, __ATOMIC_ACQUIRE);
    const size_t width = r->columns * sizeof(double);
    const int before = r->failed;
    size_t done;
    while (r->taken < put && !r->failed) {
        const size_t from = r->taken % r->rows;
        size_t n = (size_t)(put - r->taken);
        if (n > r->rows - from) n = r->rows - from;
        r->failed = whole(r->file, r->ring + from * r->columns, n * width, (off_t)(r->head_size + r->taken * width), &done);
        __atomic_store_n(&r->taken, r->taken + done / width, __ATOMIC_RELEASE);
    }
    char count[24];
    snprintf(count, sizeof count, "%20llu", (unsigned long long)r->taken);
    memcpy(r->head + r->shape, count, 20);
    if (!before) {
        const int problem = whole(r->file, r->head, r->head_size, 0, &done);
        if (!r->failed) r->failed = problem;
    }
    if (r->failed && !before) {
        fprintf(stderr, "record: %s; %llu rows are recorded, no more\n", strerror(r->failed), (unsigned long long)r->taken);
        if (ftruncate(r->file, (off_t)(r->head_size + r->taken * width)) != 0) return; /* part of a row more is no harm */
    }
}

static void* writer(void* given)
{
    rt_record* r = (rt_record*)given;
    const struct timespec pause = {0, 5000000};
    while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
        write_out(r);
        nanosleep(&pause, NULL);
    }
    write_out(r);
    return NULL;
}

/* A name inside quotes of Python's. */
static char* quoted(char* to, const char* name)
{
    for (; *name; ++name) {
        if (*name == '\'' || *name == '\\') *to++ = '\\';
        *to++ = *name;
    }
    return to;
}

/* The head of format 3.0: a structured array with one field for each signal. */
static int make_head(rt_record* r, const rt_loop* loop)
{
    size_t room = 256;
    const cutjoint_item* outputs = cutjoint_items(CUTJOINT_OUTPUT);
    for (size_t k = 0; k < loop->drive.n; ++k) room += 2 * strlen(loop->drive.inputs[k].name) + 32;
    for (size_t k = 0; k < loop->n_out; ++k) room += 2 * strlen(outputs[loop->out[k]].name) + 32;
    char* h = r->head = (char*)calloc(1, room);
    if (!h) return 0;
    memcpy(h, "\x93NUMPY\x03\x00", 8);
    char* to = h + 12 + sprintf(h + 12, "{'descr': [('time', '<f8')");
    for (size_t k = 0; k < loop->drive.n; ++k) to = stpcpy(quoted(stpcpy(to, ", ('input."), loop->drive.inputs[k].name), "', '<f8')");
    for (size_t k = 0; k < loop->n_out; ++k) to = stpcpy(quoted(stpcpy(to, ", ('"), outputs[loop->out[k]].name), "', '<f8')");
    to += sprintf(to, "], 'fortran_order': False, 'shape': (");
    r->shape = (size_t)(to - h);
    to += sprintf(to, "%20d,), }", 0);
    while ((to - h + 1) % 64) *to++ = ' ';
    *to++ = '\n';
    r->head_size = (size_t)(to - h);
    const uint32_t length = (uint32_t)(r->head_size - 12);
    memcpy(h + 8, &length, 4);
    return 1;
}

rt_record* rt_record_open(const rt_loop* loop)
{
    const rt_options* o = &loop->options;
    rt_record* r = (rt_record*)calloc(1, sizeof *r);
    if (!r) return NULL;
    r->columns = 1 + loop->drive.n + loop->n_out;
    r->rows = (size_t)(2 * o->rate) + 1024; /* two seconds */
    r->ring = (double*)calloc(r->rows * r->columns, sizeof(double));
    r->file = open(o->record, O_CREAT | O_TRUNC | O_WRONLY, 0644);
    if (r->file < 0) rt_fail("record: can't write '%s': %s", o->record, strerror(errno));
    if (r->file < 0 || !r->ring || !make_head(r, loop)) return NULL;
    size_t done;
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is told like a full disk */
    const int problem = whole(r->file, r->head, r->head_size, 0, &done);
    if (problem) rt_fail("record: can't write '%s': %s", o->record, strerror(problem));
    if (problem) return NULL;
    memset(r->ring, 0, r->rows * r->columns * sizeof(double)); /* every page is there before the loop starts */
    if (pthread_create(&r->thread, NULL, writer, r) != 0) return NULL;
    return r;
}

void rt_record_add(rt_record* r, const rt_loop* loop)
{
    if (r->put - __atomic_load_n(&r->taken, __ATOMIC_ACQUIRE) >= r->rows) {
        ++r->lost;
        return;
    }
    double* row = r->ring + r->put % r->rows * r->columns;
    *row++ = cutjoint_time(loop->mechanism);
    memcpy(row, loop->drive.latest, loop->drive.n * sizeof *row);
    row += loop->drive.n;
    for (size_t k = 0; k < loop->n_out; ++k) row[k] = loop->outputs[loop->out[k]];
    __atomic_store_n(&r->put, r->put + 1, __ATOMIC_RELEASE);
}

uint64_t rt_record_lost(const rt_record* r) { return r->lost; }

int rt_record_close(rt_record* r)
{
    __atomic_store_n(&r->stop, 1, __ATOMIC_RELEASE);
    pthread_join(r->thread, NULL);
    if (close(r->file) != 0 && !r->failed) fprintf(stderr, "record: %s\n", strerror(r->failed = errno));
    r->lost += r->put - r->taken; /* what waits after a failure is lost, too */
    return r->failed;
}

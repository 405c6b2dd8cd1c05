/* The native loop: a mechanism at a fixed rate in the loop with a device. What its files share.
 *
 * policy.h is written at build from model/hil; the mechanism is behind native.h. All memory is taken before
 * the first period; in the loop there is no system call but for clock, sending and receiving.
 */
#ifndef CUTJOINT_LOOP_H
#define CUTJOINT_LOOP_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include "cutjoint_packets.h"
#include "native.h"
#include "policy.h"

#define NS 1000000000ull

/* -- time: loop_time.c ----------------------------------------------------------------------------- */
uint64_t rt_now(void); /* monotonic, nanoseconds */
void rt_sleep_until(uint64_t when, uint64_t spin);
double rt_cpu_seconds(void); /* of the calling thread */
typedef struct {
    uint64_t period, next;
    uint64_t overruns, owed, dropped, since;
} rt_pace;
void rt_pace_start(rt_pace*, uint64_t period);
int rt_pace_tick(rt_pace*, uint64_t now); /* steps to take now, one or two */
double rt_highest_rate(double busy);      /* in nanoseconds a period */

/* -- histograms and the report: loop_histogram.c, loop_report.c -------------------------------------- */
#define RT_BINS (64 * 40)
typedef struct {
    uint64_t bins[RT_BINS], count, longest;
    double sum;
} rt_histogram;
void rt_add(rt_histogram*, uint64_t ns);
uint64_t rt_quantile(const rt_histogram*, double part);
uint64_t rt_top(unsigned bin); /* its longest time */

/* -- the gate: loop_gate.c, twin of `Gate` in model/control/packets.py ------------------------------------- */
typedef struct {
    size_t inputs;
    const double* ranges;
    uint64_t silence;
    cutjoint_key key;
    int lock_step; /* the device may take its time between commands */
    uint32_t host; /* of the configured device, network order; 0: anybody */
    uint16_t port; /* 0: any */
    uint64_t counts[RT_COUNTS];
    int has_last, has_peer, has_answered;
    uint32_t last, answered;
    uint8_t gaps[RT_GAPS]; /* a bit for each number of the window that has not come yet */
    struct sockaddr_in peer;
    uint8_t version; /* that the peer speaks */
    uint64_t heard;
} rt_gate;
typedef enum { RT_REFUSED, RT_OBEYED, RT_AGAIN } rt_verdict; /* again: the last one once more */
int rt_gate_present(const rt_gate*, uint64_t now);
rt_verdict rt_gate_accept(rt_gate*, const void* data, size_t size, const struct sockaddr_in* from, uint64_t now, uint32_t sent,
                          cutjoint_head* head, double* values); /* room for 4 numbers of each input */

/* -- what drives the mechanism: loop_drive.c ---------------------------------------------------------- */
typedef struct {
    cutjoint_mechanism* mechanism;
    size_t n;
    double *order, *next, *halt, *latest; /* the order obeyed, one that comes, that of a stop, the inputs that it gave */
    const cutjoint_item* inputs;
    double *ranges, timeout, frequency;
    uint64_t heard, commands, saturated, expired, refused, stops;
    uint64_t stopped; /* CUTJOINT_STOPPED or CUTJOINT_BRAKED until resumed, else 0 */
    int hold, silent, follows, halted, reset; /* follows: a motion is told; halted: `halt` is that of this stop */
} rt_drive;
int rt_drive_accept(rt_drive*, uint64_t flags, const double* values, uint64_t now); /* as a command packet has them */
uint64_t rt_drive_flags(const rt_drive*);                                          /* of a state packet */
const double* rt_drive_present(rt_drive*, uint64_t now, int lock_step);    /* what to apply */

/* -- options: loop_options.c -------------------------------------------------------------------------- */
typedef enum { RT_REAL_TIME, RT_LOCK_STEP, RT_FAST } rt_mode;
#define RT_MANY 256
typedef struct {
    double rate, seconds, timeout, spin, frequency;
    int steps, priority, cpu, hold, lock, wait, live, json, empty, measure;
    rt_mode mode;
    uint64_t periods;
    const char *udp, *peer, *key, *shared, *shared_mode, *can, *can_table, *record, *report;
    const char *starts[RT_MANY], *parameters[RT_MANY], *outputs[RT_MANY], *ranges[RT_MANY];
    int n_starts, n_parameters, n_outputs, n_ranges;
    char text[1 << 16]; /* the file's words stay here */
    size_t used;
} rt_options;
int rt_read_options(rt_options*, int argc, char** argv); /* 0: go on, 1: end well, 2: a mistake */
int rt_fail(const char* format, ...);                    /* says why; returns 2 */

/* -- the loop itself ---------------------------------------------------------------------------------- */
typedef struct rt_loop rt_loop;

/* links: each opens, takes commands, tells states, closes */
typedef struct {
    int socket;
    rt_gate gate;
    uint32_t sequence; /* of the latest state; with a key it starts at random */
    uint8_t *state, *packet, *room; /* room: for what one system call takes in */
    size_t most;                    /* bytes of the longest packet */
    double* values;
    uint64_t sent, unsent, cut_short;
    rt_histogram response;
} rt_udp;
int rt_udp_open(rt_udp*, const rt_options*, const rt_drive*);
int rt_udp_receive(rt_udp*, rt_loop*, uint64_t now, uint64_t until, int wait_ms); /* 1 if there was a command */
void rt_udp_send(rt_udp*, const rt_loop*, const uint64_t* now);
void rt_udp_again(rt_udp*);

typedef struct { int file; uint8_t* bytes; size_t size; uint64_t last; const char* name; double *state, *command; uint64_t at[2], sent; } rt_shared;
int rt_shared_open(rt_shared*, const rt_loop*);
int rt_shared_receive(rt_shared*, rt_loop*, uint64_t now);
void rt_shared_send(rt_shared*, const rt_loop*, uint64_t now);
void rt_shared_close(rt_shared*);

#define RT_SIGNALS 256
typedef struct { uint32_t id; int command, type, at; size_t which; double scale; } rt_signal; /* one number in a frame */
typedef struct { uint32_t id; uint8_t size; uint8_t data[8]; } rt_frame;
typedef struct {
    int socket, n, frames, n_commands;
    rt_signal signals[RT_SIGNALS];
    uint32_t ids[RT_SIGNALS], commands[RT_SIGNALS];
    uint64_t heard[RT_SIGNALS], seen, received, malformed, beyond, missing;
    double* values;
} rt_can;
int rt_can_read_table(rt_can*, const char* path, const rt_loop*);
int rt_can_pack(const rt_can*, uint32_t id, const double* outputs, rt_frame*);
int rt_can_unpack(rt_can*, const rt_frame*, const rt_drive*); /* 1 if all numbers were taken */
int rt_can_open(rt_can*, const rt_options*, const rt_loop*);
int rt_can_receive(rt_can*, rt_loop*, uint64_t now, int wait_ms);
void rt_can_send(rt_can*, const rt_loop*);

typedef struct rt_record rt_record; /* loop_record.c: a ring and the thread that writes it out */
rt_record* rt_record_open(const rt_loop*);
void rt_record_add(rt_record*, const rt_loop*);
int rt_record_close(rt_record*); /* not 0 if the file could not be written to its end */
uint64_t rt_record_lost(const rt_record*); /* rows that are not in the file */

struct rt_loop {
    rt_options options;
    cutjoint_mechanism* mechanism;
    rt_drive drive;
    rt_pace pace;
    rt_histogram late, took, whole;
    uint64_t periods, steps, tries, resets, began, ended;
    const char* fault;
    double h, cpu;
    size_t n_out;
    size_t *out, *driven; /* places of the outputs that go out, and of what the inputs drive (wrenches: none) */
    const double *outputs, *joints;
    int wants_outputs;
    rt_udp* udp;
    rt_shared* shared;
    rt_can* can;
    rt_record* record;
};
uint64_t rt_flags(const rt_loop*); /* of a state */
int rt_report(rt_loop*, int json, void* stream); /* not 0 if it could not be written */
void rt_screen_start(rt_loop*);
void rt_screen_stop(void);
int rt_measure(rt_loop*);
size_t rt_find(cutjoint_kind kind, const char* name); /* count of the kind if there is none */
#endif

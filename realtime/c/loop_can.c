/* Frames on a CAN bus (SocketCAN), by a table that says which number stands where.
 *
 * A line of the table is `ID DIRECTION NAME TYPE BYTE SCALE`: identifier (above 0x7ff an extended one), `command` for
 * frames of the device or `state` for ours, an input or an output, int8 to int32, uint8 to uint32, float32 or
 * float64, its first byte in the frame, and what one count is worth. Several lines may share a frame.
 */
#include "loop.h"
#include <errno.h>
#include <linux/can.h>
#include <linux/can/raw.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct { const char* name; int size, whole; double low, high; } types[] = {
    {"int8", 1, 1, INT8_MIN, INT8_MAX},    {"int16", 2, 1, INT16_MIN, INT16_MAX}, {"int32", 4, 1, INT32_MIN, INT32_MAX},
    {"uint8", 1, 1, 0, UINT8_MAX},         {"uint16", 2, 1, 0, UINT16_MAX},       {"uint32", 4, 1, 0, UINT32_MAX},
    {"float32", 4, 0, 0, 0},               {"float64", 8, 0, 0, 0}};
#define TYPES (int)(sizeof types / sizeof *types)

int rt_can_read_table(rt_can* c, const char* path, const rt_loop* loop)
{
    char *line = NULL, id[32], way[32], name[256], type[32], at[32], scale[32], more[8];
    size_t room = 0;
    FILE* file = fopen(path, "r");
    if (!file) return rt_fail("can-table: can't read '%s': %s", path, strerror(errno));
    for (int number = 1; getline(&line, &room, file) >= 0; ++number) {
        line[strcspn(line, "#")] = 0;
        const int words = sscanf(line, "%31s %31s %255s %31s %31s %31s %7s", id, way, name, type, at, scale, more);
        char *end, *end_at, *end_scale;
        if (words <= 0) continue;
        if (words != 6 || c->n == RT_SIGNALS) {
            free(line);
            fclose(file);
            return rt_fail("can-table: %s, line %d: a line is ID DIRECTION NAME TYPE BYTE SCALE, and there are at most %d", path, number, RT_SIGNALS);
        }
        rt_signal* s = c->signals + c->n++;
        *s = (rt_signal){.id = (uint32_t)strtoul(id, &end, 0), .command = strcmp(way, "command") == 0};
        const long byte = strtol(at, &end_at, 10);
        s->scale = strtod(scale, &end_scale);
        for (s->type = 0; s->type < TYPES && strcmp(type, types[s->type].name) != 0; ++s->type) {}
        const cutjoint_kind kind = s->command ? CUTJOINT_INPUT : CUTJOINT_OUTPUT;
        s->which = rt_find(kind, name);
        const char* wrong = *end || s->id > CAN_EFF_MASK ? "the identifier is no number up to 0x1fffffff"
                          : !s->command && strcmp(way, "state") != 0 ? "the direction is command or state"
                          : s->which == cutjoint_count(kind) ? (s->command ? "there is no such input" : "there is no such output; it has to be chosen when the loop is built")
                          : s->type == TYPES ? "the type is one of int8, int16, int32, uint8, uint16, uint32, float32, float64"
                          : *end_at || byte < 0 || byte + types[s->type].size > 8 ? "the number does not fit into 8 bytes there"
                          : *end_scale || !isfinite(s->scale) || s->scale == 0 ? "the scale is no number but zero" : NULL;
        if (wrong) {
            free(line);
            fclose(file);
            return rt_fail("can-table: %s, line %d: %s", path, number, wrong);
        }
        s->at = (int)byte;
        uint32_t* list = s->command ? c->commands : c->ids;
        int *count = s->command ? &c->n_commands : &c->frames, k = 0;
        while (k < *count && list[k] != s->id) ++k;
        if (k == *count) list[(*count)++] = s->id;
    }
    free(line);
    fclose(file);
    c->values = (double*)calloc(loop->drive.n + 1, sizeof(double));
    return c->values ? 0 : rt_fail("not enough memory");
}

/* The frame of an identifier with the present outputs; whole numbers that do not fit end at the last that does. */
int rt_can_pack(const rt_can* c, uint32_t id, const double* outputs, rt_frame* frame)
{
    *frame = (rt_frame){.id = id};
    for (int k = 0; k < c->n; ++k) {
        const rt_signal* s = c->signals + k;
        if (s->command || s->id != id) continue;
        const double x = outputs[s->which] / s->scale;
        const int size = types[s->type].size;
        if (types[s->type].whole) {
            const double r = rint(x);
            const int64_t n = (int64_t)(r < types[s->type].low ? types[s->type].low : r > types[s->type].high ? types[s->type].high : r);
            memcpy(frame->data + s->at, &n, (size_t)size); /* little-endian, as CANopen has it */
        } else if (size == 4) {
            const float f = (float)x;
            memcpy(frame->data + s->at, &f, sizeof f);
        } else memcpy(frame->data + s->at, &x, sizeof x);
        if (frame->size < s->at + size) frame->size = (uint8_t)(s->at + size);
    }
    return frame->size > 0;
}

static double number(const rt_signal* s, const uint8_t* data)
{
    const int size = types[s->type].size;
    uint64_t bits = 0;
    float f;
    double d;
    memcpy(&bits, data + s->at, (size_t)size);
    if (!types[s->type].whole) {
        memcpy(&f, data + s->at, sizeof f);
        if (size == 8) memcpy(&d, data + s->at, sizeof d);
        return (size == 4 ? (double)f : d) * s->scale;
    }
    int64_t n = (int64_t)bits;
    if (types[s->type].low < 0 && bits >> (8 * size - 1)) n -= (int64_t)1 << 8 * size;
    return (double)n * s->scale;
}

/* Its numbers, all or none; 1 if the frame is one of the device's. */
int rt_can_unpack(rt_can* c, const rt_frame* frame, const rt_drive* d)
{
    int found = 0;
    for (int k = 0; k < c->n; ++k) {
        const rt_signal* s = c->signals + k;
        if (!s->command || s->id != frame->id) continue;
        found = 1;
        if (s->at + types[s->type].size > frame->size) { ++c->malformed; return 0; }
        const double x = number(s, frame->data);
        if (!isfinite(x)) { ++c->malformed; return 0; }
        if (fabs(x) > d->ranges[s->which]) { ++c->beyond; return 0; }
    }
    for (int k = 0; k < c->n && found; ++k)
        if (c->signals[k].command && c->signals[k].id == frame->id) c->values[c->signals[k].which] = number(c->signals + k, frame->data);
    c->received += (uint64_t)found;
    return found;
}

int rt_can_open(rt_can* c, const rt_options* o, const rt_loop* loop)
{
    struct sockaddr_can here = {.can_family = AF_CAN};
    struct can_filter filters[RT_SIGNALS];
    if (!o->can_table) return rt_fail("can: say what stands in the frames: can-table FILE");
    if (rt_can_read_table(c, o->can_table, loop)) return 2;
    c->socket = socket(PF_CAN, SOCK_RAW, CAN_RAW);
    if (c->socket < 0) return rt_fail("can: this kernel has no SocketCAN (%s)", strerror(errno));
    here.can_ifindex = (int)if_nametoindex(o->can);
    if (!here.can_ifindex) return rt_fail("can: there is no interface '%s'; 'ip link' lists them", o->can);
    for (int k = 0; k < c->n_commands; ++k) {
        const uint32_t wide = c->commands[k] > CAN_SFF_MASK ? CAN_EFF_FLAG : 0;
        filters[k] = (struct can_filter){c->commands[k] | wide, CAN_EFF_FLAG | CAN_RTR_FLAG | (wide ? CAN_EFF_MASK : CAN_SFF_MASK)};
    }
    setsockopt(c->socket, SOL_CAN_RAW, CAN_RAW_FILTER, filters, (socklen_t)(sizeof *filters * (size_t)c->n_commands));
    if (bind(c->socket, (struct sockaddr*)&here, sizeof here) != 0) return rt_fail("can: can't use '%s': %s", o->can, strerror(errno));
    fprintf(stderr, "can: on %s, %d frames out, %d in\n", o->can, c->frames, c->n_commands);
    return 0;
}

/* Frames that have come in; a command is there when each of the device's frames has come since the last one. */
int rt_can_receive(rt_can* c, rt_loop* loop, uint64_t now, int wait_ms)
{
    struct can_frame raw;
    struct pollfd ready = {c->socket, POLLIN, 0};
    if (wait_ms >= 0 && poll(&ready, 1, wait_ms) <= 0) return 0;
    for (int seen = 0; seen < DRAIN; ++seen) {
        if (recv(c->socket, &raw, sizeof raw, MSG_DONTWAIT) != sizeof raw) break;
        rt_frame frame = {raw.can_id & CAN_EFF_MASK, raw.can_dlc, {0}};
        memcpy(frame.data, raw.data, sizeof frame.data);
        if (!rt_can_unpack(c, &frame, &loop->drive)) continue;
        int all = 1;
        for (int k = 0; k < c->n_commands; ++k) {
            if (c->commands[k] == frame.id) c->heard[k] = now;
            all &= c->heard[k] > c->seen;
        }
        if (!all) continue;
        c->seen = now;
        return rt_drive_accept(&loop->drive, 0, c->values, now);
    }
    return 0;
}

void rt_can_send(rt_can* c, const rt_loop* loop)
{
    rt_frame frame;
    for (int k = 0; k < c->frames; ++k) {
        if (!rt_can_pack(c, c->ids[k], loop->outputs, &frame)) continue;
        struct can_frame raw = {.can_id = frame.id | (frame.id > CAN_SFF_MASK ? CAN_EFF_FLAG : 0), .can_dlc = frame.size};
        memcpy(raw.data, frame.data, sizeof raw.data);
        if (send(c->socket, &raw, sizeof raw, MSG_DONTWAIT) != sizeof raw) ++c->missing;
    }
}

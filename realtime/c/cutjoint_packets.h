/* Packets of a simulation in the loop, for the device's side; written by cutjoint, any C or C++ compiler takes it.
 *
 * State packets (kind 1): flags (from version 3 on), n positions, then n velocities, of what the inputs drive, then n forces
 * of the motors and cylinders (not in version 1). Command packets (kind 2): flags (from version 3 on), then n values in the
 * order of the inputs, or with CUTJOINT_MOTION n efforts, n positions, n velocities, n accelerations, where NaN says nothing.
 * A device hears states of the version that it speaks. Numbers are little-endian. With a key, a packet is sent as
 *
 *     size = cutjoint_sign(&key, bytes, cutjoint_command(bytes, ...));
 *
 * and read if cutjoint_genuine(&key, bytes, size). cutjoint_packets.py tells the rest.
 */
#ifndef CUTJOINT_PACKETS_H
#define CUTJOINT_PACKETS_H
#include <stdint.h>
#include <string.h>
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "packets are little-endian: swap the bytes of every number on this processor"
#endif

/* @defines */
#include "cutjoint_key.h"

typedef struct {
    /* @fields */
} cutjoint_head; /* then the values, then with a key its tag */
typedef char cutjoint_head_fits[sizeof(cutjoint_head) == CUTJOINT_HEAD_SIZE ? 1 : -1]; /* without padding */

/* Bytes before the values, and numbers of a command for each input. */
static inline size_t cutjoint_before(unsigned version) { return sizeof(cutjoint_head) + (version >= CUTJOINT_FLAGGED ? sizeof(uint64_t) : 0); }
static inline size_t cutjoint_told_of(uint64_t flags) { return flags & CUTJOINT_MOTION ? CUTJOINT_FIELDS_TOLD : 1; }

/* Flags of a packet: 0 before there were any. */
static inline uint64_t cutjoint_flags(const void* bytes, size_t size)
{
    uint64_t flags = 0;
    if (size >= cutjoint_before(CUTJOINT_FLAGGED) && ((const uint8_t*)bytes)[2] >= CUTJOINT_FLAGGED)
        memcpy(&flags, (const char*)bytes + sizeof(cutjoint_head), sizeof flags);
    return flags;
}

/* Write a command with flags that answers a state (NULL: hello); returns its size in bytes. Values: n, or 4 n with CUTJOINT_MOTION. */
static inline size_t cutjoint_command_flags(void* bytes, uint32_t sequence, const cutjoint_head* state, uint64_t flags, const double* values, uint32_t n)
{
    cutjoint_head head = {{'C', 'J'}, CUTJOINT_VERSION, CUTJOINT_COMMAND, n, sequence, 0, 0, 0};
    const size_t before = cutjoint_before(CUTJOINT_VERSION), size = cutjoint_told_of(flags) * n * sizeof *values;
    if (state) {
        head.answer = state->sequence;
        head.stamp = state->stamp;
    }
    memcpy(bytes, &head, sizeof head);
    memcpy((char*)bytes + sizeof head, &flags, sizeof flags);
    memcpy((char*)bytes + before, values, size);
    return before + size;
}

/* The same with n torques and no flags. */
static inline size_t cutjoint_command(void* bytes, uint32_t sequence, const cutjoint_head* state, const double* torques, uint32_t n)
{
    return cutjoint_command_flags(bytes, sequence, state, 0, torques, n);
}

/* n numbers of a state, of which `part` come before: 1 if it has them. */
static inline int cutjoint_part(const void* bytes, size_t size, cutjoint_head* head, uint32_t part, double* values, uint32_t n)
{
    if (size < sizeof *head) return 0;
    memcpy(head, bytes, sizeof *head);
    if (memcmp(head->magic, "CJ", 2) != 0 || CUTJOINT_PARTS(head->version) <= part || head->kind != CUTJOINT_STATE) return 0;
    const size_t at = cutjoint_before(head->version) + part * (size_t)n * sizeof *values;
    if (head->count != n || size < at + n * sizeof *values) return 0;
    memcpy(values, (const char*)bytes + at, n * sizeof *values);
    return 1;
}

/* Read a state of n motors: 1 if it is one. */
static inline int cutjoint_state(const void* bytes, size_t size, cutjoint_head* head, double* positions, double* velocities, uint32_t n)
{
    return cutjoint_part(bytes, size, head, 0, positions, n) && cutjoint_part(bytes, size, head, 1, velocities, n);
}

/* The forces in a state of n motors: 1 if it has them. */
static inline int cutjoint_forces(const void* bytes, size_t size, double* forces, uint32_t n)
{
    cutjoint_head head;
    return cutjoint_part(bytes, size, &head, 2, forces, n);
}

/* How many numbers a is after b, negative if before, across the wrap. */
static inline int32_t cutjoint_newer(uint32_t a, uint32_t b) { return (int32_t)(a - b); }
#endif

/* Packets of a simulation in the loop, for the device's side; written by cutjoint, any C or C++ compiler takes it.
 *
 * State packets (kind 1): n positions, then n velocities, of what the inputs drive, then n forces of the motors and
 * cylinders (not in version 1, which a device hears that speaks it). Command packets (kind 2): n torques or forces in
 * the order of the inputs. Numbers are little-endian.
 */
#ifndef CUTJOINT_PACKETS_H
#define CUTJOINT_PACKETS_H
#include <stdint.h>
#include <string.h>
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "packets are little-endian: swap the bytes of every number on this processor"
#endif

/* @defines */

typedef struct {
    /* @fields */
} cutjoint_head; /* then the values, then with a key its tag */

/* Write a command with n torques that answers a state (NULL: hello); returns its size in bytes. */
static inline size_t cutjoint_command(void* bytes, uint32_t sequence, const cutjoint_head* state, const double* torques, uint32_t n)
{
    cutjoint_head head = {{'C', 'J'}, CUTJOINT_VERSION, CUTJOINT_COMMAND, n, sequence, 0, 0, 0};
    if (state) {
        head.answer = state->sequence;
        head.stamp = state->stamp;
    }
    memcpy(bytes, &head, sizeof head);
    memcpy((char*)bytes + sizeof head, torques, n * sizeof *torques);
    return sizeof head + n * sizeof *torques;
}

/* Read a state of n motors: 1 if it is one. */
static inline int cutjoint_state(const void* bytes, size_t size, cutjoint_head* head, double* positions, double* velocities, uint32_t n)
{
    if (size < sizeof *head) return 0;
    memcpy(head, bytes, sizeof *head);
    if (memcmp(head->magic, "CJ", 2) != 0 || !CUTJOINT_PARTS(head->version) || head->kind != CUTJOINT_STATE) return 0;
    if (head->count != n || size < sizeof *head + 2 * n * sizeof(double)) return 0;
    memcpy(positions, (const char*)bytes + sizeof *head, n * sizeof(double));
    memcpy(velocities, (const char*)bytes + sizeof *head + n * sizeof(double), n * sizeof(double));
    return 1;
}

/* The forces in a state of n motors: 1 if it has them. */
static inline int cutjoint_forces(const void* bytes, size_t size, double* forces, uint32_t n)
{
    cutjoint_head head;
    if (size < sizeof head) return 0;
    memcpy(&head, bytes, sizeof head);
    if (memcmp(head.magic, "CJ", 2) != 0 || CUTJOINT_PARTS(head.version) < 3 || head.kind != CUTJOINT_STATE) return 0;
    if (head.count != n || size < sizeof head + 3 * n * sizeof(double)) return 0;
    memcpy(forces, (const char*)bytes + sizeof head + 2 * n * sizeof(double), n * sizeof(double));
    return 1;
}

/* How many numbers a is after b, negative if before, across the wrap. */
static inline int32_t cutjoint_newer(uint32_t a, uint32_t b) { return (int32_t)(a - b); }
#endif

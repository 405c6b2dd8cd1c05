/* State and command of a native loop in shared memory, for C and C++; written by cutjoint.
 *
 * Open NAME with shm_open, map it whole, wait for the magic; then cutjoint_shared_read and
 * cutjoint_shared_write do the rest. The state has one writer, the loop; the command has one, you. Flags are those of
 * cutjoint_packets.h; with CUTJOINT_MOTION a command has four numbers for each input.
 */
#ifndef CUTJOINT_SHARED_H
#define CUTJOINT_SHARED_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "cutjoint_packets.h"

#define CUTJOINT_SHARED_MAGIC {'C', 'J', 'S', 'H', 'A', 'R', 'E', 'D'}
/* @defines */

typedef struct {
    char magic[8];
    uint32_t version, outputs, inputs, name_bytes;
    uint64_t state, command, names, size, reserved; /* offsets, and the size of all */
} cutjoint_shared_head;

typedef struct {
    uint64_t lock, number, answer, flags;
    double stamp, time;
} cutjoint_shared_block; /* then the values */
typedef char cutjoint_shared_head_fits[sizeof(cutjoint_shared_head) == CUTJOINT_SHARED_HEAD_SIZE ? 1 : -1];
typedef char cutjoint_shared_block_fits[sizeof(cutjoint_shared_block) == CUTJOINT_SHARED_BLOCK_SIZE ? 1 : -1];

enum { CUTJOINT_SHARED_STATE, CUTJOINT_SHARED_COMMAND };

static inline uint8_t* cutjoint_shared_place(void* memory, int which, size_t* count)
{
    const cutjoint_shared_head* head = (const cutjoint_shared_head*)memory;
    *count = which == CUTJOINT_SHARED_STATE ? head->outputs : CUTJOINT_FIELDS_TOLD * (size_t)head->inputs;
    return (uint8_t*)memory + (which == CUTJOINT_SHARED_STATE ? head->state : head->command);
}

/* Copy a block and its values out; 0 if it is being written all the time. */
static inline int cutjoint_shared_take(const uint8_t* from, size_t count, cutjoint_shared_block* block, double* values)
{
    const uint64_t* lock = (const uint64_t*)from;
    for (int k = 0; k < CUTJOINT_SHARED_TRIES; ++k) {
        const uint64_t before = __atomic_load_n(lock, __ATOMIC_ACQUIRE);
        if (before & 1) continue;
        memcpy(block, from, sizeof *block);
        memcpy(values, from + sizeof *block, count * sizeof *values);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(lock, __ATOMIC_RELAXED) == before) return 1;
    }
    return 0;
}

/* Write a block, but for its lock, and its values. */
static inline void cutjoint_shared_put(uint8_t* to, size_t count, const cutjoint_shared_block* block, const double* values)
{
    uint64_t* lock = (uint64_t*)to;
    const uint64_t before = (*lock + 1) & ~(uint64_t)1; /* even, whatever a killed writer has left */
    __atomic_store_n(lock, before + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(to + 8, (const uint8_t*)block + 8, sizeof *block - 8);
    memcpy(to + sizeof *block, values, count * sizeof *values);
    __atomic_store_n(lock, before + 2, __ATOMIC_RELEASE);
}

/* Of a command there are four numbers for each input. */
static inline int cutjoint_shared_read(void* memory, int which, cutjoint_shared_block* block, double* values)
{
    size_t count;
    const uint8_t* from = cutjoint_shared_place(memory, which, &count);
    return cutjoint_shared_take(from, count, block, values);
}

static inline void cutjoint_shared_write(void* memory, int which, const cutjoint_shared_block* block, const double* values)
{
    size_t count;
    uint8_t* to = cutjoint_shared_place(memory, which, &count);
    if (which == CUTJOINT_SHARED_COMMAND && !(block->flags & CUTJOINT_MOTION)) count /= CUTJOINT_FIELDS_TOLD;
    cutjoint_shared_put(to, count, block, values);
}
#endif

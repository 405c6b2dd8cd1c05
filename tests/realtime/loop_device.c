/* A device of its own: a PD law over shared memory in lock-step, losing some of what it hears and says.
 * Arguments: name of the memory, number of steps, loss, target. Compiled as C and as C++. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cutjoint_shared.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static size_t place(const char* names, size_t count, const char* name)
{
    for (size_t k = 0; k < count; ++k, names += strlen(names) + 1)
        if (strcmp(names, name) == 0) return k;
    fprintf(stderr, "no %s\n", name);
    exit(2);
}

int main(int argc, char** argv)
{
    if (argc != 5) return 2;
    const long steps = atol(argv[2]);
    const double loss = atof(argv[3]), target = atof(argv[4]);
    const struct timespec moment = {0, 20000};
    const int file = shm_open(argv[1], O_RDWR, 0);
    struct stat what;
    if (file < 0 || fstat(file, &what) != 0) return 3;
    void* memory = mmap(NULL, (size_t)what.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return 3;
    const cutjoint_shared_head* head = (const cutjoint_shared_head*)memory;
    const char* names = (const char*)memory + head->names;
    double values[1000], torques[3] = {0, 0, 0};
    size_t q[3], v[3];
    char name[64];
    for (int k = 0; k < 3; ++k) {
        snprintf(name, sizeof name, "joint.motor%d.position", k + 1);
        q[k] = place(names, head->outputs, name);
        snprintf(name, sizeof name, "joint.motor%d.velocity", k + 1);
        v[k] = place(names, head->outputs, name);
    }
    cutjoint_shared_block state, command;
    memset(&command, 0, sizeof command);
    srand(1);
    for (long n = 0; n < steps; ++n) {
        do {
            if (!cutjoint_shared_read(memory, CUTJOINT_SHARED_STATE, &state, values)) return 4;
            if (state.answer != command.number) nanosleep(&moment, NULL);
        } while (state.answer != command.number);
        if (rand() >= loss * RAND_MAX) /* heard; else the torques stay */
            for (int k = 0; k < 3; ++k) torques[k] = 2000 * (target - values[q[k]]) - 150 * values[v[k]];
        ++command.number;
        command.answer = state.number;
        cutjoint_shared_write(memory, CUTJOINT_SHARED_COMMAND, &command, torques);
    }
    return 0;
}

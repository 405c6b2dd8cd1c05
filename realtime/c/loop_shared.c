/* State and command in shared memory, each behind a seqlock; the layout is told in model/hil/shared.py. */
#include "loop.h"
#include "cutjoint_shared.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t rounded(uint64_t n) { return (n + 63) / 64 * 64; }

int rt_shared_open(rt_shared* s, const rt_loop* loop)
{
    const rt_drive* d = &loop->drive;
    uint64_t names = 1;
    s->name = loop->options.shared;
    if (s->name[0] != '/' || strchr(s->name + 1, '/')) return rt_fail("shared: '%s' is no name such as /stewart", s->name);
    for (size_t k = 0; k < loop->n_out; ++k) names += strlen(cutjoint_items(CUTJOINT_OUTPUT)[loop->out[k]].name) + 1;
    for (size_t k = 0; k < d->n; ++k) names += strlen(d->inputs[k].name) + 1;
    cutjoint_shared_head head = {CUTJOINT_SHARED_MAGIC, CUTJOINT_SHARED_VERSION, (uint32_t)loop->n_out, (uint32_t)d->n, (uint32_t)names, 0, 0, 0, 0, 0};
    head.state = rounded(sizeof head);
    head.command = rounded(head.state + sizeof(cutjoint_shared_block) + loop->n_out * sizeof(double));
    head.names = rounded(head.command + sizeof(cutjoint_shared_block) + d->n * sizeof(double));
    head.size = s->size = rounded(head.names + names);
    s->at[0] = head.state; /* a device that spoils the head must not lead us elsewhere */
    s->at[1] = head.command;
    s->state = (double*)calloc(loop->n_out + 1, sizeof(double));
    s->command = (double*)calloc(d->n + 1, sizeof(double));
    if (!s->state || !s->command) return rt_fail("not enough memory");
    shm_unlink(s->name); /* one that was left behind */
    const int file = shm_open(s->name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, (off_t)s->size) != 0) return rt_fail("shared: can't make %s: %s", s->name, strerror(errno));
    s->bytes = (uint8_t*)mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (s->bytes == MAP_FAILED) return rt_fail("shared: can't map %s: %s", s->name, strerror(errno));
    char* to = (char*)s->bytes + head.names;
    for (size_t k = 0; k < loop->n_out; ++k) to = stpcpy(to, cutjoint_items(CUTJOINT_OUTPUT)[loop->out[k]].name) + 1;
    for (size_t k = 0; k < d->n; ++k) to = stpcpy(to, d->inputs[k].name) + 1;
    memcpy(s->bytes + 8, (uint8_t*)&head + 8, sizeof head - 8);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(s->bytes, &head, 8); /* the magic last: what bears it is whole */
    return 0;
}

int rt_shared_receive(rt_shared* s, rt_loop* loop, uint64_t now)
{
    cutjoint_shared_block block;
    if (!cutjoint_shared_take(s->bytes + s->at[1], loop->drive.n, &block, s->command) || block.number == s->last) return 0;
    s->last = block.number;
    return rt_drive_accept(&loop->drive, s->command, now);
}

void rt_shared_send(rt_shared* s, const rt_loop* loop, uint64_t now)
{
    for (size_t k = 0; k < loop->n_out; ++k) s->state[k] = loop->outputs[loop->out[k]];
    cutjoint_shared_block block = {0, ++s->sent, s->last, (uint64_t)(loop->fault != NULL), (double)now / (double)NS, cutjoint_time(loop->mechanism)};
    cutjoint_shared_put(s->bytes + s->at[0], loop->n_out, &block, s->state);
}

void rt_shared_close(rt_shared* s)
{
    munmap(s->bytes, s->size);
    shm_unlink(s->name);
}

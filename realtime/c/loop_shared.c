/* State and command in shared memory, each behind a seqlock; the layout is told in model/control/shared_memory.py. */
#include "loop.h"
#include "cutjoint_shared.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t rounded(uint64_t n) { return (n + 63) / 64 * 64; }

/* Whether memory of that name was left behind by a loop that was killed, and is gone now: one that runs holds a lock. */
static int left_behind(const char* name)
{
    static const char magic[8] = CUTJOINT_SHARED_MAGIC;
    char found[8];
    const int file = shm_open(name, O_RDWR, 0);
    if (file < 0) return rt_fail("shared: can't open %s: %s", name, strerror(errno)), 0;
    const int free = flock(file, LOCK_EX | LOCK_NB) == 0;
    const ssize_t n = pread(file, found, sizeof found, 0);
    const int ours = n == 0 || (n == sizeof found && memcmp(found, magic, sizeof magic) == 0);
    if (!free) rt_fail("shared: another loop runs as %s; stop it, or choose another name", name);
    else if (!ours) rt_fail("shared: %s is something else; choose another name, or remove /dev/shm%s", name, name);
    else shm_unlink(name);
    close(file);
    return free && ours;
}

/* Memory of that name that is ours alone as long as we run; -1 if it can't be. */
static int make(const char* name, const char* mode, size_t size)
{
    char* end = NULL;
    const unsigned long bits = mode ? strtoul(mode, &end, 8) : 0600;
    if (end && (*end || end == mode || bits > 0777 || (bits & 0600) != 0600))
        return rt_fail("shared-mode: '%s' is no mode such as 0660, with which its owner can read and write", mode), -1;
    int file = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0 && errno == EEXIST) {
        if (!left_behind(name)) return -1;
        file = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    }
    if (file < 0 || flock(file, LOCK_EX | LOCK_NB) != 0 || ftruncate(file, (off_t)size) != 0 || fchmod(file, (mode_t)bits) != 0)
        return rt_fail("shared: can't make %s: %s", name, strerror(errno)), -1;
    return file;
}

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
    head.names = rounded(head.command + sizeof(cutjoint_shared_block) + CUTJOINT_FIELDS_TOLD * d->n * sizeof(double));
    head.size = s->size = rounded(head.names + names);
    s->at[0] = head.state; /* a device that spoils the head must not lead us elsewhere */
    s->at[1] = head.command;
    s->state = (double*)calloc(loop->n_out + 1, sizeof(double));
    s->command = (double*)calloc(CUTJOINT_FIELDS_TOLD * d->n + 1, sizeof(double));
    if (!s->state || !s->command) return rt_fail("not enough memory");
    s->file = make(s->name, loop->options.shared_mode, s->size);
    if (s->file < 0) return 2;
    void* bytes = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->file, 0);
    s->bytes = bytes == MAP_FAILED ? NULL : (uint8_t*)bytes;
    if (!s->bytes) return rt_fail("shared: can't map %s: %s", s->name, strerror(errno));
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
    if (!cutjoint_shared_take(s->bytes + s->at[1], CUTJOINT_FIELDS_TOLD * loop->drive.n, &block, s->command) || block.number == s->last) return 0;
    s->last = block.number;
    return rt_drive_accept(&loop->drive, block.flags, s->command, now);
}

void rt_shared_send(rt_shared* s, const rt_loop* loop, uint64_t now)
{
    for (size_t k = 0; k < loop->n_out; ++k) s->state[k] = loop->outputs[loop->out[k]];
    cutjoint_shared_block block = {0, ++s->sent, s->last, rt_flags(loop), (double)now / (double)NS, cutjoint_time(loop->mechanism)};
    cutjoint_shared_put(s->bytes + s->at[0], loop->n_out, &block, s->state);
}

void rt_shared_close(rt_shared* s)
{
    struct stat ours, there;
    const int file = shm_open(s->name, O_RDONLY, 0);
    if (file >= 0 && fstat(file, &there) == 0 && fstat(s->file, &ours) == 0 && there.st_ino == ours.st_ino) shm_unlink(s->name);
    if (file >= 0) close(file);
    munmap(s->bytes, s->size);
    close(s->file);
}

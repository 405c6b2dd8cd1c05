/* Packets over UDP, in the format of model/control/packets.py. */
#include "loop.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 16 /* packets of one system call */
static struct sockaddr_in senders[BATCH];
static struct iovec pieces[BATCH];
static struct mmsghdr batch[BATCH];

/* HOST:PORT; the port may be left out if `open`. */
static int address(const char* text, struct sockaddr_in* to, int open, const char* option)
{
    char host[64];
    const char* colon = strrchr(text, ':');
    const size_t n = colon ? (size_t)(colon - text) : strlen(text);
    char* end = NULL;
    const unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
    if (n >= sizeof host || (!colon && !open) || (colon && (*end || end == colon + 1 || port > 65535)))
        return rt_fail("%s: '%s' is not HOST:PORT, such as 127.0.0.1:47000", option, text);
    memcpy(host, text, n);
    host[n] = 0;
    memset(to, 0, sizeof *to);
    to->sin_family = AF_INET;
    to->sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, n ? host : "127.0.0.1", &to->sin_addr) != 1)
        return rt_fail("%s: '%s' is no address in numbers, such as 127.0.0.1", option, host);
    return 0;
}

static int read_key(cutjoint_key* key, const char* path)
{
    static uint8_t bytes[4096];
    struct stat what;
    const int file = open(path, O_RDONLY);
    const ssize_t n = file < 0 ? -1 : read(file, bytes, sizeof bytes);
    if (n < 0 || fstat(file, &what) != 0) return rt_fail("key: can't read '%s': %s", path, strerror(errno));
    close(file);
    if (what.st_mode & 077) return rt_fail("key: others may read '%s'; run 'chmod 600 %s'", path, path);
    if (n < LEAST_KEY) return rt_fail("key: '%s' holds %d bytes; give at least %d, such as 'head -c 32 /dev/urandom > %s'", path, (int)n, LEAST_KEY, path);
    cutjoint_key_set(key, bytes, (size_t)n);
    memset(bytes, 0, sizeof bytes);
    return 0;
}

int rt_udp_open(rt_udp* u, const rt_options* o, const rt_drive* d)
{
    struct sockaddr_in here, peer;
    rt_gate* g = &u->gate;
    g->inputs = d->n;
    g->ranges = d->ranges;
    g->silence = (uint64_t)((d->timeout > 0 ? d->timeout : SILENCE) * (double)NS);
    if (address(o->udp, &here, 0, "udp")) return 2;
    if (o->peer) {
        if (address(o->peer, &peer, 1, "peer")) return 2;
        g->host = peer.sin_addr.s_addr;
        g->port = peer.sin_port;
    }
    if (o->key && read_key(&g->key, o->key)) return 2;
    if (o->key && getrandom(&u->sequence, sizeof u->sequence, 0) != sizeof u->sequence) return rt_fail("key: no random number: %s", strerror(errno));
    g->lock_step = o->mode == RT_LOCK_STEP;
    u->most = cutjoint_before(CUTJOINT_VERSION) + CUTJOINT_FIELDS_TOLD * d->n * sizeof(double) + TAG;
    if (u->most > MOST) return rt_fail("udp: %d inputs do not fit into a packet", (int)d->n);
    u->state = (uint8_t*)malloc(u->most);
    u->packet = (uint8_t*)malloc(u->most);
    u->room = (uint8_t*)malloc(BATCH * (u->most + 1)); /* a byte more shows what is too long */
    u->values = (double*)calloc(CUTJOINT_FIELDS_TOLD * d->n + 1, sizeof(double));
    if (!u->state || !u->packet || !u->room || !u->values) return rt_fail("not enough memory");
    memset(u->room, 0, BATCH * (u->most + 1)); /* every page is there before the loop starts */
    u->socket = socket(AF_INET, SOCK_DGRAM, 0);
    const int queue = QUEUE;
    if (u->socket < 0) return rt_fail("udp: no socket: %s", strerror(errno));
    setsockopt(u->socket, SOL_SOCKET, SO_RCVBUF, &queue, sizeof queue);
    if (bind(u->socket, (struct sockaddr*)&here, sizeof here) != 0) return rt_fail("udp: can't listen on %s: %s", o->udp, strerror(errno));
    socklen_t size = sizeof here;
    getsockname(u->socket, (struct sockaddr*)&here, &size);
    fprintf(stderr, "udp: listening on %s:%u%s%s\n", inet_ntoa(here.sin_addr), ntohs(here.sin_port), o->peer ? ", for " : "", o->peer ? o->peer : "");
    for (int k = 0; k < BATCH; ++k) {
        pieces[k] = (struct iovec){u->room + (size_t)k * (u->most + 1), u->most + 1};
        batch[k].msg_hdr = (struct msghdr){.msg_name = senders + k, .msg_namelen = sizeof *senders, .msg_iov = pieces + k, .msg_iovlen = 1};
    }
    return 0;
}

/* Take what has come in: no more than DRAIN packets, and none once the time is up. In lock-step one is enough. */
int rt_udp_receive(rt_udp* u, rt_loop* loop, uint64_t now, uint64_t until, int wait_ms)
{
    const int lock_step = loop->options.mode == RT_LOCK_STEP;
    int got = 0;
    if (wait_ms >= 0) {
        struct pollfd ready = {u->socket, POLLIN, 0};
        if (poll(&ready, 1, wait_ms) <= 0) return 0;
        now = rt_now();
    }
    for (int seen = 0; seen < DRAIN;) {
        const int most = lock_step ? 1 : BATCH;
        for (int k = 0; k < most; ++k) batch[k].msg_hdr.msg_namelen = sizeof *senders;
        const int n = recvmmsg(u->socket, batch, (unsigned)most, MSG_DONTWAIT, NULL);
        if (n <= 0) {
            if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) { ++seen; continue; } /* its port is closed: go on */
            break;
        }
        for (int k = 0; k < n; ++k) {
            cutjoint_head head;
            const size_t size = batch[k].msg_hdr.msg_flags & MSG_TRUNC ? 0 : batch[k].msg_len;
            const rt_verdict verdict = rt_gate_accept(&u->gate, pieces[k].iov_base, size, senders + k, now, u->sequence, &head, u->values);
            if (verdict == RT_AGAIN && lock_step) rt_udp_again(u);
            if (verdict != RT_OBEYED || !rt_drive_accept(&loop->drive, cutjoint_flags(pieces[k].iov_base, size), u->values, now)) continue;
            const double stamp = head.stamp * (double)NS;
            if (stamp > 0 && stamp <= (double)now) rt_add(&u->response, now - (uint64_t)stamp);
            got = 1;
        }
        seen += n;
        if (n < most || (lock_step && got)) break;
        if (rt_now() > until || seen >= DRAIN) { ++u->cut_short; break; }
    }
    if (!got && !lock_step && rt_gate_present(&u->gate, now)) ++u->gate.counts[RT_MISSING];
    return got;
}

void rt_udp_send(rt_udp* u, const rt_loop* loop, const uint64_t* now)
{
    if (!u->gate.has_peer && loop->periods) return; /* the first is made even so: it may be asked for */
    const uint32_t n = (uint32_t)loop->drive.n;
    const size_t joints = cutjoint_count(CUTJOINT_JOINT);
    if (++u->sequence == 0) u->sequence = 1; /* 0 answers nothing */
    cutjoint_head head = {{'C', 'J'}, CUTJOINT_VERSION, CUTJOINT_STATE, n, u->sequence, u->gate.has_last ? u->gate.last : 0,
                          (double)*now / (double)NS, cutjoint_time(loop->mechanism)};
    const uint64_t flags = rt_flags(loop);
    double* values = (double*)(u->state + cutjoint_before(CUTJOINT_VERSION));
    memcpy(u->state, &head, sizeof head);
    memcpy(u->state + sizeof head, &flags, sizeof flags);
    for (uint32_t part = 0; part < CUTJOINT_PARTS(CUTJOINT_VERSION); ++part)
        for (uint32_t k = 0; k < n; ++k) values[part * n + k] = loop->driven[k] < joints ? loop->joints[part * joints + loop->driven[k]] : 0;
    rt_udp_again(u);
}

/* The latest state, to the device, in the version that it speaks: an older one has no flags, or ends earlier. Buffers full, or
 * nobody there: the next one is as good. */
void rt_udp_again(rt_udp* u)
{
    cutjoint_head head;
    if (!u->gate.has_peer || !u->sequence) return;
    memcpy(&head, u->state, sizeof head);
    head.version = u->gate.version;
    const size_t before = cutjoint_before(head.version), values = CUTJOINT_PARTS(head.version) * head.count * sizeof(double);
    memcpy(u->packet, u->state, before);
    memcpy(u->packet, &head, sizeof head);
    memcpy(u->packet + before, u->state + cutjoint_before(CUTJOINT_VERSION), values);
    const size_t size = u->gate.key.set ? cutjoint_sign(&u->gate.key, u->packet, before + values) : before + values;
    ++u->sent;
    if (sendto(u->socket, u->packet, size, MSG_DONTWAIT, (struct sockaddr*)&u->gate.peer, sizeof u->gate.peer) < 0) ++u->unsent;
}

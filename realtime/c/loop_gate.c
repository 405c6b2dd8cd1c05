/* Which packets are obeyed: the twin of `Gate` in model/control/packets.py, held against it in a test. */
#include "loop.h"
#include <math.h>

static uint8_t* gap(rt_gate* g, uint32_t number, uint8_t* bit)
{
    *bit = (uint8_t)(1u << number % 8);
    return g->gaps + number / 8 % RT_GAPS;
}

static int news(rt_gate* g, uint32_t sequence)
{
    uint8_t bit, *place;
    ++g->counts[RT_RECEIVED];
    if (!g->has_last) memset(g->gaps, 0, sizeof g->gaps);
    const int32_t step = g->has_last ? cutjoint_newer(sequence, g->last) : 1;
    if (step > WINDOW || step < -WINDOW) {
        ++g->counts[RT_OUTSIDE];
        return 0;
    }
    if (step <= 0) {
        ++g->counts[RT_REORDERED];
        place = gap(g, sequence, &bit);
        if (*place & bit) { /* not lost after all */
            *place &= (uint8_t)~bit;
            --g->counts[RT_LOST];
        }
        return 0;
    }
    for (uint32_t k = 1; k <= (uint32_t)step && g->has_last; ++k) {
        place = gap(g, g->last + k, &bit);
        if (k < (uint32_t)step) *place |= bit;
        else *place &= (uint8_t)~bit; /* what stood there is out of the window */
    }
    if (g->has_last) g->counts[RT_LOST] += (uint64_t)(step - 1);
    g->last = sequence;
    g->has_last = 1;
    return 1;
}

int rt_gate_present(const rt_gate* g, uint64_t now) { return g->has_peer && g->heard && now - g->heard <= g->silence; }

static int is_peer(const rt_gate* g, const struct sockaddr_in* from)
{
    return g->has_peer && from->sin_addr.s_addr == g->peer.sin_addr.s_addr && from->sin_port == g->peer.sin_port;
}

static int known(const rt_gate* g, const struct sockaddr_in* from)
{
    return (!g->host || from->sin_addr.s_addr == g->host) && (!g->port || from->sin_port == g->port);
}

static int fresh(const rt_gate* g, const cutjoint_head* head, int here, uint32_t sent)
{
    const int32_t age = cutjoint_newer(sent, head->answer);
    if (head->answer == 0 || age < 0 || age > WINDOW) return 0;
    return !g->has_answered || cutjoint_newer(head->answer, g->answered) >= (here ? 0 : 1);
}

/* Numbers that can be told; beside a stop they are not looked at, and in a motion NaN says nothing. */
static int sound(const double* values, size_t n, uint64_t flags)
{
    int fine = 1;
    for (size_t k = 0; k < n; ++k) fine &= flags & CUTJOINT_MOTION ? !isinf(values[k]) : isfinite(values[k]);
    return fine || flags & (CUTJOINT_STOP | CUTJOINT_BRAKE);
}

static int within(const rt_gate* g, const double* values, uint64_t flags)
{
    int fine = 1;
    for (size_t k = 0; k < g->inputs; ++k) fine &= !(fabs(values[k]) > g->ranges[k]);
    return fine || flags & (CUTJOINT_STOP | CUTJOINT_BRAKE);
}

static rt_verdict refuse(rt_gate* g, int count)
{
    ++g->counts[count];
    return RT_REFUSED;
}

rt_verdict rt_gate_accept(rt_gate* g, const void* data, size_t size, const struct sockaddr_in* from, uint64_t now, uint32_t sent,
                          cutjoint_head* head, double* values)
{
    const size_t tag = g->key.set ? TAG : 0;
    const uint64_t flags = cutjoint_flags(data, size);
    if (size < sizeof *head) return refuse(g, RT_MALFORMED);
    memcpy(head, data, sizeof *head);
    const size_t count = cutjoint_told_of(flags) * g->inputs, before = cutjoint_before(head->version), body = before + count * sizeof *values;
    if (memcmp(head->magic, "CJ", 2) != 0 || !CUTJOINT_PARTS(head->version) || head->kind != CUTJOINT_COMMAND || head->count != g->inputs ||
        size != body + tag || flags & ~(uint64_t)CUTJOINT_ORDERS)
        return refuse(g, RT_MALFORMED);
    memcpy(values, (const char*)data + before, count * sizeof *values);
    const int here = rt_gate_present(g, now);
    if (!known(g, from) || (here && !is_peer(g, from))) return refuse(g, RT_STRANGER);
    if (g->key.set && !cutjoint_key_fits(&g->key, data, body, (const uint8_t*)data + body)) return refuse(g, RT_FORGED);
    if (!isfinite(head->stamp) || !isfinite(head->time) || !sound(values, count, flags)) return refuse(g, RT_MALFORMED);
    if (!within(g, values, flags)) return refuse(g, RT_BEYOND);
    const int follows = g->lock_step && g->has_last && cutjoint_newer(head->sequence, g->last) >= 0 && cutjoint_newer(head->sequence, g->last) <= WINDOW;
    const int said_again = follows && is_peer(g, from) && head->sequence == g->last && g->has_answered && head->answer == g->answered;
    if (g->key.set && !fresh(g, head, here, sent) && !said_again) {
        if (head->answer || here) return refuse(g, RT_FORGED);
        g->peer = *from; /* it hears states, and is heard once it answers them */
        g->has_peer = 1;
        g->version = head->version;
        return RT_AGAIN;
    }
    if (!is_peer(g, from) || !(here || follows)) g->has_last = 0;
    const int again = g->has_last && head->sequence == g->last;
    if (!news(g, head->sequence)) return again ? RT_AGAIN : RT_REFUSED;
    g->peer = *from;
    g->has_peer = 1;
    g->version = head->version;
    g->heard = now;
    if (head->answer) {
        g->counts[RT_LATE] += head->answer != sent;
        g->answered = head->answer;
        g->has_answered = 1;
    }
    return RT_OBEYED;
}

/* Times in bins that widen with the time: 64 for each power of two, so that a quantile is known to 1.6 %. */
#include "loop.h"

static unsigned bin(uint64_t ns)
{
    unsigned power = 0;
    while (ns >> power >= 128) ++power; /* 64 to 127 are left, or all of a small one */
    const unsigned k = power * 64 + (unsigned)(ns >> power);
    return k < RT_BINS ? k : RT_BINS - 1;
}

uint64_t rt_top(unsigned k)
{
    const unsigned power = k < 128 ? 0 : k / 64 - 1;
    return (((uint64_t)(k - power * 64) + 1) << power) - 1;
}

void rt_add(rt_histogram* h, uint64_t ns)
{
    ++h->bins[bin(ns)];
    ++h->count;
    h->sum += (double)ns;
    if (ns > h->longest) h->longest = ns;
}

uint64_t rt_quantile(const rt_histogram* h, double part)
{
    uint64_t seen = 0;
    for (unsigned k = 0; k < RT_BINS; ++k) {
        seen += h->bins[k];
        if (seen && (double)seen >= part * (double)h->count) return rt_top(k) < h->longest ? rt_top(k) : h->longest;
    }
    return h->longest;
}

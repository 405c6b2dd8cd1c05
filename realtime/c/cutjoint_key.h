/* SHA-256 (FIPS 180-4) and HMAC (RFC 2104) of short messages: the checksum of packets with a key; held against Python's in a test. */
#ifndef CUTJOINT_KEY_H
#define CUTJOINT_KEY_H
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct { uint32_t h[8]; uint64_t bytes; uint8_t rest[64]; } cutjoint_sha256;
typedef struct { cutjoint_sha256 inner, outer; int set; } cutjoint_key;

static inline uint32_t cutjoint_turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

static inline void cutjoint_sha256_block(cutjoint_sha256* s, const uint8_t* p)
{
    static const uint32_t K[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
        0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
        0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
        0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
        0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    uint32_t w[64], h[8];
    for (int i = 0; i < 16; ++i) w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 | (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
    for (int i = 16; i < 64; ++i)
        w[i] = w[i - 16] + w[i - 7] + (cutjoint_turn(w[i - 15], 7) ^ cutjoint_turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
               (cutjoint_turn(w[i - 2], 17) ^ cutjoint_turn(w[i - 2], 19) ^ w[i - 2] >> 10);
    memcpy(h, s->h, sizeof h);
    for (int i = 0; i < 64; ++i) {
        const uint32_t t1 = h[7] + (cutjoint_turn(h[4], 6) ^ cutjoint_turn(h[4], 11) ^ cutjoint_turn(h[4], 25)) + ((h[4] & h[5]) ^ (~h[4] & h[6])) + K[i] + w[i];
        const uint32_t t2 = (cutjoint_turn(h[0], 2) ^ cutjoint_turn(h[0], 13) ^ cutjoint_turn(h[0], 22)) + ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
        memmove(h + 1, h, 7 * sizeof *h);
        h[4] += t1;
        h[0] = t1 + t2;
    }
    for (int i = 0; i < 8; ++i) s->h[i] += h[i];
}

static inline void cutjoint_sha256_begin(cutjoint_sha256* s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->h, start, sizeof start);
    s->bytes = 0;
}

static inline void cutjoint_sha256_add(cutjoint_sha256* s, const void* data, size_t n)
{
    const uint8_t* p = (const uint8_t*)data;
    for (; n; ++p, --n) {
        s->rest[s->bytes++ % 64] = *p;
        if (s->bytes % 64 == 0) cutjoint_sha256_block(s, s->rest);
    }
}

static inline void cutjoint_sha256_end(cutjoint_sha256* s, uint8_t digest[32])
{
    const uint64_t bits = s->bytes * 8;
    uint8_t length[8];
    cutjoint_sha256_add(s, "\x80", 1);
    while (s->bytes % 64 != 56) cutjoint_sha256_add(s, "", 1);
    for (int i = 0; i < 8; ++i) length[i] = (uint8_t)(bits >> (56 - 8 * i));
    cutjoint_sha256_add(s, length, 8);
    for (int i = 0; i < 32; ++i) digest[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

/* The two halves of HMAC that depend on the key alone are kept. */
static inline void cutjoint_key_set(cutjoint_key* key, const void* bytes, size_t n)
{
    uint8_t pad[64] = {0};
    cutjoint_sha256 s;
    if (n > 64) {
        cutjoint_sha256_begin(&s);
        cutjoint_sha256_add(&s, bytes, n);
        cutjoint_sha256_end(&s, pad);
    } else memcpy(pad, bytes, n);
    for (int i = 0; i < 64; ++i) pad[i] ^= 0x36;
    cutjoint_sha256_begin(&key->inner);
    cutjoint_sha256_add(&key->inner, pad, 64);
    for (int i = 0; i < 64; ++i) pad[i] ^= 0x36 ^ 0x5c;
    cutjoint_sha256_begin(&key->outer);
    cutjoint_sha256_add(&key->outer, pad, 64);
    key->set = 1;
}

static inline void cutjoint_key_tag(const cutjoint_key* key, const void* data, size_t n, uint8_t* tag)
{
    cutjoint_sha256 s = key->inner;
    uint8_t digest[32];
    cutjoint_sha256_add(&s, data, n);
    cutjoint_sha256_end(&s, digest);
    s = key->outer;
    cutjoint_sha256_add(&s, digest, 32);
    cutjoint_sha256_end(&s, digest);
    memcpy(tag, digest, CUTJOINT_TAG);
}

/* Compared in the same time wherever they differ. */
static inline int cutjoint_key_fits(const cutjoint_key* key, const void* data, size_t n, const uint8_t* tag)
{
    uint8_t own[CUTJOINT_TAG], differ = 0;
    cutjoint_key_tag(key, data, n, own);
    for (int i = 0; i < CUTJOINT_TAG; ++i) differ |= (uint8_t)(own[i] ^ tag[i]);
    return differ == 0;
}

/* Put the tag behind a packet of n bytes; returns the size of both. */
static inline size_t cutjoint_sign(const cutjoint_key* key, void* bytes, size_t n)
{
    cutjoint_key_tag(key, bytes, n, (uint8_t*)bytes + n);
    return n + CUTJOINT_TAG;
}

/* 1 if a packet bears the tag of whoever knows the key. */
static inline int cutjoint_genuine(const cutjoint_key* key, const void* bytes, size_t size)
{
    return size >= CUTJOINT_TAG && cutjoint_key_fits(key, bytes, size - CUTJOINT_TAG, (const uint8_t*)bytes + size - CUTJOINT_TAG);
}
#endif

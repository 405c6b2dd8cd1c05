/* Packets and frames of a device, from bytes: what is obeyed is finite and within range. */
#define main driver_main
#include "../realtime/loop_driver.c"
#undef main

typedef struct { const uint8_t* at; size_t left; } bytes;

static int take(bytes* b, void* to, size_t n)
{
    if (b->left < n) return 0;
    memcpy(to, b->at, n);
    b->at += n;
    b->left -= n;
    return 1;
}

static void check(const double* values, const double* most)
{
    for (int k = 0; k < 2; ++k)
        if (!(values[k] >= -most[k] && values[k] <= most[k])) abort();
}

static void packets(bytes b, int keyed)
{
    static double ranges[] = {10, 0.5};
    rt_gate g = {.inputs = 2, .ranges = ranges, .silence = NS / 10};
    struct { uint8_t size, sender, pause, sent; } head;
    uint64_t now = NS;
    if (keyed) rt_key_set(&g.key, "0123456789abcdef", 16);
    while (take(&b, &head, sizeof head)) {
        const struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = (uint16_t)(head.sender % 2), .sin_addr = {1}};
        const size_t size = head.size < b.left ? head.size : b.left;
        uint8_t* own = (uint8_t*)malloc(size + 1); /* of its size: reading beyond it is seen */
        cutjoint_head packet;
        double values[2];
        take(&b, own, size);
        now += head.pause * (NS / 100);
        if (keyed && head.pause % 2 && size > TAG) rt_key_tag(&g.key, own, size - TAG, own + size - TAG); /* nobody guesses it */
        if (rt_gate_accept(&g, own, size, &from, now, head.sent, &packet, values) == RT_OBEYED) check(values, ranges);
        free(own);
    }
}

/* A frame: an identifier of the table, how many bytes it says it has, and eight of them. */
static void frames(bytes b)
{
    static rt_loop loop;
    static rt_can c;
    static double ranges[] = {100, 100};
    uint8_t head[2];
    rt_frame frame;
    if (!c.values) {
        loop.drive = (rt_drive){.n = 2, .inputs = inputs, .ranges = ranges};
        if (rt_can_read_table(&c, TABLE, &loop)) abort();
    }
    while (take(&b, head, sizeof head) && take(&b, frame.data, sizeof frame.data)) {
        frame.id = c.commands[head[0] % c.n_commands];
        frame.size = head[1];
        if (rt_can_unpack(&c, &frame, &loop.drive)) check(c.values, ranges);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    if (size && data[0] == 'c') frames((bytes){data + 1, size - 1});
    else if (size) packets((bytes){data + 1, size - 1}, data[0] == 'k');
    return 0;
}

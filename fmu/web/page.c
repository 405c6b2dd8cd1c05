/* The mechanism for a web page: one instance, which the page drives, steps and reads. */
#include "core.h"
#include "tables.h"

#define PAGE(name) __attribute__((export_name(#name)))
__attribute__((import_module("page"), import_name("say"))) void page_say(const char* message);

static cj_instance mechanism;

static void tell(void* host, cj_status status, const char* category, const char* message)
{
    if (status != CJ_OK) page_say(message);
}

PAGE(begin) void page_begin(void)
{
    mechanism.log = tell;
    mechanism.logging = cj_category("logStatusError") | cj_category("logStatusDiscard");
    cj_begin(&mechanism, 0);
    mechanism.now.phase = CJ_STEPPING;
}

PAGE(drive) int page_drive(unsigned input, double value)
{
    const unsigned slot = SLOT_INPUT + input;
    return cj_set(&mechanism, &slot, 1, &value);
}

/* Whether the step was refused; a coarse one is taken. */
PAGE(step) int page_step(void) { return cj_do_step(&mechanism, mechanism.now.time, CJ_STEP) > CJ_WARNING; }
PAGE(time) double page_time(void) { return mechanism.now.time; }

PAGE(outputs) const double* page_outputs(void)
{
    cj_read(&mechanism);
    return mechanism.y;
}

PAGE(distance) double page_distance(void)
{
    cj_sigma(&mechanism);
    return mechanism.sigma;
}

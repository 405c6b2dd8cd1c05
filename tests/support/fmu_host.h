/* What the files of the host share. */
#ifndef FMU_HOST_H
#define FMU_HOST_H

#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    void (*logger)(void*, const char*, int, const char*, const char*, ...);
    void* (*allocate)(size_t, size_t);
    void (*release)(void*);
    void (*finished)(void*, int);
    void* environment;
} callbacks;

typedef struct { int again, terminate, nominals, values, next_defined; double next; } event_info;

typedef struct {
    void* (*instantiate)(const char*, int, const char*, const char*, const callbacks*, int, int);
    void (*release)(void*);
    int (*setup)(void*, int, double, double, int, double);
    int (*enter)(void*);
    int (*leave)(void*);
    int (*reset)(void*);
    int (*get)(void*, const unsigned*, size_t, double*);
    int (*set)(void*, const unsigned*, size_t, const double*);
    int (*step)(void*, double, double, int);
    int (*save)(void*, void**);
    int (*restore)(void*, void*);
    int (*drop)(void*, void**);
    int (*size)(void*, void*, size_t*);
    int (*pack)(void*, void*, char*, size_t);
    int (*unpack)(void*, const char*, size_t, void**);
    int (*event)(void*);
    int (*discrete)(void*, event_info*);
    int (*continuous)(void*);
    int (*completed)(void*, int, int*, int*);
    int (*set_time)(void*, double);
    int (*set_states)(void*, const double*, size_t);
    int (*get_states)(void*, double*, size_t);
    int (*rates)(void*, double*, size_t);
    int (*indicators)(void*, double*, size_t);
    int (*directional)(void*, const unsigned*, size_t, const unsigned*, size_t, const double*, double*);
    const char* guid;
    unsigned inputs[64], outputs[512];
    size_t ni, no;
} library;

#define H 1e-3 /* s: inner and communication step */

extern library fmi; /* the FMU that all functions call */
extern const callbacks host;
extern int logged;
extern char last_message[1024];

void fail(const char* what);
void need(int right, const char* what);
void* symbol(void* library, const char* name);
void* start_as(const char* name, int type);
void* start(const char* name); /* for co-simulation */
void run(void* c, int from, int steps);
void read_all(void* c, double* y);

void check(void);
void bench(long steps);
void stack(void);

#endif

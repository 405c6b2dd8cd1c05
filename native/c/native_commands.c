/* The path of a command, traced in model/control/command_law.py, behind the functions of native.h. */
#include "native_inside.h"
#include "tables.h"
#include <string.h>

#define ORDER(x) (x), (x) + NU, (x) + 2 * NU, (x) + 3 * NU

double cutjoint_timeout(void) { return TIMEOUT; }
double cutjoint_frequency(void) { return FREQUENCY; }
double cutjoint_longest_hold(double frequency) { return SAMPLED / frequency; }

void cutjoint_order_of_values(cutjoint_mechanism* m, const double* values, double* order)
{
    cj_call(&m->core, cj_order_of_values, CJ_IN(values), CJ_OUT(ORDER(order)));
}

void cutjoint_order_of_fields(cutjoint_mechanism* m, const double* fields, double* order)
{
    double before[CJ_ROOM(4 * NU)];
    memcpy(before, order, 4 * NU * sizeof *order);
    cj_call(&m->core, cj_order_of_fields, CJ_IN(ORDER(fields), ORDER(before)), CJ_OUT(ORDER(order)));
}

size_t cutjoint_check_order(cutjoint_mechanism* m, const double* order, const double* ranges, int* saturated)
{
    double own[CJ_ROOM(NU)], refused, cut;
    for (int k = 0; k < NU; ++k) own[k] = ranges ? ranges[k] : cutjoint_items(CUTJOINT_INPUT)[k].range;
    cj_call(&m->core, cj_check_order, CJ_IN(ORDER(order), own), CJ_OUT(&refused, &cut));
    *saturated = cut != 0;
    return (size_t)refused;
}

int cutjoint_relax_order(cutjoint_mechanism* m, double age, double timeout, int stay, double* order)
{
    double before[CJ_ROOM(4 * NU)], silent;
    const double stays = stay;
    memcpy(before, order, 4 * NU * sizeof *order);
    cj_call(&m->core, cj_relax_order, CJ_IN(ORDER(before), &age, &timeout, &stays), CJ_OUT(ORDER(order), &silent));
    return silent != 0;
}

void cutjoint_give_inputs(cutjoint_mechanism* m, const double* order, double* inputs)
{
    const double zero[CJ_ROOM(NU)] = {0}, one = 1; /* where nothing is led on, neither place nor frequency counts */
    cj_call(&m->core, cj_give_inputs, CJ_IN(ORDER(order), zero, &one), CJ_OUT(inputs));
}

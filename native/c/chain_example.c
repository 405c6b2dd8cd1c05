/* Moves FRAME of MECHANISM up and down by a hundredth of a metre, and prints what its actuators do.
 * cc example.c -I. libMECHANISM_chain.a -lm -o example && ./example */
#include <math.h>
#include <stdio.h>
#include "MECHANISM_chain.h"

int main(void)
{
    MECHANISM_chain chain;
    double home[MECHANISM_NPOSE], pose[MECHANISM_NPOSE];
    double x[MECHANISM_NA], tau[MECHANISM_NA];
    int k, n, code;

    MECHANISM_start(&chain);
    MECHANISM_pose(&chain, home, 0);
    printf("t");
    for (n = 0; n < MECHANISM_NA; n++)
        printf(",%s,%s effort", MECHANISM_actuators[n], MECHANISM_actuators[n]);
    printf("\n");
    for (k = 0; k <= 100; k++) {
        for (n = 0; n < MECHANISM_NPOSE; n++)
            pose[n] = home[n];
        pose[2] -= 0.01 * (1 - cos(0.0628318530717959 * k)) / 2;
        code = MECHANISM_inverse(&chain, pose, 0, 0, x, 0, 0);
        if (code != MECHANISM_MET) {
            fprintf(stderr, "step %d: %s\n", k, MECHANISM_says(code));
            return 1;
        }
        MECHANISM_efforts(&chain, 0, tau);
        printf("%.3f", 0.01 * k);
        for (n = 0; n < MECHANISM_NA; n++)
            printf(",%.12g,%.9g", x[n], tau[n]);
        printf("\n");
    }
    return 0;
}

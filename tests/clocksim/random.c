/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clocksim/random.h"

#include <math.h>

uint64_t sim_random_next(struct sim_random *random)
{
    uint64_t z = (random->state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct sim_random sim_random_of(uint64_t seed, uint64_t stream)
{
    struct sim_random random = {seed};

    random.state = sim_random_next(&random) ^ (stream * UINT64_C(0xd1342543de82ef95));
    (void)sim_random_next(&random);
    return random;
}

/* In (0, 1). */
static double open_unit(struct sim_random *random)
{
    return ((double)(sim_random_next(random) >> 11) + 0.5) / 9007199254740992.0;
}

double sim_random_uniform(struct sim_random *random, double low, double high)
{
    return low + (high - low) * open_unit(random);
}

double sim_random_normal(struct sim_random *random)
{
    double radius = sqrt(-2 * log(open_unit(random)));

    return radius * cos(6.283185307179586 * open_unit(random));
}

double sim_random_exponential(struct sim_random *random, double mean)
{
    return -mean * log(open_unit(random));
}

double sim_random_pareto(struct sim_random *random, double scale, double shape)
{
    return scale * pow(open_unit(random), -1 / shape);
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/clocksim/goal.h"

#include <math.h>
#include <stdio.h>

const struct rkt_clock_params sim_usual_params = RKT_CLOCK_PARAMS_USUAL;

const struct sim_goal sim_goals[SIM_GOAL_COUNT] = {
    {"a round trip of 16 us", sim_goal_tcp},
    {"one way a quarter slower", sim_goal_asymmetry},
    {"both ways slow alike", sim_goal_slow},
    {"a queue that builds up", sim_goal_queue},
    {"InfiniBand", sim_goal_infiniband},
    {"clocks that wander", sim_goal_wander},
    {"two levels", sim_goal_levels},
    {"now", sim_goal_live},
    {"few bursts", sim_goal_few_bursts},
    {"REALTIME that is stepped and slewed", sim_goal_realtime},
    {"a suspend", sim_goal_suspend},
    {"collectives", sim_goal_collectives},
    {"sparse collectives alone", sim_goal_imports},
    {"silence that collectives narrow", sim_goal_narrow},
    {"made again from the store", sim_goal_redo},
    {"claims of true time", sim_goal_claims},
};

bool sim_figure_is_good(const struct sim_figure *figure)
{
    return figure->value >= figure->least && figure->value <= figure->most;
}

/* ---- the table ---- */

static void print_number(double number)
{
    if (isnan(number))
        printf(" |");
    else if (number == floor(number) && fabs(number) < 1e9)
        printf(" %.0f |", number);
    else if (fabs(number) < 0.01)
        printf(" %.1e |", number);
    else
        printf(" %.*f |", fabs(number) < 100 ? 2 : 0, number);
}

void sim_figure_print_head(void)
{
    printf("| mark | of | figure | value | limit | | line from start to end | constant from the "
           "start |\n|---|---|---|---|---|---|---|---|\n");
}

void sim_figure_print(const struct sim_figure *figure)
{
    printf("| %u | %s | %s |", figure->mark, figure->of, figure->what);
    print_number(figure->value);
    if (isinf(figure->most))
        printf(" >= %g |", figure->least);
    else if (figure->least > 0)
        printf(" %g to %g |", figure->least, figure->most);
    else
        printf(" <= %g |", figure->most);
    printf(" %s |", sim_figure_is_good(figure) ? "pass" : "FAIL");
    print_number(figure->line);
    print_number(figure->constant);
    printf("\n");
    (void)fflush(stdout);
}

void sim_figure_set_errors(struct sim_figure *figure, double share, struct sim_marks *marks)
{
    figure->value = sim_series_quantile(&marks->ours, share);
    figure->line = sim_series_quantile(&marks->start_end, share);
    figure->constant = sim_series_quantile(&marks->start_only, share);
}

/* ---- for goals ---- */

void sim_trial_at_most(const struct sim_trial *trial, unsigned mark, const char *of,
                       const char *what, double value, double most)
{
    sim_trial_tell(trial, (struct sim_figure){.mark = mark,
                                              .of = of,
                                              .what = what,
                                              .value = value,
                                              .most = most,
                                              .line = (double)NAN,
                                              .constant = (double)NAN});
}

void sim_trial_run(const struct sim_trial *trial, const struct sim_run_model *model,
                   struct sim_marks *marks)
{
    for (uint64_t i = 0; i < trial->seed_count; i++) {
        struct sim_run run;

        sim_run_make(&run, model, trial->first_seed + i);
        sim_marks_add(marks, &run, &sim_usual_params);
        sim_run_release(&run);
    }
}

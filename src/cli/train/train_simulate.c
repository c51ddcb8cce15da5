/* train_simulate.c: runs the simulator of core/train/size.h with the user's options. */
#include "cli/train/train_simulate.h"

#include "base/number.h"
#include "sim/train_day.h"

#include <inttypes.h>
#include <math.h>

enum { SIMULATED_DAYS = 100 };

/* Spot instances cost about this much of the on-demand price. */
static const double spot_share = 0.4;

struct simulated {
    double mean, least, most;
};

static void simulated_add(struct simulated *figure, double value, int day)
{
    figure->least = day == 0 ? value : fmin(figure->least, value);
    figure->most = day == 0 ? value : fmax(figure->most, value);
    figure->mean += value / SIMULATED_DAYS;
}

static bool read_speed(const char *text, int64_t max, bool is_scaled,
                       double rates[SIZE_MAX_REPLICAS + 1], struct err *err)
{
    struct speed_samples samples = {{0}, {0}};
    struct str rest = str_from(text);
    while (rest.len > 0) {
        struct str pair = str_cut(&rest, ',');
        struct str size = str_cut(&pair, ':');
        int64_t replicas;
        double rate;
        if (!str_to_i64(size, &replicas) || replicas < 1 || replicas > SIZE_MAX_REPLICAS ||
            !number_parse(pair, &rate) || !(rate > 0)) {
            return err_set(err, ERR_USAGE,
                           "--speed needs steps per second by number of replicas, such as "
                           "1:2.0,4:7.1, not \"%.100s\"",
                           text);
        }
        samples.steps[replicas] = rate;
        samples.seconds[replicas] = 1;
    }
    speed_rates(&samples, max, is_scaled, rates);
    return true;
}

static void print_figure(const struct cli *cli, const char *name, int digits,
                         const struct simulated *figure)
{
    fprintf(cli->out, "  %-9s %10.*f %10.*f %10.*f\n", name, digits, figure->mean, digits,
            figure->least, digits, figure->most);
}

bool train_simulate(const struct cli *cli, const struct train_settings *settings,
                    const struct size_goal *goal, const char *speed, struct err *err)
{
    struct train_day day;
    struct simulated hours = {0}, dollars = {0}, restarts = {0}, steps = {0};
    int64_t complete = 0;
    train_day_default(&day);
    if (!speed || speed[0] == '\0') {
        return err_set(err, ERR_USAGE,
                       "--simulate needs --speed: steps per second by number of replicas, such as "
                       "1:2.0,4:7.1");
    }
    day.min = settings->min_replicas;
    day.max = settings->max_replicas;
    if (!read_speed(speed, day.max, goal->is_scaled, day.rates, err)) {
        return false;
    }
    day.goal = *goal;
    day.policy = goal->objective == SIZE_LARGEST && goal->max_cost <= 0 ? TRAIN_DAY_FIXED
                                                                        : TRAIN_DAY_SHOAL;
    day.spot_price = goal->price > 0 ? goal->price : 1;
    day.on_demand_price = day.spot_price / spot_share;
    for (int i = 0; i < SIMULATED_DAYS; i++) {
        day.seed = (uint64_t)i + 1;
        struct train_day_result result = train_day_run(&day);
        complete += result.is_complete;
        simulated_add(&hours, result.seconds / 3600, i);
        simulated_add(&dollars, result.dollars, i);
        simulated_add(&restarts, (double)result.restarts, i);
        simulated_add(&steps, result.progress, i);
    }
    fprintf(cli->out, "%d simulated days    mean      least       most\n", SIMULATED_DAYS);
    print_figure(cli, "hours", 2, &hours);
    print_figure(cli, "dollars", 2, &dollars);
    print_figure(cli, "restarts", 1, &restarts);
    print_figure(cli, "steps", 0, &steps);
    if (goal->total > 0) {
        fprintf(cli->out, "  complete on %" PRId64 " of %d days\n", complete, SIMULATED_DAYS);
    }
    return true;
}

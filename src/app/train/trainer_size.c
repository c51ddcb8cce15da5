/*
 * trainer_size.c: measures the speed of the job and passes the wanted number of replicas to the
 * core, with the reason from core/train/size.h.
 */
#include "app/train/trainer_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SIZE_LOOK_MS = 10 * 1000, SIZE_STEPS_MIN = 20, SIZE_PRIOR_SECONDS = 3600 };

/* Shorter measurements vary too much. */
static const double size_measured_seconds = 5;
static const double size_pause_guess = 1;

void trainer_take_hints(struct trainer *trainer, const struct sched_hints *hints)
{
    if (trainer->size.hints.profiled == 0) {
        trainer_say(trainer,
                    "AdaptDL reports its speed: initial batch size %" PRId64
                    ", measured with up to %" PRId64 " replicas",
                    hints->model.init_batch, hints->profiled);
    }
    trainer->size.hints = *hints;
}

/* ---- measuring ---- */

static bool is_interruption(enum train_cause cause)
{
    return cause == TRAIN_CAUSE_NOTICE || cause == TRAIN_CAUSE_SLOT_LOST;
}

/* How much progress a step makes with this many replicas, in the unit of the rates below. */
static double step_progress(const struct trainer *trainer)
{
    const struct sched_hints *hints = &trainer->size.hints;
    int64_t world = trainer->times.world;
    if (hints->profiled > 0) {
        struct batch_choice choice = goodput_optimize(&hints->model, &hints->limits,
                                                      (struct placement_size){world, world});
        return choice.goodput > 0 ? goodput_step_progress(&hints->model, &choice, world) : 1;
    }
    return trainer->setup->goal.is_scaled ? (double)world : 1;
}

static void begin_generation(struct trainer *trainer)
{
    struct trainer_size *size = &trainer->size;
    const struct generation_times *times = &trainer->times;
    double pause = times->first_step - times->last_step;
    size->generation = times->generation;
    size->interruptions += is_interruption(times->cause);
    if (times->last_step > 0 && pause > 0) {
        size->pause = size->pause > 0 ? (size->pause + pause) / 2 : pause;
    }
    size->steps = 0;
    size->counted_steps = size->counted_seconds = 0;
}

/* `counts` are of rank 0 of the current generation. */
void trainer_measure(struct trainer *trainer, const struct step_counts *counts)
{
    struct trainer_size *size = &trainer->size;
    double first = counts->first;
    double last = counts->last;
    int64_t steps = counts->steps;
    int64_t world = trainer->times.world;
    if (first <= 0 || last < first || world < 1 || world > SIZE_MAX_REPLICAS) {
        return;
    }
    if (size->generation != trainer->times.generation) {
        begin_generation(trainer);
    }
    if (steps > size->steps) {
        size->done += (double)(steps - size->steps) * step_progress(trainer);
        size->steps = steps;
    }
    if (steps >= SIZE_STEPS_MIN && last - first >= size_measured_seconds) {
        size->samples.steps[world] += (double)(steps - 1) - size->counted_steps;
        size->samples.seconds[world] += last - first - size->counted_seconds;
        size->counted_steps = (double)(steps - 1);
        size->counted_seconds = last - first;
    }
}

int64_t trainer_steps_done(const struct trainer *trainer)
{
    return (int64_t)fmin(trainer->size.done, (double)TRAIN_STEPS_MAX);
}

/* AdaptDL keeps the initial batch size, rounded up to whole samples per replica, unless it may
 * choose a larger one. Then its batch size is not known here. */
int64_t trainer_batch(const struct trainer *trainer)
{
    const struct sched_hints *hints = &trainer->size.hints;
    const struct trainer_setup *setup = trainer->setup;
    int64_t world = trainer->job.world;
    int64_t init = hints->model.init_batch;
    if (setup->batch > 0 || world < 1) {
        return setup->goal.is_scaled ? setup->batch * world : setup->batch;
    }
    bool is_fixed = hints->profiled > 0 && hints->limits.max_batch <= init;
    return is_fixed ? (init + world - 1) / world * world : 0;
}

/* ---- prices ---- */

void trainer_take_node(void *context, const struct node_view *view)
{
    struct trainer *trainer = context;
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        struct slot_link *link = &trainer->slots[i];
        if (link->slot != 0 && view->ray_id.len > 0 && str_is(view->ray_id, link->node)) {
            link->price = view->price > 0 ? view->price : 0;
        }
    }
}

static bool is_training(const struct trainer *trainer, const struct slot_link *link)
{
    const struct train_slot *slot = train_job_slot(&trainer->job, link->slot);
    return link->slot != 0 && slot && slot->state == TRAIN_SLOT_RUNNING;
}

/* The share of a slot in the price of its node; 0: unknown. */
static double slot_price(const struct trainer *trainer, const struct slot_link *link)
{
    int64_t sharers = 0;
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct slot_link *other = &trainer->slots[i];
        sharers += is_training(trainer, other) && strcmp(other->node, link->node) == 0;
    }
    return sharers > 0 ? (double)link->price / 1e6 / (double)sharers : 0;
}

double trainer_price(const struct trainer *trainer)
{
    double sum = 0;
    int64_t count = 0;
    if (trainer->setup->goal.price > 0) {
        return trainer->setup->goal.price;
    }
    for (size_t i = 0; i < TRAIN_SLOTS_MAX; i++) {
        const struct slot_link *link = &trainer->slots[i];
        if (is_training(trainer, link)) {
            double price = slot_price(trainer, link);
            if (price <= 0) {
                return 0; /* a part of the sum would be too low */
            }
            sum += price;
            count++;
        }
    }
    return count > 0 ? sum / (double)count : 0;
}

/* ---- the record ---- */

json_t *trainer_speeds(const struct trainer *trainer)
{
    const struct trainer_size *size = &trainer->size;
    json_t *speeds = json_object();
    json_t *sizes = json_array();
    for (int64_t n = 1; n <= SIZE_MAX_REPLICAS; n++) {
        if (size->samples.steps[n] > 0) {
            json_t *row = json_object();
            json_put_number(row, "replicas", n);
            json_object_set_new(row, "steps", json_real(size->samples.steps[n]));
            json_object_set_new(row, "seconds", json_real(size->samples.seconds[n]));
            json_array_append_new(sizes, row);
        }
    }
    json_object_set_new(speeds, "sizes", sizes);
    json_object_set_new(speeds, "counted_steps", json_real(size->counted_steps));
    json_object_set_new(speeds, "counted_seconds", json_real(size->counted_seconds));
    json_object_set_new(speeds, "pause", json_real(size->pause));
    json_object_set_new(speeds, "replica_seconds", json_real(size->replica_seconds));
    json_put_number(speeds, "interruptions", size->interruptions);
    return speeds;
}

/* A number from 0 on; 0 if the record is damaged. */
static double take_amount(const json_t *object, const char *key)
{
    double value = json_number_value(json_object_get(object, key));
    return value > 0 && value < 1e15 ? value : 0;
}

void trainer_load_speeds(struct trainer *trainer, const json_t *speeds)
{
    struct trainer_size *size = &trainer->size;
    const json_t *sizes = json_object_get(speeds, "sizes");
    for (size_t i = 0; i < json_array_size(sizes); i++) {
        const json_t *row = json_array_get(sizes, i);
        int64_t n = json_take_number(row, "replicas", 0, INT64_MAX);
        double seconds = take_amount(row, "seconds");
        if (n > 0 && n <= SIZE_MAX_REPLICAS && seconds > 0) {
            size->samples.steps[n] = take_amount(row, "steps");
            size->samples.seconds[n] = seconds;
        }
    }
    size->counted_steps = take_amount(speeds, "counted_steps");
    size->counted_seconds = take_amount(speeds, "counted_seconds");
    size->pause = take_amount(speeds, "pause");
    size->replica_seconds = take_amount(speeds, "replica_seconds");
    size->interruptions = json_take_number(speeds, "interruptions", 0, TRAIN_STEPS_MAX);
}

/* ---- choosing ---- */

/* As if each replica had a node of its own. */
static void rates_of_hints(struct trainer *trainer, struct size_question *question)
{
    const struct sched_hints *hints = &trainer->size.hints;
    for (int64_t n = 1; n <= question->max; n++) {
        struct batch_choice choice = goodput_optimize(&hints->model, &hints->limits,
                                                      (struct placement_size){n, n});
        question->rates[n] = choice.goodput / (double)hints->model.init_batch;
    }
    for (int64_t n = 1; n <= hints->profiled && n <= SIZE_MAX_REPLICAS; n++) {
        question->is_measured[n] = true;
    }
    /* AdaptDL's model is optimistic about larger sizes by itself. */
    question->is_measured[1] = question->is_measured[2] = true;
}

static void rates_of_steps(struct trainer *trainer, struct size_question *question)
{
    const struct speed_samples *samples = &trainer->size.samples;
    speed_rates(samples, question->max, trainer->setup->goal.is_scaled, question->rates);
    for (int64_t n = 1; n <= SIZE_MAX_REPLICAS; n++) {
        question->is_measured[n] = samples->steps[n] > 0;
    }
}

static struct size_question make_question(struct trainer *trainer)
{
    const struct size_goal *goal = &trainer->setup->goal;
    const struct trainer_size *size = &trainer->size;
    double pause = size->pause > 0 ? size->pause : size_pause_guess;
    struct size_question question = {
        .objective = goal->objective,
        .min = trainer->job.settings.min_replicas,
        .max = trainer->job.settings.max_replicas,
        .current = trainer->job.world,
        .price = trainer_price(trainer),
        .fixed_price = goal->fixed_price,
        .max_cost = goal->max_cost,
        .restart_seconds = pause,
        .interruptions = (double)size->interruptions /
                         fmax(size->replica_seconds, SIZE_PRIOR_SECONDS),
        .interruption_seconds = pause,
        .has_deadline = goal->finish_by > 0,
        .seconds_left = (double)goal->finish_by - trainer_now(trainer),
        .remaining = fmax(goal->total - (double)trainer_steps_done(trainer), 0),
    };
    if (size->hints.profiled > 0) {
        rates_of_hints(trainer, &question);
    } else {
        rates_of_steps(trainer, &question);
    }
    return question;
}

/* A size is judged only after it was measured; the first choice needs no measurement. */
static bool can_choose(const struct trainer *trainer)
{
    const struct trainer_size *size = &trainer->size;
    int64_t world = trainer->job.world;
    if (!size->has_chosen) {
        return true;
    }
    return trainer->job.phase == TRAIN_RUNNING &&
           (size->hints.profiled > 0 ||
            (world <= SIZE_MAX_REPLICAS && size->samples.steps[world] > 0 &&
             size->generation == trainer->job.generation));
}

void trainer_choose_size(struct trainer *trainer)
{
    const struct size_goal *goal = &trainer->setup->goal;
    struct trainer_size *size = &trainer->size;
    int64_t now = loop_now_ms(trainer->loop);
    bool has_goal = goal->objective != SIZE_LARGEST || goal->max_cost > 0 || goal->finish_by > 0;
    if (!has_goal || (size->has_chosen && now - size->looked_at < SIZE_LOOK_MS)) {
        return;
    }
    size->replica_seconds += size->has_chosen
                                 ? (double)((now - size->looked_at) / 1000 * trainer->job.world)
                                 : 0;
    size->looked_at = now;
    if (!can_choose(trainer)) {
        return;
    }
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct size_question question = make_question(trainer);
    struct size_choice choice = size_choose(&question);
    size->has_chosen = true;
    struct str reason = size_reason(&question, choice, &arena);
    if (choice.replicas != trainer->job.target) {
        trainer_say(trainer, "%" PRId64 " replica%s wanted: %.*s", choice.replicas,
                    choice.replicas == 1 ? "" : "s", STR_ARG(reason));
        trainer_event(trainer,
                      (struct train_event){.kind = TRAIN_TARGET, .value = choice.replicas});
    }
}

/* plan_text.c: formats steps, restarts and prices. */
#include "cli/plan_text.h"

#include <inttypes.h>

/* "$0.096/h": three decimals, because many instances cost less than a cent. */
static void plan_text_add_price(struct buf *out, int64_t price)
{
    if (price < 0) {
        buf_add_c(out, "price unknown");
    } else if (price >= 100000 || price == 0) {
        buf_addf(out, "$%.2f/h", (double)price / 1e6);
    } else {
        buf_addf(out, "$%.3f/h", (double)price / 1e6);
    }
}

static const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* "head m5.large", "2 x m5.large spot" */
static void plan_text_add_instances(struct buf *out, const struct up_step *step)
{
    if (step->is_head) {
        buf_add_c(out, "head ");
    } else {
        buf_addf(out, "%" PRId64 " x ", step->count);
    }
    buf_add(out, step->machine.len > 0 ? step->machine : step->type);
    buf_add_c(out, step->is_spot ? " spot" : "");
}

static void add_each(struct buf *out, const struct up_step *step)
{
    plan_text_add_price(out, step->price);
    buf_add_c(out, step->count > 1 && step->price >= 0 ? " each" : "");
}

static int64_t count_of(const struct up_plan *plan, enum up_step_kind kind)
{
    int64_t count = 0;
    for (size_t i = 0; i < plan->step_count; i++) {
        count += plan->steps[i].kind == kind ? plan->steps[i].count : 0;
    }
    return count;
}

/* ---- the question ---- */

static void say_launches(struct buf *out, const struct up_plan *plan)
{
    int64_t count = count_of(plan, UP_LAUNCH);
    const char *between = ": ";
    if (count == 0) {
        return;
    }
    buf_addf(out, "This will launch %" PRId64 " instance%s", count, plural(count));
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct up_step *step = &plan->steps[i];
        if (step->kind == UP_LAUNCH) {
            buf_add_c(out, between);
            plan_text_add_instances(out, step);
            buf_add_c(out, " (");
            add_each(out, step);
            buf_add_c(out, ")");
            between = ", ";
        }
    }
    buf_add_c(out, ": ");
    plan_text_add_price(out, plan->price_then);
    buf_add_c(out, plan->has_head ? " for the whole cluster. " : ". ");
}

static void say_drains(struct buf *out, const struct up_plan *plan)
{
    int64_t count = count_of(plan, UP_DRAIN);
    if (count > 0) {
        buf_addf(out, "%" PRId64 " outdated worker%s will be drained, and terminated when idle. ",
                 count, plural(count));
        if (plan->max_unavailable != PLAN_NO_LIMIT && plan->max_unavailable < plan->changed) {
            buf_addf(out, "At most %" PRId64 " of a node type %s replaced at a time. ",
                     plan->max_unavailable, plan->max_unavailable == 1 ? "is" : "are");
        }
    }
}

/* "; 1 job is running", "; whether jobs run is not known" */
static void add_jobs(struct buf *out, int64_t jobs)
{
    if (jobs < 0) {
        buf_add_c(out, "; it is unknown whether jobs are running");
    } else if (jobs == 0) {
        buf_add_c(out, "; no job is running");
    } else {
        buf_addf(out, "; %" PRId64 " job%s running", jobs, jobs == 1 ? " is" : "s are");
    }
}

static void add_restart(struct buf *out, const struct up_plan *plan)
{
    buf_addf(out, "Ray will be restarted on %zu node%s", plan->restarts,
             plural((int64_t)plan->restarts));
    add_jobs(out, plan->jobs);
    buf_add_c(out, ".");
}

static void plan_text_add_held(struct buf *out, const struct up_plan *plan)
{
    buf_addf(out,
             "%" PRId64 " worker%s required by min_workers cannot be launched yet: the "
             "cluster is at max_workers.",
             plan->held, plural(plan->held));
}

void plan_text_question(struct buf *out, const struct up_plan *plan)
{
    if (up_plan_is_empty(plan)) {
        return;
    }
    say_launches(out, plan);
    if (count_of(plan, UP_START) > 0) {
        buf_add_c(out, "The stopped head will be started. ");
    }
    say_drains(out, plan);
    if (plan->restarts > 0) {
        add_restart(out, plan);
    } else if (plan->is_update) {
        buf_add_c(out, "The head gets the new configuration; Ray keeps running.");
    }
    while (out->len > 0 && out->ptr[out->len - 1] == ' ') {
        out->len--;
    }
    if (plan->held > 0) {
        buf_add_c(out, out->len > 0 ? " " : "");
        plan_text_add_held(out, plan);
    }
}

/* ---- the list ---- */

static void list_step(struct buf *out, const struct up_step *step)
{
    static const char *const verbs[UP_STEP_KIND_COUNT] = {[UP_LAUNCH] = "+ launch ",
                                                          [UP_START] = "+ start  ",
                                                          [UP_DRAIN] = "- drain  ",
                                                          [UP_REPLACE] = "! replace"};
    buf_addf(out, "  %s  ", verbs[step->kind]);
    plan_text_add_instances(out, step);
    if (!step->is_head) {
        buf_addf(out, "  (%.*s)", STR_ARG(step->type));
    }
    buf_add_c(out, "  ");
    add_each(out, step);
    if (step->kind == UP_REPLACE) {
        bool is_type = !str_eq(step->machine, step->wanted);
        buf_addf(out, "  the head runs %.*s, the file says %.*s%s", STR_ARG(step->machine),
                 STR_ARG(step->wanted), is_type ? "" : " with a different node_config");
    } else if (step->why.len > 0) {
        buf_addf(out, "  %.*s; terminated when idle", STR_ARG(step->why));
    }
    buf_add_char(out, '\n');
}

void plan_text_list(struct buf *out, const struct up_plan *plan)
{
    for (size_t i = 0; i < plan->step_count; i++) {
        list_step(out, &plan->steps[i]);
    }
    if (plan->restarts > 0) {
        buf_add_c(out, "  ~ restart  ");
        add_restart(out, plan);
        buf_add_char(out, '\n');
    } else if (plan->is_update) {
        buf_add_c(out, "  ~ update   the head gets the new configuration, and Ray keeps running; "
                       "workers whose setup commands changed are set up again\n");
    }
    if (plan->held > 0) {
        buf_add_c(out, "  ! held     ");
        plan_text_add_held(out, plan);
        buf_add_char(out, '\n');
    }
    buf_add_c(out, up_plan_is_empty(plan) ? "Nothing to do. Price: " : "Price: ");
    plan_text_add_price(out, plan->price_now);
    if (plan->price_then != plan->price_now) {
        buf_add_c(out, " now, ");
        plan_text_add_price(out, plan->price_then);
        buf_add_c(out, " after");
    }
    buf_add_c(out, ".\n");
}

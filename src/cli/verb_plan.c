/* verb_plan.c: shows what `up` would do. */
#include "app/preflight_text.h"
#include "base/utf8.h"
#include "cli/json_object.h"
#include "cli/launch.h"
#include "cli/output.h"
#include "cli/plan_ask.h"
#include "cli/plan_text.h"

#include <string.h>

enum { TEXT_BYTES_MAX = 256 * 1024, CHANGES = 2 };

struct plan_fields {
    struct target_fields target;
    bool no_restart, restart_only;
    bool detailed;
    const char *output;
};

static const struct operand operands[] = {TARGET_OPERAND(struct plan_fields)};

static const struct option options[] = {
    TARGET_NAME_OPTION(struct plan_fields),
    {"min-workers", 0, OPTION_NUMBERS, offsetof(struct plan_fields, target.min_workers), "N", NULL,
     "As for shoal up."},
    {"max-workers", 0, OPTION_NUMBERS, offsetof(struct plan_fields, target.max_workers), "N", NULL,
     "As for shoal up."},
    {"no-restart", 0, OPTION_FLAG, offsetof(struct plan_fields, no_restart), NULL, NULL,
     "Show what shoal up --no-restart would do."},
    {"restart-only", 0, OPTION_FLAG, offsetof(struct plan_fields, restart_only), NULL, NULL,
     "Show what shoal up --restart-only would do."},
    {"detailed-exitcode", 0, OPTION_FLAG, offsetof(struct plan_fields, detailed), NULL, NULL,
     "Exit with 2 if shoal up would change something."},
    {"output", 'o', OPTION_CHOICE, offsetof(struct plan_fields, output), "FORMAT", text_or_json,
     "Output format: text (the default) or json."},
    TARGET_PROFILE_OPTION(struct plan_fields),
    TARGET_VERBOSE_OPTION(struct plan_fields),
};

static const struct example examples[] = {
    {"shoal plan cluster.yaml", "Show what shoal up would launch, restart and terminate."},
    {"shoal plan --detailed-exitcode cluster.yaml || echo changed", "In a script."},
    {"shoal plan -o json cluster.yaml | jq .dollars_per_hour_after", "Print the price per hour "
                                                                     "after the change."},
};

/* ---- JSON ---- */

static void record_price(struct arena *arena, struct value *record, const char *name, int64_t price)
{
    if (price >= 0) {
        record_number(arena, record, name, (double)price / 1e6);
    }
}

static struct value *verb_plan_record_of(struct arena *arena, const struct target *target,
                                         const struct up_plan *plan)
{
    static const char *const kinds[UP_STEP_KIND_COUNT] = {[UP_LAUNCH] = "launch",
                                                          [UP_START] = "start",
                                                          [UP_DRAIN] = "drain",
                                                          [UP_REPLACE] = "replace"};
    struct value *record = record_new(arena);
    struct value *steps = record_list(arena);
    for (size_t i = 0; i < plan->step_count; i++) {
        const struct up_step *step = &plan->steps[i];
        struct value *row = record_new(arena);
        record_text(arena, row, "action", str_from(kinds[step->kind]));
        record_flag(arena, row, "head", step->is_head);
        record_text(arena, row, "type", step->type);
        record_text(arena, row, "instance_type", step->machine);
        record_flag(arena, row, "spot", step->is_spot);
        record_int(arena, row, "count", step->count);
        record_text(arena, row, "id", step->id);
        record_text(arena, row, "reason", step->why);
        record_price(arena, row, "dollars_per_hour", step->price);
        value_list_add(arena, steps, row);
    }
    record_text(arena, record, "cluster", target->config->cluster_name);
    record_text(arena, record, "where", target_where(target));
    record_flag(arena, record, "changes", !up_plan_is_empty(plan));
    value_map_set_c(arena, record, "steps", steps);
    record_flag(arena, record, "update", plan->is_update);
    record_int(arena, record, "ray_restarts", (int64_t)plan->restarts);
    if (plan->jobs >= 0) {
        record_int(arena, record, "running_jobs", plan->jobs);
    }
    record_price(arena, record, "dollars_per_hour_now", plan->price_now);
    record_price(arena, record, "dollars_per_hour_after", plan->price_then);
    return record;
}

/* ---- the verb ---- */

static int verb_plan_print(const struct target *target, const struct up_plan *plan)
{
    AUTO_BUF struct buf out;
    buf_init(&out, TEXT_BYTES_MAX);
    utf8_add_visible(&out, target->config->cluster_name, false);
    buf_addf(&out, " (%.*s):\n", STR_ARG(target_where(target)));
    plan_text_list(&out, plan);
    return output_write_text(&target->cli, target->cli.out, &out);
}

static int verb_plan_work(struct target *target, const void *fields)
{
    const struct plan_fields *given = fields;
    struct up_plan plan;
    struct err err;
    target_announce(target);
    target->setup.no_restart = given->no_restart;
    target->setup.restart_only = given->restart_only;
    target->setup.hooks = (struct launcher_hooks){.context = target,
                                                  .findings = plan_show_findings};
    if (!plan_ask(target, &plan, &err)) {
        return target_fail(target, &err);
    }
    bool is_json = given->output && strcmp(given->output, "json") == 0;
    int status = is_json ? launch_print(target,
                                        verb_plan_record_of(target->cli.arena, target, &plan), 0)
                         : verb_plan_print(target, &plan);
    return status == 0 && given->detailed && !up_plan_is_empty(&plan) ? CHANGES : status;
}

static int verb_plan_run(const struct cli *cli, const void *fields)
{
    const struct plan_fields *given = fields;
    int status = plan_check_restart(cli, given->no_restart, given->restart_only);
    return status ? status
                  : target_work_as(cli, &given->target, INPUT_CHECKED, verb_plan_work, given);
}

const struct verb verb_plan = {
    .name = "plan",
    .summary = "show what up would do, without doing it",
    .description =
        "Compares the cluster file with the running cluster and prints what shoal up would "
        "launch, start, restart and terminate, with the price per hour before and after. Nothing "
        "is created or changed. If Ray would be restarted, it shows how many jobs are running.\n\n"
        "First it makes the same checks as shoal up. Warnings and errors go to standard error. "
        "If there are errors, shoal up would fail, so no plan is printed and the exit status is "
        "1.\n\n"
        "Workers whose node type was removed or whose node_config was changed are drained: they "
        "take no new work and are terminated when they are idle. A running head is not replaced: "
        "if the node_config of the head was changed, shoal up fails.\n\n"
        "With -o json the object has: cluster, where, changes, steps (action: launch, start, "
        "drain or replace; head, type, instance_type, spot, count, id, reason, dollars_per_hour), "
        "update, ray_restarts, running_jobs (when known), dollars_per_hour_now, "
        "dollars_per_hour_after.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if the plan was printed, 1 for an error, including one that would make "
                   "shoal up fail, 2 for a usage error. With --detailed-exitcode, 0 if there is "
                   "nothing to do and 2 if there is.",
    .fields_size = sizeof(struct plan_fields),
    .run = verb_plan_run,
};

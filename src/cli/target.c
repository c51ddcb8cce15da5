/* target.c: from FILE to a session and to the head. */
#include "cli/target.h"

#include "app/cloud_provider.h"
#include "cli/cloud.h"
#include "cli/output.h"
#include "cli/remote_line.h"
#include "io/foreground.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const target_log_styles[] = {"auto", "record", "pretty", NULL};
const char *const target_log_colours[] = {"auto", "false", "true", NULL};

enum { FIND_MS = 120 * 1000 };

/* ---- the file ---- */

static struct input_overrides overrides_of(const struct target_fields *given)
{
    struct input_overrides overrides = {.cluster_name = str_from(given->name)};
    if (given->min_workers.count > 0) {
        overrides.min_workers = &given->min_workers.items[given->min_workers.count - 1];
    }
    if (given->max_workers.count > 0) {
        overrides.max_workers = &given->max_workers.items[given->max_workers.count - 1];
    }
    return overrides;
}

/* What would be wrong everywhere is told once, here; warnings belong to validate and up. */
static int read_file(struct target *target, enum input_depth depth)
{
    struct err err;
    struct input_overrides overrides = overrides_of(target->given);
    struct input *input = &target->input;
    if (!input_read_as(&target->cli, target->given->file, depth, &overrides, input, &err)) {
        return output_error(&target->cli, &err);
    }
    if (!input->config || depth == INPUT_CHECKED) {
        input_print_findings(&target->cli, &input->diags);
    }
    if (!input->config) {
        err_set(&err, ERR_CONFIG, "%s cannot be used; nothing was asked or changed",
                target->given->file);
        return output_error(&target->cli, &err);
    }
    if (!cloud_provider_knows(input->config->provider_type)) {
        err_set(&err, ERR_CONFIG, "clusters of type %.*s are not launched yet; aws is",
                STR_ARG(str_sub(input->config->provider_type, 0, 100)));
        return output_error(&target->cli, &err);
    }
    target->config = input->config;
    return 0;
}

static const char *full_path(struct arena *arena, const char *file)
{
    char *found = realpath(file, NULL);
    const char *path = arena_str(arena, str_from(found ? found : file)).ptr;
    free(found);
    return path;
}

/* ---- the session ---- */

static enum log_level level_of(unsigned verbose)
{
    return verbose == 0 ? LOG_LEVEL_WARNING : verbose == 1 ? LOG_LEVEL_INFO : LOG_LEVEL_DEBUG;
}

static void choose_colours(struct target *target)
{
    const char *colour = target->given->log_color;
    if (colour && strcmp(colour, "auto") != 0) {
        target->cli.colour_err = target->cli.colour_out = strcmp(colour, "true") == 0;
    }
}

int target_open(struct target *target, const struct cli *cli, const struct target_fields *given,
                enum input_depth depth)
{
    *target = (struct target){.cli = *cli, .given = given};
    choose_colours(target);
    return read_file(target, depth);
}

int target_connect(struct target *target)
{
    struct err err;
    const struct target_fields *given = target->given;
    struct cloud_session_setup setup = {.least = level_of(given->verbose)};
    if (!cloud_session_open(&target->session, &setup, &err)) {
        return output_error(&target->cli, &err);
    }
    cloud_announce(&target->cli, &target->session);
    const struct value *cache = value_get_c(target->config->provider, "cache_stopped_nodes");
    target->setup = (struct launcher_setup){
        .keeps_stopped = value_is_true(cache) && place_is_users(cache->place),
        .session = &target->session,
        .config = target->config,
        .profile = str_from(given->profile),
        .config_path = full_path(target->cli.arena, given->file),
        .has_usage_stats = !given->no_usage_stats,
    };
    return 0;
}

void target_close(struct target *target)
{
    if (target->session.loop) {
        cloud_session_close(&target->session);
    }
}

int target_work(const struct cli *cli, const struct target_fields *given, target_work_fn *work,
                const void *fields)
{
    struct target target;
    int status = target_open(&target, cli, given, INPUT_AS_RAY);
    status = status ? status : target_connect(&target);
    status = status ? status : work(&target, fields);
    target_close(&target);
    return status;
}

void target_warn_of_set_up(const struct target *target, const struct launcher_head *head)
{
    if (!head->is_up_to_date) {
        cloud_print_lines(&target->cli, "warning",
                          STR("the head's set-up has not ended, or has failed"));
    }
}

int target_fail(const struct target *target, const struct err *err)
{
    output_error(&target->cli, err);
    return target->session.loop ? cloud_session_exit_status(&target->session, err)
                                : err_exit_status(err->kind);
}

/* ---- the head ---- */

struct str target_where(const struct target *target)
{
    struct str region = value_text(value_get_c(target->config->provider, "region"));
    return arena_printf(target->cli.arena, "%.*s%s%.*s", STR_ARG(target->config->provider_type),
                        region.len > 0 ? " " : "", STR_ARG(region));
}

struct str target_words(const struct target *target)
{
    AUTO_BUF struct buf out;
    buf_init(&out, (size_t)PATH_MAX * 2);
    remote_line_quote(&out, str_from(target->given->file));
    if (target->given->name) {
        buf_add_c(&out, " -n ");
        remote_line_quote(&out, str_from(target->given->name));
    }
    return arena_str(target->cli.arena, buf_str(&out));
}

bool target_find(struct target *target, struct launcher_head *ret_head, struct ssh_place *ret_place,
                 struct err *err)
{
    struct arena *arena = target->cli.arena;
    if (!launcher_find_head(&target->setup, arena, ret_head, err)) {
        if (err->kind == ERR_NOT_FOUND) {
            struct str words = target_words(target);
            return err_set(err, ERR_NOT_FOUND,
                           "cluster %.*s has no head in %.*s; start it with: shoal up %.*s",
                           STR_ARG(target->config->cluster_name), STR_ARG(target_where(target)),
                           STR_ARG(words));
        }
        return false;
    }
    return !ret_place || launcher_head_place(&target->setup, ret_head, arena, ret_place, err);
}

/* ---- programs with our terminal ---- */

bool target_has_terminal(void)
{
    return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

struct ssh_place target_way(const struct ssh_place *place, bool has_forwards)
{
    struct ssh_place way = *place;
    if (has_forwards || !target_has_terminal() || isatty(STDERR_FILENO) != 1) {
        way.control = NULL;
    }
    return way;
}

void target_show_words(const struct target *target, const char *const *argv)
{
    AUTO_BUF struct buf line;
    buf_init(&line, (size_t)REMOTE_LINE_BYTES_MAX * 2);
    for (size_t i = 0; argv[i]; i++) {
        buf_add_c(&line, i > 0 ? " " : "");
        remote_line_quote(&line, str_from(argv[i]));
    }
    if (target->given->verbose > 0) {
        fprintf(target->cli.err, "-> %.*s\n", STR_ARG(buf_str(&line)));
    }
}

int target_run(struct target *target, const char *const *argv)
{
    enum { SSH_FAILED = 255, BY_CTRL_C = 130 };
    struct err err;
    struct foreground_end end;
    target_show_words(target, argv);
    fflush(target->cli.out);
    fflush(target->cli.err);
    target_close(target);
    if (!foreground_run(argv, FOREGROUND_OURS, &end, &err)) {
        return output_error(&target->cli, &err);
    }
    /* ssh that is interrupted calls it a failure. */
    return end.is_interrupted && end.status == SSH_FAILED ? BY_CTRL_C : end.status;
}

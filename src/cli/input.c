/* input.c: reads FILE. */
#include "cli/input.h"

#include "app/cluster_file.h"
#include "app/core_setup.h"
#include "app/google_projects.h"
#include "app/local_host.h"
#include "cli/output.h"
#include "config/document/yaml_read.h"
#include "config/prepare/prepare.h"

void input_settle(struct diag_list *diags)
{
    diag_merge_typos(diags);
    diag_sort(diags);
}

/* The map under that key, made if there is none; NULL if there is something else. */
static struct value *map_in(struct arena *arena, struct value *map, const char *key)
{
    const struct value *there = value_get_c(map, key);
    if (there && !value_is(there, VALUE_MAP) && !value_is(there, VALUE_NULL)) {
        return NULL; /* the schema reports it */
    }
    struct value *made = value_is(there, VALUE_MAP)
                             ? value_copy_shallow(arena, there)
                             : value_new(arena, VALUE_MAP, (struct place){0});
    value_map_set_c(arena, map, key, made);
    return made;
}

/* Applied before defaults, as in Ray: the defaults of node types depend on them. */
static void override(struct arena *arena, struct value *root,
                     const struct input_overrides *overrides)
{
    struct place nowhere = {0};
    if (!value_is(root, VALUE_MAP)) {
        return;
    }
    if (overrides->cluster_name.len > 0) {
        value_map_set_c(arena, root, "cluster_name",
                        value_string(arena, overrides->cluster_name, nowhere));
    }
    if (overrides->keep_failed_minutes > 0) {
        struct value *metadata = map_in(arena, root, "metadata");
        struct value *shoal = metadata ? map_in(arena, metadata, "shoal") : NULL;
        struct value *minutes = value_new(arena, VALUE_FLOAT, nowhere);
        minutes->number = overrides->keep_failed_minutes;
        if (shoal) {
            value_map_set_c(arena, shoal, KEEP_FAILED_KEY, minutes);
        }
    }
    if (overrides->max_workers) {
        value_map_set_c(arena, root, "max_workers",
                        value_int(arena, *overrides->max_workers, nowhere));
    }
}

/*
 * min_workers is set per node type. With exactly one worker type it is clear which one is meant;
 * Ray ignores the option.
 */
static bool override_min_workers(struct arena *arena, const struct value *tree, int64_t least,
                                 struct err *err)
{
    const struct value *types = value_get_c(tree, "available_node_types");
    const struct value *all_most = value_get_c(tree, "max_workers");
    struct str head = value_text(value_get_c(tree, "head_node_type"));
    struct value *only = NULL;
    size_t count = 0;
    for (size_t i = 0; value_is(types, VALUE_MAP) && i < types->map.count; i++) {
        if (!str_eq(value_text(types->map.entries[i].key), head)) {
            only = types->map.entries[i].value;
            count++;
        }
    }
    if (count != 1 || !value_is(only, VALUE_MAP)) {
        return err_set(err, ERR_USAGE,
                       "--min-workers needs a file with one worker type; this file has %zu, so "
                       "set min_workers for each type in the file",
                       count);
    }
    if (least < 0 || (value_is(all_most, VALUE_INT) && least > all_most->integer)) {
        return err_set(err, ERR_USAGE,
                       "--min-workers %lld is not between 0 and max_workers; --max-workers "
                       "raises that limit",
                       (long long)least);
    }
    const struct value *most = value_get_c(only, "max_workers");
    value_map_set_c(arena, only, "min_workers", value_int(arena, least, (struct place){0}));
    if (value_is(most, VALUE_INT) && most->integer < least) {
        value_map_set_c(arena, only, "max_workers", value_int(arena, least, (struct place){0}));
    }
    return true;
}

bool input_read(const struct cli *cli, const char *file, enum input_depth depth,
                struct input *ret_input, struct err *err)
{
    struct input_overrides none = {0};
    return input_read_as(cli, file, depth, &none, ret_input, err);
}

/* Converts the text in `ret_input->source` to a configuration. */
static bool input_read_text(const struct cli *cli, enum input_depth depth,
                            const struct input_overrides *overrides, struct input *ret_input,
                            struct err *err)
{
    struct arena *arena = cli->arena;
    struct source *source = &ret_input->source;
    struct diag_list *diags = &ret_input->diags;
    struct value *root = yaml_read(arena, source, diags);
    if (root) {
        override(arena, root, overrides);
    }
    const struct value *tree = root ? prepare_config(arena, root, diags) : NULL;
    if (tree && overrides->min_workers &&
        !override_min_workers(arena, tree, *overrides->min_workers, err)) {
        return false;
    }
    if (tree && depth == INPUT_CHECKED) {
        config_check(tree, local_host(), diags);
    }
    input_settle(diags);
    ret_input->config = tree && diags->error_count == 0 ? config_type(arena, tree) : NULL;
    return true;
}

bool input_read_as(const struct cli *cli, const char *file, enum input_depth depth,
                   const struct input_overrides *overrides, struct input *ret_input,
                   struct err *err)
{
    diag_list_init(&ret_input->diags, cli->arena);
    return cluster_file_read(cli->arena, file, &ret_input->source, err) &&
           input_read_text(cli, depth, overrides, ret_input, err);
}

bool input_is_region(struct str name)
{
    bool is_fine = name.len > 0 && name.len < 64;
    for (size_t i = 0; is_fine && i < name.len; i++) {
        char c = name.ptr[i];
        is_fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    }
    return is_fine;
}

/* A cluster on Google is found by its name, wherever its region is. */
#define NO_REGION "global"

static struct str input_provider(const struct cli *cli, struct str region, struct str project)
{
    region = region.len > 0 ? region : STR(NO_REGION);
    return project.len > 0 ? arena_printf(cli->arena,
                                          "{type: gcp, project_id: \"%.*s\", region: %.*s, "
                                          "availability_zone: %.*s-a}",
                                          STR_ARG(project), STR_ARG(region), STR_ARG(region))
                           : arena_printf(cli->arena, "{type: aws, region: %.*s}", STR_ARG(region));
}

bool input_read_named(const struct cli *cli, struct str name, struct str region, struct str project,
                      struct input *ret_input, struct err *err)
{
    struct input_overrides overrides = {.cluster_name = name};
    if (project.len > 0 && !google_project_is_id(project)) {
        return err_set(err, ERR_USAGE,
                       "--project must be the ID of a Google Cloud project, not \"%.100s\"",
                       project.ptr);
    }
    if (!input_is_region(region) && (project.len == 0 || region.len > 0)) {
        return err_set(err, ERR_USAGE, "--region must be a name such as us-west-2, not \"%.100s\"",
                       region.ptr ? region.ptr : "");
    }
    *ret_input = (struct input){
        .source = {.name = STR("(by name)"),
                   .text = arena_printf(cli->arena,
                                        "cluster_name: x\n"
                                        "provider: %.*s\n"
                                        "auth: {ssh_user: ubuntu}\n"
                                        "max_workers: 0\nhead_node_type: head\n"
                                        "available_node_types: {head: {node_config: {}, "
                                        "resources: {}}}\n",
                                        STR_ARG(input_provider(cli, region, project))),
                   .is_built_in = true}};
    diag_list_init(&ret_input->diags, cli->arena);
    if (!input_read_text(cli, INPUT_AS_RAY, &overrides, ret_input, err)) {
        return false;
    }
    return ret_input->config || err_set(err, ERR_USAGE, "\"%.*s\" is not a valid cluster name",
                                        STR_ARG(str_sub(name, 0, 100)));
}

void input_print_findings(const struct cli *cli, const struct diag_list *diags)
{
    AUTO_BUF struct buf text;
    struct diag_style style = output_style(cli->colour_err);
    buf_init(&text, OUTPUT_BYTES_MAX);
    for (size_t i = 0; i < diags->count; i++) {
        diag_print(&text, &diags->items[i], &style);
    }
    fputs(text.ptr ? text.ptr : "", cli->err);
}

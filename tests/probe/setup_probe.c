/*
 * setup_probe.c: FILE TYPE [no-restart|restart-only]: the steps of a node of that type as JSON, for
 * a comparison with what Ray's updater runs. The node and its head are made up.
 */
#include "app/cluster_file.h"
#include "app/setup/setup_plan.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *text(struct str str)
{
    return json_stringn(str.ptr ? str.ptr : "", str.len);
}

static json_t *show_step(const struct step *step, const struct setup_step *info)
{
    json_t *variables = json_array();
    for (size_t i = 0; i < step->variable_count; i++) {
        json_t *pair = json_array();
        json_array_append_new(pair, text(step->variables[i].name));
        json_array_append_new(pair, text(step->variables[i].value));
        json_array_append_new(variables, pair);
    }
    json_t *object = json_object();
    json_object_set_new(object, "kind", json_string(info->kind));
    json_object_set_new(object, "command", text(step->command));
    json_object_set_new(object, "path", text(info->path));
    json_object_set_new(object, "always", json_boolean(step->is_always));
    json_object_set_new(object, "variables", variables);
    return object;
}

static void show(const struct setup_plan *plan)
{
    json_t *steps = json_array();
    for (size_t i = 0; i < plan->request.bundle.count; i++) {
        json_array_append_new(steps, show_step(&plan->request.bundle.steps[i], &plan->steps[i]));
    }
    json_dumpf(steps, stdout, JSON_COMPACT);
    json_decref(steps);
}

static const struct config_node_type *find_type(const struct config *config, const char *name)
{
    for (size_t i = 0; config && i < config->node_type_count; i++) {
        if (str_is(config->node_types[i].name, name)) {
            return &config->node_types[i];
        }
    }
    return NULL;
}

static bool run(struct arena *arena, char **words, struct err *err)
{
    struct source source;
    struct diag_list diags;
    struct setup_plan plan;
    diag_list_init(&diags, arena);
    if (!cluster_file_read(arena, words[1], &source, err)) {
        return false;
    }
    const struct config *config = config_load(arena, &source, &diags);
    const struct config_node_type *type = find_type(config, words[2]);
    if (!type) {
        return err_set(err, ERR_CONFIG, "there is no such type");
    }
    const char *mode = words[3] ? words[3] : "";
    struct setup_input input = {
        .config = config,
        .type = type,
        .is_head = type->is_head,
        .instance_id = STR("i-0123"),
        .machine = value_text(value_get_c(type->node_config, "InstanceType")),
        .head_ip = STR("10.1.2.3"),
        .restart = strcmp(mode, "no-restart") == 0     ? SETUP_NO_RESTART
                   : strcmp(mode, "restart-only") == 0 ? SETUP_RESTART_ONLY
                                                       : SETUP_RESTARTS,
    };
    if (!setup_plan_make(&input, arena, &plan, err)) {
        return false;
    }
    show(&plan);
    return true;
}

int main(int argc, char **argv)
{
    struct arena arena;
    struct err err = {0};
    arena_init(&arena);
    bool is_fine = argc >= 3 && run(&arena, argv, &err);
    if (!is_fine) {
        fprintf(stderr, "setup_probe FILE TYPE [MODE]: %s\n", err.text);
    }
    arena_clear(&arena);
    return is_fine ? 0 : 1;
}

/* check_commands.c: setup commands that fail on the second run, and head start commands that do not
 * start Ray or start it without --autoscaling-config. */
#include "config/check/check.h"

#include <string.h>

/* Commands run again after every change; these fail or do harm when run twice. */
static const struct {
    const char *command;
    const char *is_safe_with; /* an option that makes it safe; NULL if there is none */
    const char *advice;
} unsafe_commands[] = {
    {"git clone ", NULL, "use: test -e DIRECTORY || git clone ..."},
    {"mkdir ", " -p", "use: mkdir -p ..."},
    {"ln -s ", " -f", "use: ln -sfn ..."},
    {"useradd ", NULL, "use: id NAME || useradd ..."},
};

/* True if this is the start of a simple command without a guard before it. */
static bool is_unguarded(struct str text, size_t at)
{
    struct str before = str_trim(str_sub(text, 0, at));
    if (str_ends(before, "sudo")) {
        before = str_trim(str_sub(before, 0, before.len - 4));
    }
    if (before.len == 0) {
        return true;
    }
    if (str_ends(before, "||") || str_ends(before, "then") || str_ends(before, "else") ||
        str_ends(before, "do")) {
        return false;
    }
    bool starts = strchr(";&(|", before.ptr[before.len - 1]) != NULL;
    /* `test -d x && rm -r x; git clone` starts a new command; `[ -e x ] && git clone` is
     * guarded. */
    bool is_guard = str_ends(before, "&&") &&
                    (str_starts(before, "test ") || str_find(before, " test ") != SIZE_MAX ||
                     str_find(before, "[ ") != SIZE_MAX);
    return starts && !is_guard;
}

static void check_twice(const struct check *check, const struct value *command)
{
    struct str text = command->text;
    for (size_t i = 0; i < ARRAY_LEN(unsafe_commands); i++) {
        size_t at = str_find(text, unsafe_commands[i].command);
        const char *safe = unsafe_commands[i].is_safe_with;
        struct str rest = str_sub(text, at == SIZE_MAX ? text.len : at, text.len);
        bool tolerates = str_find(text, "|| true") != SIZE_MAX;
        if (rest.len == 0 || !is_unguarded(text, at) || tolerates ||
            (safe && str_find(rest, safe) != SIZE_MAX)) {
            continue;
        }
        struct diag *diag = diag_warn(check->diags, "not-repeatable", command->place,
                                      "this setup command is not safe to run twice");
        diag_hint(check->diags, diag, "%s (setup runs again after changes)",
                  unsafe_commands[i].advice);
        return;
    }
}

static void check_list(const struct check *check, const struct value *list)
{
    for (size_t i = 0; value_is(list, VALUE_LIST) && i < list->list.count; i++) {
        const struct value *command = list->list.items[i];
        if (command->kind == VALUE_STRING && check_is_written(command)) {
            check_twice(check, command);
        }
    }
}

static bool any_holds(const struct value *commands, const char *words)
{
    for (size_t i = 0; value_is(commands, VALUE_LIST) && i < commands->list.count; i++) {
        if (str_find(value_text(commands->list.items[i]), words) != SIZE_MAX) {
            return true;
        }
    }
    return false;
}

static void check_start(const struct check *check)
{
    const struct value_entry *entry = value_entry_c(check->tree, "head_start_ray_commands");
    if (!entry || !value_is(entry->value, VALUE_LIST) || !check_is_written(entry->value)) {
        return;
    }
    if (!any_holds(entry->value, "ray start")) {
        struct diag *diag = diag_warn(check->diags, "no-ray-start", entry->key->place,
                                      "none of these commands starts Ray on the head");
        diag_hint(check->diags, diag, "expected: ray start --head ...");
    } else if (!any_holds(entry->value, "autoscaling-config")) {
        struct diag *diag = diag_warn(check->diags, "no-autoscaling", entry->key->place,
                                      "Ray starts without --autoscaling-config: with `ray up` no "
                                      "worker would be launched");
        diag_hint(check->diags, diag, "add --autoscaling-config=~/ray_bootstrap_config.yaml");
    }
}

void check_commands(const struct check *check)
{
    const struct value *types = check_node_types(check);
    check_list(check, value_get_c(check->tree, "setup_commands"));
    /* The merged lists start with setup_commands; only the rest is new. */
    const struct value *common = value_get_c(check->tree, "setup_commands");
    size_t skip = value_is(common, VALUE_LIST) ? common->list.count : 0;
    static const char *const merged[] = {"head_setup_commands", "worker_setup_commands"};
    for (size_t i = 0; i < ARRAY_LEN(merged); i++) {
        const struct value *list = value_get_c(check->tree, merged[i]);
        for (size_t j = skip; value_is(list, VALUE_LIST) && j < list->list.count; j++) {
            const struct value *command = list->list.items[j];
            if (command->kind == VALUE_STRING && check_is_written(command)) {
                check_twice(check, command);
            }
        }
    }
    for (size_t i = 0; i < types->map.count; i++) {
        check_list(check, value_get_c(types->map.entries[i].value, "worker_setup_commands"));
    }
    check_start(check);
}

/* manual.c: prints scdoc and Markdown. */
#include "cli/manual.h"

#include "cli/help.h"
#include "config/schema/schema.h"

#include <ctype.h>
#include <string.h>

/* Escapes _ and *, which are markup in scdoc; names with underscores are common here. */
static void add_scdoc(struct buf *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        bool line_start = p == text || p[-1] == '\n';
        if (strchr("_*\\`<>[]#", *p) || (*p == '.' && line_start)) {
            buf_add_char(out, '\\');
        }
        buf_add_char(out, *p);
    }
}

static void manual_add_header(struct buf *out, const char *name, int section, const char *summary)
{
    buf_addf(out, "%s(%d)\n\n# NAME\n\n%s - ", name, section, name);
    add_scdoc(out, summary);
    buf_add_c(out, "\n\n");
}

static void manual_add_option(struct buf *out, const struct option *option)
{
    if (option->is_hidden) {
        return;
    }
    buf_add_c(out, "*");
    if (option->letter) {
        buf_addf(out, "-%c*, *", option->letter);
    }
    buf_addf(out, "--%s*", option->name);
    if (option->argument) {
        buf_addf(out, " _%s_", option->argument);
    }
    buf_add_c(out, "\n\t");
    add_scdoc(out, option->help);
    buf_add_c(out, "\n\n");
}

static void add_options(struct buf *out, const struct verb *verb)
{
    buf_add_c(out, "# OPTIONS\n\n");
    for (size_t i = 0; i < verb->option_count; i++) {
        manual_add_option(out, &verb->options[i]);
    }
    for (size_t i = 0; i < common_option_count; i++) {
        manual_add_option(out, &common_options[i]);
    }
}

static void add_synopsis(struct buf *out, const struct verb *verb)
{
    buf_addf(out, "# SYNOPSIS\n\n*shoal %s* \\[_OPTIONS_\\]", verb->name);
    for (size_t i = 0; i < verb->operand_count; i++) {
        const struct operand *operand = &verb->operands[i];
        bool can_lack = operand->is_optional || operand->fallback;
        buf_addf(out, can_lack ? " \\[_%s_\\]" : " _%s_", operand->name);
        buf_add_c(out, operand->is_rest ? "..." : "");
    }
    buf_add_c(out, "\n\n");
}

/* A sub-command has a section on the page of its command. */
static void manual_add_part(struct buf *out, const struct verb *part)
{
    buf_add_c(out, "# SHOAL ");
    for (const char *c = part->name; *c; c++) {
        buf_add_char(out, (char)toupper((unsigned char)*c));
    }
    buf_addf(out, "\n\n*shoal %s* \\[_OPTIONS_\\]", part->name);
    for (size_t i = 0; i < part->operand_count; i++) {
        buf_addf(out, " \\[_%s_\\]", part->operands[i].name);
    }
    buf_add_c(out, "\n\n");
    add_scdoc(out, part->description);
    buf_add_c(out, "\n\n");
    for (size_t i = 0; i < part->option_count; i++) {
        manual_add_option(out, &part->options[i]);
    }
}

void manual_verb(struct buf *out, const struct verb *verb)
{
    AUTO_BUF struct buf name;
    buf_init(&name, 64);
    buf_addf(&name, "shoal-%s", verb->name);
    manual_add_header(out, name.ptr, 1, verb->summary);
    add_synopsis(out, verb);
    buf_add_c(out, "# DESCRIPTION\n\n");
    add_scdoc(out, verb->description);
    buf_add_c(out, "\n\n");
    for (size_t i = 0; i < verb->operand_count; i++) {
        buf_addf(out, "_%s_\n\t", verb->operands[i].name);
        add_scdoc(out, verb->operands[i].help);
        buf_add_c(out, "\n\n");
    }
    add_options(out, verb);
    for (size_t i = 0; i < verb->part_count; i++) {
        manual_add_part(out, verb->parts[i]);
    }
    buf_add_c(out, "# EXIT STATUS\n\n");
    add_scdoc(out, verb->exit_status ? verb->exit_status
                                     : "0 on success, 1 on failure, 2 for a usage error.");
    buf_add_c(out, "\n\n");
    if (verb->example_count > 0) {
        buf_add_c(out, "# EXAMPLES\n\n");
    }
    for (size_t i = 0; i < verb->example_count; i++) {
        add_scdoc(out, verb->examples[i].says);
        buf_addf(out, "\n\n```\n%s\n```\n\n", verb->examples[i].command);
    }
    buf_add_c(out, "# SEE ALSO\n\n*shoal*(1), *shoal-cluster*(5)\n");
}

void manual_program(struct buf *out)
{
    manual_add_header(out, "shoal", 1, "launch, scale and run Ray clusters on AWS");
    buf_add_c(
        out,
        "# SYNOPSIS\n\n"
        "*shoal* _COMMAND_ \\[_OPTIONS_\\] \\[_ARGUMENTS_\\]\n\n"
        "# DESCRIPTION\n\n"
        "Shoal launches, scales and runs Ray clusters on AWS. It reads the same cluster files as "
        "*ray up*, with the same meaning; *shoal-cluster*(5) lists their keys. Files for other "
        "clouds can be validated and simulated, but not launched.\n\n"
        "# COMMANDS\n\n");
    for (size_t i = 0; i < verb_count; i++) {
        buf_addf(out, "*shoal %s*\n\t", all_verbs[i]->name);
        add_scdoc(out, all_verbs[i]->summary);
        buf_addf(out, ". See *shoal-%s*(1).\n\n", all_verbs[i]->name);
    }
    buf_add_c(out, "# ENVIRONMENT\n\n"
                   "*NO\\_COLOR*\n"
                   "\tIf set and not empty, output has no color.\n\n"
                   "*TERM*\n"
                   "\t_dumb_, or an unset variable, turns color off.\n\n"
                   "*CI*\n"
                   "\tIf set, color is off unless requested.\n\n"
                   "# EXIT STATUS\n\n"
                   "0 on success, 1 on failure, 2 for a usage error.\n\n"
                   "# SEE ALSO\n\n"
                   "*shoal-cluster*(5), *shoal-workload*(5)\n");
}

/* ---- keys ---- */

typedef void object_fn(struct buf *out, const char *path, const struct schema_object *object);

/* Visits every object once, outermost first, with its path ("provider.security_group"). */
static void each_object(struct buf *out, const char *path, const struct schema_object *object,
                        object_fn *print)
{
    print(out, path, object);
    for (size_t i = 0; i < object->count; i++) {
        const struct schema_key *key = &object->keys[i];
        if (key->object) {
            AUTO_BUF struct buf below;
            buf_init(&below, 512);
            buf_addf(&below, "%s%s%s", path, *path ? "." : "",
                     strcmp(key->name, "*") == 0 ? "NAME" : key->name);
            each_object(out, below.ptr, key->object, print);
        }
    }
}

/* Adds each line of a text between two markers. */
static void manual_add_lines(struct buf *out, const char *text, const char *before,
                             const char *behind)
{
    struct str rest = str_from(text);
    while (rest.len > 0) {
        struct str line = str_cut(&rest, '\n');
        buf_addf(out, "%s%.*s%s", before, STR_ARG(line), behind);
    }
}

static const char *shown_name(const struct schema_key *key)
{
    return strcmp(key->name, "*") == 0 ? "NAME" : key->name;
}

static void add_facts(struct buf *facts, const struct schema_key *key)
{
    schema_type_text(facts, key->types);
    if (key->flags & SCHEMA_REQUIRED) {
        buf_add_c(facts, "; required");
    }
    if (key->choices) {
        buf_add_c(facts, "; one of");
        for (size_t i = 0; key->choices[i]; i++) {
            buf_addf(facts, "%s %s", i > 0 ? "," : "", key->choices[i]);
        }
    }
    if (key->fallback) {
        buf_addf(facts, "; default: %s", key->fallback);
    }
    if (key->readers) {
        buf_add_c(facts, "; read by ");
        schema_provider_names(facts, key->readers);
    }
    if (key->flags & SCHEMA_SECRET) {
        buf_add_c(facts, "; masked in output");
    }
}

static void scdoc_object(struct buf *out, const char *path, const struct schema_object *object)
{
    buf_add_c(out, "# ");
    if (*path) {
        buf_add_c(out, "KEYS OF ");
        add_scdoc(out, path);
    } else {
        buf_add_c(out, "TOP LEVEL");
    }
    buf_add_c(out, "\n\n");
    for (size_t i = 0; i < object->count; i++) {
        const struct schema_key *key = &object->keys[i];
        AUTO_BUF struct buf facts;
        buf_init(&facts, 1024);
        add_facts(&facts, key);
        buf_add_c(out, "*");
        add_scdoc(out, shown_name(key));
        buf_add_c(out, "*: ");
        add_scdoc(out, facts.ptr);
        buf_add_c(out, "\n\t");
        add_scdoc(out, key->help);
        buf_add_c(out, "\n\n\t```\n");
        manual_add_lines(out, key->example, "\t", "\n");
        buf_add_c(out, "\t```\n\n");
    }
}

#define CLUSTER_FILE_INTRODUCTION                                                             \
    "A cluster file is the YAML file that `ray up` reads. Shoal accepts every file that Ray " \
    "accepts, with the same meaning, and converts files with the old keys head_node and "     \
    "worker_nodes. Scalars follow YAML 1.1: yes, no, on and off are booleans, 010 is eight, " \
    "1:30 is ninety. Shoal's own settings are under metadata.shoal, which Ray ignores."

void manual_cluster_file(struct buf *out)
{
    manual_add_header(out, "shoal-cluster", 5, "the cluster file of Ray and Shoal");
    buf_add_c(out, "# DESCRIPTION\n\n");
    add_scdoc(out, CLUSTER_FILE_INTRODUCTION);
    buf_add_c(out, "\n\n");
    each_object(out, "", &schema_root, scdoc_object);
    buf_add_c(out, "# SEE ALSO\n\n*shoal*(1), *shoal-validate*(1), *shoal-config*(1)\n");
}

/* Escapes |, which would end a Markdown table cell. */
static void manual_add_cell(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|' || *text == '<' || *text == '*') {
            buf_add_char(out, '\\');
        }
        buf_add_char(out, *text);
    }
}

static void markdown_object(struct buf *out, const char *path, const struct schema_object *object)
{
    buf_addf(out, "## %s%s%s\n\n| key | value | meaning | example |\n|---|---|---|---|\n",
             *path ? "`" : "", *path ? path : "Top level", *path ? "`" : "");
    for (size_t i = 0; i < object->count; i++) {
        const struct schema_key *key = &object->keys[i];
        AUTO_BUF struct buf facts;
        buf_init(&facts, 1024);
        add_facts(&facts, key);
        buf_addf(out, "| `%s` | ", shown_name(key));
        manual_add_cell(out, facts.ptr);
        buf_add_c(out, " | ");
        manual_add_cell(out, key->help);
        buf_add_c(out, " | ");
        manual_add_lines(out, key->example, "`", "`<br>");
        buf_add_c(out, " |\n");
    }
    buf_add_char(out, '\n');
}

void manual_cluster_file_markdown(struct buf *out)
{
    buf_add_c(out, "# The cluster file\n\n" CLUSTER_FILE_INTRODUCTION "\n\n");
    each_object(out, "", &schema_root, markdown_object);
}

/* ---- the workload file ---- */

#define WORKLOAD_FILE_INTRODUCTION                                                                 \
    "A workload file describes the load of a cluster for `shoal simulate`, in YAML: kinds of "     \
    "work, when they arrive, how many, how long they run and what resources they need. Times are " \
    "written 90s, 5m, 1h30m or as a number of seconds. Only `shoal simulate` reads it."

#define WORKLOAD_EXAMPLE                                                            \
    "hours: 8\nwork:\n  features:\n    resources: {CPU: 2, memory: 4GiB}\n"         \
    "    arrival: {at: 1h}\n    count: 400\n    duration: [6m, 14m]\n  training:\n" \
    "    resources: {GPU: 1, CPU: 3}\n    gang: {strategy: PACK, bundles: 4}\n"     \
    "    arrival: {every: 3h}\n    duration: 90m\nspot: {mean_life: 3h, notice: 90%}\n"

void manual_workload_file(struct buf *out)
{
    manual_add_header(out, "shoal-workload", 5, "the workload file of shoal simulate");
    buf_add_c(out, "# DESCRIPTION\n\n");
    add_scdoc(out, WORKLOAD_FILE_INTRODUCTION);
    buf_add_c(out, "\n\n```\n" WORKLOAD_EXAMPLE "```\n\n");
    each_object(out, "", &schema_workload, scdoc_object);
    buf_add_c(out, "# SEE ALSO\n\n*shoal-simulate*(1), *shoal-cluster*(5)\n");
}

void manual_workload_file_markdown(struct buf *out)
{
    buf_add_c(out, "# The workload file\n\n" WORKLOAD_FILE_INTRODUCTION
                   "\n\n```yaml\n" WORKLOAD_EXAMPLE "```\n\n");
    each_object(out, "", &schema_workload, markdown_object);
}

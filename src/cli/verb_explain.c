/* verb_explain.c: explains the state of the cluster. */
#include "cli/ctl_query.h"
#include "cli/json_object.h"
#include "cli/output.h"
#include "config/document/json_write.h"

#include "base/utf8.h"

#include <string.h>

struct explain_fields {
    struct target_fields target;
    const char *about;
    const char *output;
};

static const struct operand operands[] = {
    TARGET_OPERAND(struct explain_fields),
    {"NODE|DEMAND", offsetof(struct explain_fields, about), true, COMPLETE_NOTHING, NULL,
     "What to explain: a node as shown by status (or its id or address), a kind of request "
     "({GPU: 1}, or just GPU), or cost. The default is everything unexpected."},
};

static const struct option options[] = {
    {"output", 'o', OPTION_CHOICE, offsetof(struct explain_fields, output), "FORMAT", text_or_json,
     "Output format: text (the default) or json."},
    TARGET_NAME_OPTION(struct explain_fields),
    TARGET_PROFILE_OPTION(struct explain_fields),
    TARGET_VERBOSE_OPTION(struct explain_fields),
};

static const struct example examples[] = {
    {"shoal explain cluster.yaml", "Explain why requests are waiting, what failed, and what the "
                                   "cluster costs."},
    {"shoal explain cluster.yaml worker-3", "Explain why worker-3 was launched and why it is "
                                            "still running."},
    {"shoal explain cluster.yaml GPU", "Explain why requests for GPUs are waiting."},
};

struct verb_explain_telling {
    const struct cli *cli;
    const char *file;
    bool is_json;
    struct value *list;
    struct buf out;
};

/* Replaces the file name, which the head does not know. */
static void add_words(struct verb_explain_telling *telling, struct str text)
{
    size_t at = str_find(text, "FILE");
    while (at != SIZE_MAX) {
        utf8_add_visible(&telling->out, str_sub(text, 0, at), false);
        buf_add_c(&telling->out, telling->file);
        text = str_sub(text, at + 4, text.len);
        at = str_find(text, "FILE");
    }
    utf8_add_visible(&telling->out, text, false);
}

static void verb_explain_add_text(struct verb_explain_telling *telling,
                                  const struct ctl_answer *answer)
{
    struct buf *out = &telling->out;
    bool colour = telling->cli->colour_out;
    buf_add_c(out, out->len > 0 ? "\n" : "");
    buf_add_c(out, colour ? "\033[1m" : "");
    add_words(telling, answer->question);
    buf_add_c(out, colour ? "\033[0m\n" : "\n");
    for (size_t i = 0; i < answer->line_count; i++) {
        buf_add_c(out, "  ");
        add_words(telling, answer->lines[i]);
        buf_add_char(out, '\n');
    }
    if (answer->fix.len > 0) {
        buf_add_c(out, "  -> ");
        add_words(telling, answer->fix);
        buf_add_char(out, '\n');
    }
}

static void verb_explain_add_record(struct verb_explain_telling *telling,
                                    const struct ctl_answer *answer)
{
    struct arena *arena = telling->cli->arena;
    struct value *record = record_new(arena);
    struct value *lines = record_list(arena);
    for (size_t i = 0; i < answer->line_count; i++) {
        value_list_add(arena, lines,
                       value_string(arena, arena_str(arena, answer->lines[i]), (struct place){0}));
    }
    record_text(arena, record, "question", arena_str(arena, answer->question));
    value_map_set_c(arena, record, "answer", lines);
    record_text(arena, record, "fix", arena_str(arena, answer->fix));
    value_list_add(arena, telling->list, record);
}

static void verb_explain_read_line(void *context, const struct ctl_line *line)
{
    struct verb_explain_telling *telling = context;
    if (line->kind == CTL_EXPLAIN && telling->is_json) {
        verb_explain_add_record(telling, &line->answer);
    } else if (line->kind == CTL_EXPLAIN) {
        verb_explain_add_text(telling, &line->answer);
    }
}

static int verb_explain_print(struct verb_explain_telling *telling)
{
    struct arena *arena = telling->cli->arena;
    struct err err;
    if (telling->is_json) {
        struct value *record = record_new(arena);
        value_map_set_c(arena, record, "explanations", telling->list);
        if (!json_write(&telling->out, record, JSON_PRETTY, &err)) {
            return output_error(telling->cli, &err);
        }
        buf_add_char(&telling->out, '\n');
    }
    return telling->is_json ? output_write(telling->cli, telling->cli->out, &telling->out)
                            : output_write_text(telling->cli, telling->cli->out, &telling->out);
}

static int verb_explain_explain(struct target *target, const void *fields)
{
    const struct explain_fields *given = fields;
    struct verb_explain_telling telling = {
        .cli = &target->cli,
        .file = given->target.file,
        .is_json = given->output && strcmp(given->output, "json") == 0,
        .list = record_list(target->cli.arena),
    };
    struct ctl_request request = {.what = STR("explain"), .about = str_from(given->about)};
    struct err err;
    buf_init(&telling.out, OUTPUT_BYTES_MAX);
    bool ok = ctl_query_head(target, &request, verb_explain_read_line, &telling, &err);
    int status = ok ? verb_explain_print(&telling) : target_fail_head(target, &err);
    buf_clear(&telling.out);
    return status;
}

static int verb_explain_run(const struct cli *cli, const void *fields)
{
    const struct explain_fields *given = fields;
    return target_work(cli, &given->target, verb_explain_explain, given);
}

const struct verb verb_explain = {
    .name = "explain",
    .summary = "explain why requests wait or nodes keep running",
    .description =
        "Asks the autoscaler on the head over ssh for its reasons. Without WHAT, it explains "
        "everything unexpected: why nothing happens, why requests are waiting and what would let "
        "them run, why nodes failed, and what the cluster costs. For a node, it says why the "
        "node was launched and why it is still running, or why it was terminated.\n\n"
        "A line that starts with an arrow says what you can do about it.\n\n"
        "With -o json the object has: explanations, a list of question, answer (lines) and fix.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if the head answered, 1 if it did not answer or has no such node or "
                   "request, 2 for a usage error, 130 after Ctrl-C.",
    .fields_size = sizeof(struct explain_fields),
    .run = verb_explain_run,
};

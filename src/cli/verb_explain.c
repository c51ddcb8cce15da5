/* verb_explain.c: why the cluster is as it is. */
#include "cli/output.h"
#include "cli/record.h"
#include "cli/talk.h"
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
     "A node as status names it (or its id or address), a kind of request ({GPU: 1}, or just GPU), "
     "or cost. Without it: whatever needs an explanation."},
};

static const struct option options[] = {
    {"output", 'o', OPTION_CHOICE, offsetof(struct explain_fields, output), "FORMAT", text_or_json,
     "text for people (the default) or json for programs."},
    TARGET_NAME_OPTION(struct explain_fields),
    TARGET_PROFILE_OPTION(struct explain_fields),
    TARGET_VERBOSE_OPTION(struct explain_fields),
};

static const struct example examples[] = {
    {"shoal explain cluster.yaml", "Why requests wait, what failed, what it costs."},
    {"shoal explain cluster.yaml worker-3", "Why that node is there, and why it has not gone."},
    {"shoal explain cluster.yaml GPU", "Why requests for GPUs wait."},
};

struct telling {
    const struct cli *cli;
    const char *file;
    bool is_json;
    struct value *list;
    struct buf out;
};

/* The head does not know what the file is called here. */
static void add_words(struct telling *telling, struct str text)
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

static void add_text(struct telling *telling, const struct ctl_answer *answer)
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

static void add_record(struct telling *telling, const struct ctl_answer *answer)
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

static void take_line(void *context, const struct ctl_line *line)
{
    struct telling *telling = context;
    if (line->kind == CTL_EXPLAIN && telling->is_json) {
        add_record(telling, &line->answer);
    } else if (line->kind == CTL_EXPLAIN) {
        add_text(telling, &line->answer);
    }
}

static int print(struct telling *telling)
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
    return output_write(telling->cli, telling->cli->out, &telling->out);
}

static int explain(struct target *target, const void *fields)
{
    const struct explain_fields *given = fields;
    struct telling telling = {
        .cli = &target->cli,
        .file = given->target.file,
        .is_json = given->output && strcmp(given->output, "json") == 0,
        .list = record_list(target->cli.arena),
    };
    struct talk_question question = {
        .request = {.what = STR("explain"), .about = str_from(given->about)}};
    struct launcher_head head;
    struct ssh_place place;
    struct err err;
    buf_init(&telling.out, OUTPUT_BYTES_MAX);
    struct talk_setup setup = {
        .session = &target->session,
        .place = &place,
        .arena = target->cli.arena,
        .questions = &question,
        .question_count = 1,
        .context = &telling,
        .line = take_line,
    };
    bool ok = target_find(target, &head, &place, &err) && talk(&setup, &err);
    int status = ok ? print(&telling) : target_fail(target, &err);
    buf_clear(&telling.out);
    return status;
}

static int run(const struct cli *cli, const void *fields)
{
    const struct explain_fields *given = fields;
    return target_work(cli, &given->target, explain, given);
}

const struct verb verb_explain = {
    .name = "explain",
    .summary = "say why requests wait or nodes stay, and what to do",
    .description =
        "Asks the autoscaler on the head, by ssh, for its reasons. Without a second operand it "
        "explains whatever is not as one might expect: why nothing happens, why requests wait and "
        "what would let them run, why nodes failed; and what the cluster costs. Of a node it says "
        "what it was launched for and why it has not gone, or why it ended.\n\n"
        "A line that begins with an arrow says what would change it.\n\n"
        "With -o json the object has: explanations, a list of question, answer (lines) and fix.",
    .operands = operands,
    .operand_count = ARRAY_LEN(operands),
    .options = options,
    .option_count = ARRAY_LEN(options),
    .examples = examples,
    .example_count = ARRAY_LEN(examples),
    .exit_status = "0 when the head answered, 1 when it did not or there is no such node or "
                   "request, 2 for a wrong command line, 130 after Ctrl-C.",
    .fields_size = sizeof(struct explain_fields),
    .run = run,
};

/* verb_logs.c: prints the setup log of a node. */
#include "app/cluster_state.h"
#include "base/utf8.h"
#include "cli/cloud.h"
#include "cli/ctl_query.h"
#include "cli/json_object.h"
#include "cli/output.h"
#include "config/document/json_write.h"
#include "io/file.h"

#include <string.h>

/* A byte becomes at most six (\u0000) when it is escaped. */
enum { PART_BYTES_MAX = 1 << 20, EXPANDED = 6, LINE_EXTRA = 1024 };

struct logs_fields {
    struct target_fields target;
    const char *node;
    const char *output;
    bool follow;
};

static const struct operand operands[] = {
    TARGET_OPERAND(struct logs_fields),
    {"NODE", offsetof(struct logs_fields, node), true, COMPLETE_NOTHING, NULL,
     "The node's name as shown by up and status: head, worker-1, ... The default is the head."},
};

static const struct option options[] = {
    {"follow", 'f', OPTION_FLAG, offsetof(struct logs_fields, follow), NULL, NULL,
     "Also print new output as it is written, until Ctrl-C."},
    {"output", 'o', OPTION_CHOICE, offsetof(struct logs_fields, output), "FORMAT", text_or_json,
     "Output format: text (the default) or json: one object per line, with the keys node and "
     "line."},
    TARGET_NAME_OPTION(struct logs_fields),
    TARGET_PROFILE_OPTION(struct logs_fields),
    TARGET_VERBOSE_OPTION(struct logs_fields),
};

static const struct example examples[] = {
    {"shoal logs cluster.yaml worker-2", "Print the complete output of the setup of worker-2."},
    {"shoal logs -f cluster.yaml head", "Follow the setup of the head."},
    {"shoal logs -o json cluster.yaml worker-2 | jq -r .line", "For a script."},
};

struct printing {
    FILE *out;
    struct str node;
    bool is_json;
    struct buf part; /* incomplete line of a file that is read in pieces */
};

/* Programs colour what they print; a log is read elsewhere. */
static void print_line(void *context, struct str line)
{
    struct printing *printing = context;
    AUTO_BUF struct buf plain;
    AUTO_BUF struct buf out;
    buf_init(&plain, line.len + 1);
    buf_init(&out, EXPANDED * line.len + LINE_EXTRA);
    utf8_add_unstyled(&plain, line);
    if (printing->is_json) {
        AUTO_ARENA struct arena arena = ARENA_HEAP;
        struct err ignored;
        struct value *record = record_new(&arena);
        record_text(&arena, record, "node", printing->node);
        record_text(&arena, record, "line", buf_str(&plain));
        (void)!json_write(&out, record, JSON_COMPACT, &ignored);
    } else {
        buf_add(&out, buf_str(&plain));
    }
    buf_add_char(&out, '\n');
    fwrite(out.ptr, 1, out.len, printing->out);
    fflush(printing->out);
}

static void print_part(struct printing *printing)
{
    print_line(printing, buf_str(&printing->part));
    printing->part.len = 0;
}

static bool print_piece(void *context, struct str bytes)
{
    struct printing *printing = context;
    while (bytes.len > 0) {
        bool is_whole = str_find_char(bytes, '\n') != SIZE_MAX;
        struct str piece = str_cut(&bytes, '\n');
        if (printing->part.len + piece.len > PART_BYTES_MAX) {
            print_part(printing); /* a huge line becomes several */
        }
        buf_add(&printing->part, piece);
        if (is_whole) {
            print_part(printing);
        }
    }
    return ferror(printing->out) == 0;
}

/* The log that this machine kept while it set up the node; false if there is none. */
static bool print_kept(const struct target *target, struct printing *printing, struct err *err)
{
    struct str node = printing->node;
    struct cluster_state state;
    struct arena *arena = target->cli.arena;
    if (str_find_char(node, '/') != SIZE_MAX || str_starts(node, ".")) {
        return err_set(err, ERR_USAGE, "\"%.*s\" is not the name of a node",
                       STR_ARG(str_sub(node, 0, 100)));
    }
    if (!cluster_state_open(target->config, false, arena, &state, err)) {
        return false;
    }
    struct str path = arena_printf(arena, "%s/log/%.*s", state.folder, STR_ARG(node));
    return file_stream(path.ptr, print_piece, printing, err);
}

/* The laptop sets up the head and the head sets up the workers: each keeps the logs it received. */
static int print_log(struct target *target, const void *fields)
{
    const struct logs_fields *given = fields;
    struct str node = given->node ? str_from(given->node) : STR("head");
    bool follows = given->follow;
    struct printing printing = {.out = target->cli.out,
                                .node = node,
                                .is_json = given->output && strcmp(given->output, "json") == 0};
    struct launcher_head head;
    struct ssh_target place;
    struct err err;
    struct err kept;
    bool ok = target_reach(target, &head, &place, &err) &&
              ctl_query_log(&target->session, &place, target->cli.arena, node, follows, print_line,
                            &printing, &err);
    if (ok) {
        return 0;
    }
    if (err.kind == ERR_CANCELLED) {
        return follows ? 0 : target_fail(target, &err);
    }
    buf_init(&printing.part, PART_BYTES_MAX);
    bool is_kept = print_kept(target, &printing, &kept);
    if (printing.part.len > 0) {
        print_part(&printing); /* the last line may lack its end */
    }
    buf_clear(&printing.part);
    if (!is_kept) {
        return target_fail(target, &err);
    }
    cloud_print_lines(&target->cli, "note",
                      arena_printf(target->cli.arena,
                                   "showing the copy on this machine, because the head could not "
                                   "be reached (%s)",
                                   err.text));
    return 0;
}

static int verb_logs_run(const struct cli *cli, const void *fields)
{
    const struct logs_fields *given = fields;
    return target_work(cli, &given->target, print_log, given);
}

const struct verb verb_logs = {
    .name = "logs",
    .summary = "print the setup log of a node",
    .description =
        "Prints the output of a node's setup commands. The output is read from the service on "
        "the head over ssh. If the service does not answer, the copy on this machine is printed. "
        "Only the machine that ran shoal up has a copy, and only for the head.",
    VERB_ROWS(operand),
    VERB_ROWS(option),
    VERB_ROWS(example),
    .fields_size = sizeof(struct logs_fields),
    .run = verb_logs_run,
};

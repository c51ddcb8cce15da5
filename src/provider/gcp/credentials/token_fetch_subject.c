/* token_fetch_subject.c: the token of an external identity, from a file, a URL or a program. */
#include "provider/gcp/credentials/token_fetch_internal.h"
#include "provider/shell_split.h"
#include "provider/variable.h"

enum { PROGRAM_NOISE_MAX = 8 * 1024, PROGRAM_VARIABLES_MAX = 7 };

static void subject_take_text(struct token_fetch *fetch, struct str text)
{
    struct str field = fetch->file.subject.field;
    struct err err = {0};
    if (field.len > 0 && !token_field_read(text, field, &fetch->arena, &text, &err)) {
        token_fetch_fail(fetch, ERR_AUTH, "invalid token of the external identity: %s", err.text);
    } else if (text.len == 0) {
        token_fetch_fail(fetch, ERR_AUTH, "the token of the external identity is empty");
    } else {
        token_fetch_exchange(fetch, text);
    }
}

/* ---- files and URLs ---- */

static void subject_from_file(struct token_fetch *fetch)
{
    struct err err = {0};
    struct str text;
    if (!token_fetch_read(fetch, fetch->file.subject.place, &text, &err)) {
        token_fetch_fail(fetch, ERR_AUTH, "cannot read the token of the external identity: %s",
                         err.text);
        return;
    }
    subject_take_text(fetch, text);
}

static void subject_on_reply(void *context, const struct http_reply *reply)
{
    struct token_fetch *fetch = context;
    if (token_fetch_is_answer(fetch, reply, "the URL of credential_source")) {
        subject_take_text(fetch, arena_str(&fetch->arena, reply->body));
    }
}

static void subject_from_url(struct token_fetch *fetch)
{
    const struct adc_subject *subject = &fetch->file.subject;
    struct question question = {.url = subject->place, .answered = subject_on_reply};
    for (size_t i = 0; i < subject->header_count; i++) {
        question.headers[question.header_count++] = (struct http_header){subject->headers[i].name,
                                                                         subject->headers[i].value};
    }
    asker_ask(&fetch->asker, &question);
}

/* ---- programs ---- */

static void subject_take_output(struct token_fetch *fetch, struct str output)
{
    struct err err = {0};
    struct str token;
    bool is_usable = false;
    if (!token_program_read(output, token_fetch_now(fetch), false, &fetch->arena, &token,
                            &is_usable, &err)) {
        token_fetch_fail(fetch, ERR_AUTH, "the output of the program cannot be used: %s", err.text);
    } else if (!is_usable) {
        token_fetch_fail(fetch, ERR_AUTH, "the program returned an expired token");
    } else {
        token_fetch_exchange(fetch, token);
    }
}

static void subject_on_child(void *context, const struct child_result *result)
{
    struct token_fetch *fetch = context;
    struct str output = result->output[CHILD_STDOUT];
    struct str path = fetch->file.subject.output_path;
    struct err err = {0};
    fetch->child = NULL;
    if (!child_was_fine(result)) {
        token_fetch_fail(fetch, ERR_AUTH, "%s", result->err.text);
    } else if (result->is_cut[CHILD_STDOUT]) {
        token_fetch_fail(fetch, ERR_AUTH, "the program's output is too large");
    } else if (output.len == 0 && path.len > 0 && !token_fetch_read(fetch, path, &output, &err)) {
        token_fetch_fail(fetch, ERR_AUTH, "%s", err.text);
    } else {
        subject_take_output(fetch, output);
    }
}

static const char **subject_variables(struct token_fetch *fetch)
{
    const struct adc_file *file = &fetch->file;
    struct arena *arena = &fetch->arena;
    size_t count = 0;
    while (fetch->setup->environ[count]) {
        count++;
    }
    const char **all = ARENA_ARRAY(arena, count + PROGRAM_VARIABLES_MAX + 1, const char *);
    count = 0;
#define SUBJECT_SET(name, value) \
    (all[count++] = arena_printf(arena, name "=%.*s", STR_ARG(value)).ptr)
    SUBJECT_SET("GOOGLE_EXTERNAL_ACCOUNT_AUDIENCE", file->audience);
    SUBJECT_SET("GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE", file->subject_type);
    SUBJECT_SET("GOOGLE_EXTERNAL_ACCOUNT_ID", file->principal);
    SUBJECT_SET("GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE", STR("0"));
    SUBJECT_SET("GOOGLE_EXTERNAL_ACCOUNT_REVOKE", STR("0"));
    if (file->principal.len > 0) {
        SUBJECT_SET("GOOGLE_EXTERNAL_ACCOUNT_IMPERSONATED_EMAIL", file->principal);
    }
    if (file->subject.output_path.len > 0) {
        SUBJECT_SET("GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE", file->subject.output_path);
    }
#undef SUBJECT_SET
    /* The user's program, so all variables; ours come first and win. */
    for (const char *const *env = fetch->setup->environ; *env; env++) {
        all[count++] = *env;
    }
    return all;
}

/* The output that an earlier run kept in a file; false: there is none to use. */
static bool subject_take_kept(struct token_fetch *fetch)
{
    struct str path = fetch->file.subject.output_path;
    struct err err = {0};
    struct str text;
    struct str token;
    bool is_usable = false;
    if (path.len == 0 || !token_fetch_read(fetch, path, &text, &err) ||
        !token_program_read(text, token_fetch_now(fetch), true, &fetch->arena, &token, &is_usable,
                            &err) ||
        !is_usable) {
        return false;
    }
    token_fetch_exchange(fetch, token);
    return true;
}

static void subject_from_program(struct token_fetch *fetch)
{
    const struct adc_subject *subject = &fetch->file.subject;
    const char *allow = variable_get(fetch->setup->environ,
                                     "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES");
    struct str *words = NULL;
    size_t count = 0;
    if (!allow || !str_is(str_from(allow), "1")) {
        token_fetch_fail(fetch, ERR_AUTH,
                         "the file names a program to run; if you trust the file, set "
                         "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1");
        return;
    }
    if (subject_take_kept(fetch)) {
        return;
    }
    if (!shell_split(subject->place, &fetch->arena, &words, &count) || count == 0) {
        token_fetch_fail(fetch, ERR_AUTH, "the command of the program has an open quote");
        return;
    }
    const char **argv = ARENA_ARRAY(&fetch->arena, count + 1, const char *);
    for (size_t i = 0; i < count; i++) {
        argv[i] = words[i].ptr;
    }
    struct child_spec spec = {
        .argv = argv,
        .env_extra = subject_variables(fetch),
        .output = {[CHILD_STDOUT] = {.bytes_max = TOKEN_REPLY_MAX},
                   [CHILD_STDERR] = {.bytes_max = PROGRAM_NOISE_MAX, .keeps_tail = true}},
        .deadline_ms = subject->timeout_ms,
        .done = subject_on_child,
        .context = fetch,
    };
    fetch->child = child_start(fetch->setup->children, &spec);
}

void token_fetch_from_subject(struct token_fetch *fetch)
{
    static void (*const ways[])(struct token_fetch *) = {
        [SUBJECT_FILE] = subject_from_file,
        [SUBJECT_URL] = subject_from_url,
        [SUBJECT_PROGRAM] = subject_from_program,
        [SUBJECT_AWS] = token_fetch_from_aws,
    };
    ways[fetch->file.subject.kind](fetch);
}

/* fuzz.c: promises that more than one target holds the code to. */
#include "fuzz.h"

#include "base/panic.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "config/document/json_write.h"
#include "config/document/yaml_check.h"
#include "config/document/yaml_read.h"
#include "config/document/yaml_write.h"

#include <stdio.h>

bool fuzz_is_timed;

void fuzz_fail(const char *promise, struct str evidence)
{
    fprintf(stderr, "---- evidence ----\n%.*s\n------------------\n", STR_ARG(evidence));
    panic("broken promise: %s", promise);
}

struct source fuzz_source(const uint8_t *data, size_t size)
{
    const char *text = size > 0 ? (const char *)data : "";
    return (struct source){STR("fuzz.yaml"), {text, size}, false};
}

static void check_style(const struct value *tree, enum json_style style)
{
    AUTO_BUF struct buf out;
    struct err err = {0};
    buf_init(&out, OUTPUT_BYTES_MAX);
    bool ok = json_write(&out, tree, style, &err);
    if (!ok && (style != JSON_SORTED || err.kind == ERR_NONE)) {
        fuzz_fail("json_write fails for JSON_SORTED only, and says why", str_from(err.text));
    }
    if (!fuzz_is_timed && !utf8_is_valid(buf_str(&out))) {
        fuzz_fail("JSON is valid UTF-8", buf_str(&out));
    }
}

void fuzz_check_json(const struct value *tree)
{
    check_style(tree, JSON_PRETTY);
    if (!fuzz_is_timed) {
        check_style(tree, JSON_COMPACT);
        check_style(tree, JSON_SORTED);
    }
}

void fuzz_check_round_trip(struct arena *arena, const struct value *tree)
{
    AUTO_BUF struct buf out;
    struct diag_list diags;
    buf_init(&out, OUTPUT_BYTES_MAX);
    yaml_write(&out, tree);
    if (fuzz_is_timed || out.is_full || out.len > YAML_BYTES_MAX) {
        return; /* aliases written out can be more than the reader takes */
    }
    struct source source = {STR("written.yaml"), buf_str(&out), false};
    diag_list_init(&diags, arena);
    const struct value *again = yaml_read(arena, &source, &diags);
    if (!again) {
        fprintf(stderr, "%.*s (line %u)\n", STR_ARG(diags.items[0].text),
                diags.items[0].place.line);
        fuzz_fail("what yaml_write writes can be read", buf_str(&out));
    }
    if (!value_equal(tree, again)) {
        fuzz_fail("what yaml_write writes reads back the same", buf_str(&out));
    }
}

/* The character of a place, counted as YAML counts lines; 0 when there is none, or a line end. */
static uint32_t point_at(struct place place)
{
    struct str text = yaml_skip_mark(place.source->text);
    uint32_t line = 1;
    uint32_t column = 1;
    for (size_t i = 0, len; i < text.len; i += len) {
        uint32_t point = utf8_decode(str_sub(text, i, text.len), &len);
        bool is_pair = point == '\r' && i + 1 < text.len && text.ptr[i + 1] == '\n';
        bool ends_line = point == '\n' || point == '\r' || point == 0x85 || point == 0x2028 ||
                         point == 0x2029;
        if (line == place.line && column == place.column) {
            return ends_line ? 0 : point;
        }
        line += ends_line && !is_pair;
        column = ends_line ? 1 : column + 1;
    }
    return 0;
}

/* What the caret points at must be in the line above it, unless stars hide a secret there. */
static void check_excerpt(const struct diag *diag, struct str printed)
{
    AUTO_BUF struct buf wanted;
    buf_init(&wanted, 8);
    uint32_t point = place_is_users(diag->place) ? point_at(diag->place) : 0;
    if (point == UTF8_BAD || point <= ' ' || (point >= 0x7F && point <= 0xA0)) {
        return;
    }
    struct str rest = printed;
    str_cut(&rest, '\n');
    struct str line = str_cut(&rest, '\n');
    utf8_add(&wanted, point);
    if (str_find(line, wanted.ptr) == SIZE_MAX && str_find_char(line, '*') == SIZE_MAX) {
        fuzz_fail("the line of a finding is shown above its caret", printed);
    }
}

static void check_visible(struct str text)
{
    for (size_t i = 0, len; i < text.len; i += len) {
        uint32_t point = utf8_decode(str_sub(text, i, text.len), &len);
        if (point == UTF8_BAD || (point < 0x20 && point != '\n') ||
            (point >= 0x7F && point < 0xA0)) {
            fuzz_fail("findings are printed without control characters", text);
        }
    }
}

/* Two findings that become one must not make a bad file good, nor the counts wrong. */
static void merge_findings(struct diag_list *diags)
{
    bool was_bad = diags->error_count > 0;
    diag_merge_typos(diags);
    size_t errors = 0;
    for (size_t i = 0; i < diags->count; i++) {
        errors += diags->items[i].level == DIAG_ERROR;
    }
    bool is_cut = diags->error_count + diags->warning_count >= DIAG_MAX;
    if (was_bad != (diags->error_count > 0) || (!is_cut && errors != diags->error_count)) {
        fuzz_fail("merging findings keeps the verdict and the counts", STR(""));
    }
}

void fuzz_check_findings(struct diag_list *diags)
{
    AUTO_BUF struct buf out;
    struct diag_style style = output_style(false);
    buf_init(&out, OUTPUT_BYTES_MAX);
    merge_findings(diags);
    diag_sort(diags);
    for (size_t i = 0; i < diags->count; i++) {
        size_t from = out.len;
        diag_print(&out, &diags->items[i], &style);
        if (!fuzz_is_timed) {
            check_excerpt(&diags->items[i], str_sub(buf_str(&out), from, out.len));
        }
    }
    diag_print_summary(&out, diags);
    if (!fuzz_is_timed) {
        check_visible(buf_str(&out));
    }
}

/* fixture.c: reads text for a test, and formats the results. */
#include "fixture.h"

#include "config/document/json_write.h"
#include "config/document/yaml_read.h"

#include <stdlib.h>

enum { SHOWN_BYTES_MAX = 16 * 1024 * 1024 };

struct fixture *fixture_new(void)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    assert_non_null(fixture);
    arena_init(&fixture->arena);
    diag_list_init(&fixture->diags, &fixture->arena);
    return fixture;
}

void fixture_free(struct fixture **fixture)
{
    arena_clear(&(*fixture)->arena);
    free(*fixture);
    *fixture = NULL;
}

static const struct source *new_source(struct fixture *fixture, struct str yaml)
{
    struct source *source = ARENA_NEW(&fixture->arena, struct source);
    source->name = STR("test.yaml");
    source->text = arena_str(&fixture->arena, yaml);
    diag_list_init(&fixture->diags, &fixture->arena);
    return source;
}

struct value *fixture_read(struct fixture *fixture, struct str yaml)
{
    return yaml_read(&fixture->arena, new_source(fixture, yaml), &fixture->diags);
}

struct value *fixture_read_c(struct fixture *fixture, const char *yaml)
{
    return fixture_read(fixture, str_from(yaml));
}

struct value *fixture_prepare(struct fixture *fixture, const char *yaml)
{
    const struct source *source = new_source(fixture, str_from(yaml));
    return config_parse(&fixture->arena, source, &fixture->diags);
}

struct str fixture_json(struct fixture *fixture, const struct value *value)
{
    AUTO_BUF struct buf out;
    struct err err;
    buf_init(&out, SHOWN_BYTES_MAX);
    if (!value) {
        return STR("(none)");
    }
    assert_true(json_write(&out, value, JSON_COMPACT, &err));
    return arena_str(&fixture->arena, buf_str(&out));
}

struct str fixture_json_at(struct fixture *fixture, const struct value *tree, const char *path)
{
    return fixture_json(fixture, value_path(tree, path));
}

static struct str show(struct fixture *fixture, bool with_text)
{
    AUTO_BUF struct buf out;
    buf_init(&out, SHOWN_BYTES_MAX);
    diag_sort(&fixture->diags);
    for (size_t i = 0; i < fixture->diags.count; i++) {
        const struct diag *diag = &fixture->diags.items[i];
        buf_addf(&out, "%s%u:%u %s %s", i > 0 ? "\n" : "", diag->place.line, diag->place.column,
                 diag->level == DIAG_ERROR ? "error" : "warning", diag->code);
        if (with_text) {
            buf_addf(&out, ": %.*s", STR_ARG(diag->text));
        }
        if (with_text && diag->hint.len > 0) {
            buf_addf(&out, " (%.*s)", STR_ARG(diag->hint));
        }
    }
    return arena_str(&fixture->arena, buf_str(&out));
}

struct str fixture_findings(struct fixture *fixture)
{
    return show(fixture, false);
}

struct str fixture_messages(struct fixture *fixture)
{
    return show(fixture, true);
}

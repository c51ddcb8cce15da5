/*
 * fixture.h: what tests of the configuration share: text is read into a tree; trees and findings
 * are formatted as text, so that a test compares one string and a failure shows all of it.
 */
#pragma once

#include "config/config.h"
#include "unit.h"

struct fixture {
    struct arena arena;
    struct diag_list diags;
};

/* Freed at the end of the scope: `AUTO_FIXTURE struct fixture *f = fixture_new();` */
#define AUTO_FIXTURE __attribute__((cleanup(fixture_free)))

struct fixture *fixture_new(void);
void fixture_free(struct fixture **fixture);

/* Each starts without findings. NULL if there is no tree; then the findings say why. */
struct value *fixture_read(struct fixture *fixture, struct str yaml);
struct value *fixture_read_c(struct fixture *fixture, const char *yaml);
struct value *fixture_prepare(struct fixture *fixture, const char *yaml);

/* A tree as JSON on one line; "(none)" for NULL. */
struct str fixture_json(struct fixture *fixture, const struct value *value);

/* The node at "a.b.c" as JSON. */
struct str fixture_json_at(struct fixture *fixture, const struct value *tree, const char *path);

/* "2:1 error unknown-key", one a line, sorted by place. */
struct str fixture_findings(struct fixture *fixture);

/* "2:1 error unknown-key: unknown key \"a\" (did you mean \"b\"?)", one a line, sorted by place. */
struct str fixture_messages(struct fixture *fixture);

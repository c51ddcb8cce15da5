/*
 * database.h: one SQLite file, with checks on opening, prepared statements and readable errors. The
 * only place that uses SQLite.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct database;
struct statement;

/* The identity and the schema of the file. */
struct database_form {
    int32_t application;           /* "application_id": files of other programs are rejected */
    int version;                   /* "user_version": files of a newer version are rejected */
    const char *schema;            /* creates the tables in an empty file */
    const char *const *upgrades;   /* [N] upgrades from version N; [0] is not used */
    const char *const *statements; /* prepared on opening; terminated by NULL */
};

/*
 * Creates the file, readable by this user only, if it does not exist and `is_writer`. Readers see
 * the last committed state, even while another process writes.
 */
bool database_open(const char *path, const struct database_form *form, bool is_writer,
                   struct database **ret_database, struct err *err) MUST_USE;
/* NULL is allowed; rolls back an open transaction. */
void database_close(struct database *database);

/* A transaction: all changes between the two are committed or none. When the commit returns true,
 * they are on disk. After a failure in between, the commit fails and rolls back. */
bool database_begin(struct database *database, struct err *err) MUST_USE;
bool database_commit(struct database *database, struct err *err) MUST_USE;
/* Why the last transaction was rolled back, for example "disk full"; empty if it was committed. */
struct str database_trouble(const struct database *database);
void database_drop(struct database *database); /* rolls back */

/* ---- statements: database_use(), bind in order, then run or step ---- */

/* By its index in the form; clears earlier bindings. */
struct statement *database_use(struct database *database, size_t which);
void statement_int(struct statement *statement, int64_t value);
/* Not copied; must stay valid until the statement ends. */
void statement_text(struct statement *statement, struct str value);
void statement_bytes(struct statement *statement, struct str value); /* likewise */

/* For statements without rows. */
bool statement_run(struct statement *statement, struct err *err) MUST_USE;

/* True if there is a row. False at the end, or on failure if `*ret_failed`. */
bool statement_step(struct statement *statement, bool *ret_failed, struct err *err) MUST_USE;
int64_t column_int(struct statement *statement, int column);
struct str column_text(struct statement *statement, int column); /* valid until the next step */

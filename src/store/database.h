/*
 * database.h: one SQLite file as the store uses it: opened with care, statements prepared once,
 * failures in words. The only place that speaks to SQLite.
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

/* What the file is for, and how it looks. */
struct database_form {
    int32_t application;           /* "application_id": files of other programs are refused */
    int version;                   /* "user_version": files of a newer version are refused */
    const char *schema;            /* makes an empty or an older file into one of this version */
    const char *const *statements; /* prepared on opening; a NULL ends them */
};

/*
 * Makes the file, readable by this user only, when it is not there and `is_writer`. Whoever only
 * reads sees what was last committed, also while another process writes.
 */
bool database_open(const char *path, const struct database_form *form, bool is_writer,
                   struct database **ret_database, struct err *err) MUST_USE;
void database_close(struct database *database); /* NULL is fine; drops what is not committed */

/* What is done between the two is kept as a whole or not at all; when the commit returns true it is
 * on disk. A failure in between drops all of it, and the commit fails. */
bool database_begin(struct database *database, struct err *err) MUST_USE;
bool database_commit(struct database *database, struct err *err) MUST_USE;
void database_drop(struct database *database); /* the other end: nothing of it is kept */

/* ---- statements: database_use(), bind in order, then run or step ---- */

/* By its place in the form; what was bound before is forgotten. */
struct statement *database_use(struct database *database, size_t which);
void statement_int(struct statement *statement, int64_t value);
void statement_text(struct statement *statement, struct str value);  /* a view, until the end */
void statement_bytes(struct statement *statement, struct str value); /* likewise */

/* For statements without rows. */
bool statement_run(struct statement *statement, struct err *err) MUST_USE;

/* True: there is a row. False: the end, unless `*ret_failed`. */
bool statement_step(struct statement *statement, bool *ret_failed, struct err *err) MUST_USE;
int64_t column_int(struct statement *statement, int column);
struct str column_text(struct statement *statement, int column); /* until the next step */

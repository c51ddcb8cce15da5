/* database.c: opens SQLite files, runs statements and reports errors. */
#include "store/database.h"

#include "base/require.h"
#include "io/failpoint.h"
#include "io/file.h"
#include "io/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BUSY_MS = 5000, /* for a reader that waits for a checkpoint; a lock excludes other writers */
    STATEMENTS_MAX = 40,
};

struct statement {
    struct database *database;
    sqlite3_stmt *handle;
    int bound;
};

struct database {
    sqlite3 *handle;
    char *path;
    struct statement statements[STATEMENTS_MAX];
    size_t statement_count;
    bool is_broken;    /* an error occurred since the last begin */
    char trouble[120]; /* why the last transaction was rolled back; empty if it was committed */
};

/* ---- failures ---- */

/* A short description for status displays. */
static void database_note_error(struct database *database, int code)
{
    bool is_full = (code & 0xff) == SQLITE_FULL;
    snprintf(database->trouble, sizeof(database->trouble), "%s",
             is_full ? "disk full" : sqlite3_errstr(code));
}

static bool database_fail(struct database *database, const char *what, struct err *err)
{
    int code = database->handle ? sqlite3_errcode(database->handle) : SQLITE_NOMEM;
    const char *said = database->handle ? sqlite3_errmsg(database->handle) : "no memory";
    database->is_broken = true;
    switch (code & 0xff) {
    case SQLITE_FULL:
        return err_set(err, ERR_IO, "%s: the disk is full (%s)", database->path, what);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return err_set(err, ERR_IO,
                       "%s is damaged (%s). Move the file to another directory; Shoal then finds "
                       "the instances again by their tags",
                       database->path, said);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return err_set(err, ERR_UNAVAILABLE, "%s is in use by another program", database->path);
    default:
        return err_set(err, ERR_IO, "%s: %s: %s", database->path, what, said);
    }
}

static bool run_text(struct database *database, const char *sql, const char *what, struct err *err)
{
    return sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK ||
           database_fail(database, what, err);
}

/* ---- opening ---- */

/* SQLite would create the file with the umask's permissions; its WAL files inherit them. */
static bool make_private(const char *path, struct err *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) {
        int reason = errno;
        if (fd >= 0) {
            close(fd);
        }
        return err_set(err, ERR_IO, "%s: %s", path, strerror(reason));
    }
    close(fd);
    if ((status.st_mode & 077) != 0 || status.st_uid != geteuid()) {
        return err_set(err, ERR_AUTH,
                       "%s can be read by other users or belongs to another user; check its "
                       "owner, then run: chmod 600 %s",
                       path, path);
    }
    return true;
}

static bool database_read_number(struct database *database, const char *pragma, int64_t *ret_number,
                                 struct err *err)
{
    sqlite3_stmt *handle = NULL;
    bool ok = sqlite3_prepare_v2(database->handle, pragma, -1, &handle, NULL) == SQLITE_OK &&
              sqlite3_step(handle) == SQLITE_ROW;
    if (ok) {
        *ret_number = sqlite3_column_int64(handle, 0);
    }
    sqlite3_finalize(handle);
    return ok || database_fail(database, "cannot be read", err);
}

/* In one transaction with the version, so that a file is never incomplete. `version` is 0 for an
 * empty file. */
static bool database_bring_up_to_date(struct database *database, const struct database_form *form,
                                      int version, struct err *err)
{
    char marks[128];
    sqlite3_snprintf(sizeof(marks), marks, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
                     form->application, form->version);
    bool ok = run_text(database, "BEGIN IMMEDIATE", "cannot be created", err);
    if (version == 0) {
        ok = ok && run_text(database, form->schema, "cannot be created", err);
    }
    for (int from = version; from > 0 && from < form->version; from++) {
        ok = ok && run_text(database, form->upgrades[from], "cannot be upgraded", err);
    }
    ok = ok && run_text(database, marks, "cannot be created", err);
    failpoint("journal", "tables", "before");
    return ok && run_text(database, "COMMIT", "cannot be created", err);
}

static bool database_check_form(struct database *database, const struct database_form *form,
                                bool is_writer, struct err *err)
{
    int64_t version = 0;
    int64_t application = 0;
    if (!database_read_number(database, "PRAGMA user_version", &version, err) ||
        !database_read_number(database, "PRAGMA application_id", &application, err)) {
        return false;
    }
    bool is_new = version == 0 && application == 0;
    if (is_new && is_writer) {
        return database_bring_up_to_date(database, form, 0, err);
    }
    if (application != form->application || version < 1) {
        return err_set(err, ERR_IO, "%s is not a Shoal database", database->path);
    }
    if (version > form->version) {
        return err_set(err, ERR_IO,
                       "%s was written by a newer version of Shoal (format %lld; this version "
                       "supports up to %d); use the newer version",
                       database->path, (long long)version, form->version);
    }
    if (version < form->version && !is_writer) {
        return err_set(err, ERR_IO,
                       "%s was written by an older version of Shoal (format %lld; this version "
                       "needs %d); `shoal up` upgrades it",
                       database->path, (long long)version, form->version);
    }
    return version == form->version || database_bring_up_to_date(database, form, (int)version, err);
}

static bool prepare_all(struct database *database, const struct database_form *form,
                        struct err *err)
{
    require(database->statement_count == 0, "statements are prepared once");
    for (size_t i = 0; form->statements[i] && i < STATEMENTS_MAX; i++) {
        struct statement *statement = &database->statements[i];
        statement->database = database;
        if (sqlite3_prepare_v3(database->handle, form->statements[i], -1, SQLITE_PREPARE_PERSISTENT,
                               &statement->handle, NULL) != SQLITE_OK) {
            return database_fail(database, "cannot be used", err);
        }
        database->statement_count = i + 1;
        require(database->statement_count <= STATEMENTS_MAX, "the statements fit");
    }
    return true;
}

/* FULL: every commit is on disk when it returns, as intents require. */
static bool set_manners(struct database *database, bool is_writer, struct err *err)
{
    sqlite3_busy_timeout(database->handle, BUSY_MS);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    return !is_writer || run_text(database, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;",
                                  "cannot be used", err);
}

bool database_open(const char *path, const struct database_form *form, bool is_writer,
                   struct database **ret_database, struct err *err)
{
    if (is_writer && !make_private(path, err)) {
        return false;
    }
    if (!is_writer && file_stat(path).kind == FILE_MISSING) {
        return err_set(err, ERR_NOT_FOUND, "%s: no such file", path);
    }
    struct database *database = HEAP_NEW(struct database);
    database->path = heap_zeroed(strlen(path) + 1);
    memcpy(database->path, path, strlen(path));
    int flags = is_writer ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    if ((sqlite3_open_v2(path, &database->handle, flags | SQLITE_OPEN_NOFOLLOW, NULL) ==
             SQLITE_OK ||
         database_fail(database, "cannot be opened", err)) &&
        set_manners(database, is_writer, err) &&
        database_check_form(database, form, is_writer, err) && prepare_all(database, form, err)) {
        database->is_broken = false;
        *ret_database = database;
        return true;
    }
    database_close(database);
    return false;
}

void database_close(struct database *database)
{
    if (!database) {
        return;
    }
    for (size_t i = 0; i < database->statement_count; i++) {
        sqlite3_finalize(database->statements[i].handle);
    }
    sqlite3_close(database->handle);
    free(database->path);
    free(database);
}

/* ---- transactions ---- */

bool database_begin(struct database *database, struct err *err)
{
    database->is_broken = false;
    bool ok = run_text(database, "BEGIN IMMEDIATE", "cannot be written", err);
    if (!ok) {
        database_note_error(database, sqlite3_errcode(database->handle));
    }
    return ok;
}

struct str database_trouble(const struct database *database)
{
    return str_from(database->trouble);
}

bool database_commit(struct database *database, struct err *err)
{
    require(database->is_broken || !sqlite3_get_autocommit(database->handle),
            "a transaction is open");
    failpoint("journal", database->path, "before");
    bool ok = database->is_broken
                  ? err_set(err, ERR_IO, "%s: an earlier write failed, so nothing was stored",
                            database->path)
                  : run_text(database, "COMMIT", "cannot be written", err);
    if (ok) {
        database->trouble[0] = '\0';
    } else {
        if (!database->trouble[0]) {
            database_note_error(database, sqlite3_errcode(database->handle));
        }
        database_drop(database);
    }
    failpoint("journal", database->path, "after");
    return ok;
}

void database_drop(struct database *database)
{
    sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- statements ---- */

struct statement *database_use(struct database *database, size_t which)
{
    require(which < database->statement_count, "the statement exists");
    struct statement *statement = &database->statements[which];
    sqlite3_reset(statement->handle);
    sqlite3_clear_bindings(statement->handle);
    statement->bound = 0;
    return statement;
}

void statement_int(struct statement *statement, int64_t value)
{
    require(statement->bound < sqlite3_bind_parameter_count(statement->handle),
            "the statement has a parameter without a value");
    sqlite3_bind_int64(statement->handle, ++statement->bound, value);
}

void statement_text(struct statement *statement, struct str value)
{
    require(statement->bound < sqlite3_bind_parameter_count(statement->handle),
            "the statement has a parameter without a value");
    sqlite3_bind_text64(statement->handle, ++statement->bound, value.ptr ? value.ptr : "",
                        value.len, SQLITE_STATIC, SQLITE_UTF8);
}

void statement_bytes(struct statement *statement, struct str value)
{
    require(statement->bound < sqlite3_bind_parameter_count(statement->handle),
            "the statement has a parameter without a value");
    sqlite3_bind_blob64(statement->handle, ++statement->bound, value.ptr ? value.ptr : "",
                        value.len, SQLITE_STATIC);
}

bool statement_run(struct statement *statement, struct err *err)
{
    require(statement->bound == sqlite3_bind_parameter_count(statement->handle),
            "every parameter has a value");
    int code = sqlite3_step(statement->handle);
    bool ok = code == SQLITE_DONE || database_fail(statement->database, "cannot be written", err);
    if (!ok) {
        database_note_error(statement->database, code);
    }
    sqlite3_reset(statement->handle);
    return ok;
}

bool statement_step(struct statement *statement, bool *ret_failed, struct err *err)
{
    int code = sqlite3_step(statement->handle);
    *ret_failed = false;
    if (code == SQLITE_ROW) {
        return true;
    }
    if (code != SQLITE_DONE) {
        *ret_failed = true;
        (void)database_fail(statement->database, "cannot be read", err);
    }
    sqlite3_reset(statement->handle);
    return false;
}

int64_t column_int(struct statement *statement, int column)
{
    require(column >= 0 && column < sqlite3_column_count(statement->handle),
            "the statement has this column");
    return sqlite3_column_int64(statement->handle, column);
}

struct str column_text(struct statement *statement, int column)
{
    require(column >= 0 && column < sqlite3_column_count(statement->handle),
            "the statement has this column");
    const char *bytes = sqlite3_column_blob(statement->handle, column);
    int size = sqlite3_column_bytes(statement->handle, column);
    return (struct str){bytes, bytes ? (size_t)size : 0};
}

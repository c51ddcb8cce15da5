/*
 * sim_journal.c: journals in memory, whose commits fail on demand.
 *
 * The journals are the production ones. SQLite's file system "memdb" keeps a database as long as a
 * connection to it is open, so one is kept for each journal. A commit hook is the place where disks
 * are full and processes die.
 */
#include "world.h"

#include "base/panic.h"
#include "io/xalloc.h"

#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

struct sim_journal {
    sqlite3 *database;
};

static struct sim_process *opening; /* the process that opens its journal now */

/* Not 0: the transaction is rolled back. */
static int on_commit(void *context)
{
    struct sim_process *process = context;
    struct world *world = process->world;
    bool is_full = world_now(world) < process->full_until_ms ||
                   control_fault_strikes(&world->faults, FAULT_disk_full, &world->rng);
    if (process->is_dead || is_full || sim_process_dies(process)) {
        return 1;
    }
    (void)sim_process_dies(process); /* after the commit */
    return 0;
}

static int watch_database(sqlite3 *database, char **ret_error, const void *routines)
{
    (void)ret_error;
    (void)routines;
    if (opening) {
        sqlite3_commit_hook(database, on_commit, opening);
    }
    return SQLITE_OK;
}

void sim_journals_init(void)
{
    sqlite3_initialize();
    sqlite3_vfs_register(sqlite3_vfs_find("memdb"), 1);
    sqlite3_auto_extension((void (*)(void))watch_database);
}

struct sim_journal *sim_journal_keep(struct str folder)
{
    struct sim_journal *journal = HEAP_NEW(struct sim_journal);
    char path[200];
    snprintf(path, sizeof(path), "%.*s/journal.db", STR_ARG(folder));
    if (sqlite3_open(path, &journal->database) != SQLITE_OK) {
        panic("cannot create a journal in memory");
    }
    return journal;
}

void sim_journal_drop(struct sim_journal *journal)
{
    sqlite3_close(journal->database);
    free(journal);
}

bool sim_journal_open(struct sim_process *process)
{
    struct err err;
    opening = process;
    process->journal = NULL;
    bool ok = journal_open(process->folder.ptr, "sim", &process->journal, &err);
    opening = NULL;
    return ok;
}

void sim_journal_remove_folder(const char *folder, unsigned number)
{
    static const char *const names[] = {"/lock", "/journal.db", ""};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[200];
        snprintf(path, sizeof(path), "%s/%u%s", folder, number, names[i]);
        (void)(i + 1 < ARRAY_LEN(names) ? unlink(path) : rmdir(path));
    }
}

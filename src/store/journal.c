/* journal.c: the tables of a cluster's journal, and the operations on them. */
#include "store/journal.h"

#include "base/require.h"
#include "io/file.h"
#include "io/lock.h"
#include "io/xalloc.h"
#include "store/database.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 4096, APPLICATION = 0x53686f61, VERSION = 3 };

struct journal {
    struct database *database;
    struct lock *lock; /* NULL if read-only */
};

/* Launches and outcomes are stored as text next to their numbers; the numbers are authoritative. */
static const char schema[] =
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;"
    "CREATE TABLE machine (instance INTEGER PRIMARY KEY AUTOINCREMENT,"
    " id TEXT UNIQUE NOT NULL) STRICT;"
    "CREATE TABLE instance_launch (instance INTEGER PRIMARY KEY, launch INTEGER NOT NULL,"
    " wall_ms INTEGER NOT NULL) STRICT;"
    "CREATE TABLE launch_intent (launch INTEGER PRIMARY KEY, name TEXT NOT NULL,"
    " offering INTEGER NOT NULL, count INTEGER NOT NULL, token TEXT NOT NULL,"
    " call BLOB NOT NULL, wall_ms INTEGER NOT NULL, outcome INTEGER, answer TEXT) STRICT;"
    "CREATE TABLE step_log (number INTEGER PRIMARY KEY AUTOINCREMENT,"
    " wall_ms INTEGER NOT NULL, kind INTEGER NOT NULL, text TEXT NOT NULL) STRICT;"
    "CREATE TABLE event_log (number INTEGER PRIMARY KEY, wall_ms INTEGER NOT NULL,"
    " kind TEXT NOT NULL, node TEXT NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL,"
    " launch INTEGER NOT NULL DEFAULT 0) STRICT;";

/* From a version to the next one. The numbers of existing machines and launches stay. */
static const char *const upgrades[VERSION] = {
    [1] = "CREATE TABLE IF NOT EXISTS happened (number INTEGER PRIMARY KEY,"
          " wall_ms INTEGER NOT NULL, kind TEXT NOT NULL, node TEXT NOT NULL, text TEXT NOT NULL,"
          " reason TEXT NOT NULL) STRICT;",
    [2] = "ALTER TABLE fact RENAME TO meta;"
          "ALTER TABLE launched RENAME TO instance_launch;"
          "ALTER TABLE intent RENAME TO launch_intent;"
          "ALTER TABLE history RENAME TO step_log;"
          "ALTER TABLE step_log DROP COLUMN bytes;"
          "ALTER TABLE happened RENAME TO event_log;"
          "ALTER TABLE event_log ADD COLUMN launch INTEGER NOT NULL DEFAULT 0;"
          "UPDATE event_log SET launch ="
          " (CAST(substr(text, 8, instr(text, '.') - 8) AS INTEGER) << 32)"
          " | CAST(substr(text, instr(text, '.') + 1, instr(text, ':') - instr(text, '.') - 1)"
          " AS INTEGER) WHERE kind = 'launch' AND text GLOB 'launch [0-9]*.[0-9]*:*';"
          "UPDATE meta SET name = 'sole_writer_epoch' WHERE name = 'reign';"
          "UPDATE meta SET name = 'sole_writer_since' WHERE name = 'reign_since';",
};

enum {
    SET_META,
    GET_META,
    FIND_MACHINE,
    ADD_MACHINE,
    ADOPT_MACHINE,
    ALL_MACHINES,
    DROP_MACHINE,
    DROP_LAUNCHED,
    DROP_META,
    ADD_LAUNCHED,
    ALL_LAUNCHED,
    ADD_INTENT,
    ADOPT_INTENT,
    SETTLE_INTENT,
    FIND_INTENT,
    RENUMBER_INTENTS,
    TRIM_INTENTS,
    TRIM_LAUNCHED,
    ALL_INTENTS,
    ADD_ENTRY,
    ENTRIES_AFTER,
    TRIM_ENTRIES,
    ADD_EVENT,
    EVENTS_AFTER,
    TRIM_EVENTS,
    FORGET_META,
    FORGET_MACHINES,
    FORGET_NUMBERS,
    FORGET_LAUNCHED,
    FORGET_INTENTS,
    FORGET_ENTRIES,
    FORGET_EVENTS,
    STATEMENT_COUNT,
};

#define INTENT_COLUMNS "launch, offering, count, token, call, wall_ms, outcome IS NOT NULL, outcome"

static const char *const statements[STATEMENT_COUNT + 1] = {
    [SET_META] = "INSERT INTO meta VALUES (?, ?)"
                 " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    [GET_META] = "SELECT value FROM meta WHERE name = ?",
    [FIND_MACHINE] = "SELECT instance FROM machine WHERE id = ?",
    [ADD_MACHINE] = "INSERT INTO machine (id) VALUES (?)",
    [ADOPT_MACHINE] = "INSERT OR IGNORE INTO machine VALUES (?, ?)",
    [ALL_MACHINES] = "SELECT instance, id FROM machine ORDER BY instance",
    [DROP_MACHINE] = "DELETE FROM machine WHERE instance = ?",
    [DROP_LAUNCHED] = "DELETE FROM instance_launch WHERE instance = ?",
    [DROP_META] = "DELETE FROM meta WHERE name = ?",
    [ADD_LAUNCHED] = "INSERT INTO instance_launch VALUES (?, ?, ?) ON CONFLICT (instance) DO UPDATE"
                     " SET launch = excluded.launch, wall_ms = excluded.wall_ms"
                     " WHERE excluded.launch > instance_launch.launch",
    [ALL_LAUNCHED] = "SELECT launch, instance, wall_ms FROM instance_launch ORDER BY instance",
    [ADD_INTENT] = "INSERT INTO launch_intent (launch, name, offering, count, token, call, wall_ms)"
                   " VALUES (?, ?, ?, ?, ?, ?, ?)",
    [ADOPT_INTENT] =
        "INSERT OR IGNORE INTO launch_intent (launch, name, offering, count, token, call, wall_ms)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
    [SETTLE_INTENT] = "UPDATE launch_intent SET outcome = ?, answer = ? WHERE launch = ?",
    [RENUMBER_INTENTS] = "UPDATE launch_intent SET offering = ? WHERE offering = ?",
    [TRIM_INTENTS] = "DELETE FROM launch_intent WHERE outcome IS NOT NULL AND wall_ms < ?"
                     " AND (launch & 2147483648) = 0",
    [TRIM_LAUNCHED] =
        "DELETE FROM instance_launch WHERE launch NOT IN (SELECT launch FROM launch_intent)",
    [FIND_INTENT] = "SELECT " INTENT_COLUMNS " FROM launch_intent WHERE launch = ?",
    [ALL_INTENTS] = "SELECT " INTENT_COLUMNS " FROM launch_intent ORDER BY rowid",
    [ADD_ENTRY] = "INSERT INTO step_log (wall_ms, kind, text) VALUES (?, ?, ?)",
    [ENTRIES_AFTER] = "SELECT number, wall_ms, kind, text FROM step_log WHERE number > ?"
                      " ORDER BY number",
    [TRIM_ENTRIES] = "DELETE FROM step_log WHERE number <= (SELECT max(number) FROM step_log) - ?",
    [ADD_EVENT] = "INSERT OR REPLACE INTO event_log VALUES (?, ?, ?, ?, ?, ?, ?)",
    [EVENTS_AFTER] = "SELECT number, wall_ms, kind, node, text, reason, launch FROM event_log"
                     " WHERE number > ? ORDER BY number",
    [TRIM_EVENTS] = "DELETE FROM event_log WHERE number <= (SELECT max(number) FROM event_log) - ?",
    [FORGET_META] = "DELETE FROM meta",
    [FORGET_MACHINES] = "DELETE FROM machine",
    [FORGET_NUMBERS] = "DELETE FROM sqlite_sequence",
    [FORGET_LAUNCHED] = "DELETE FROM instance_launch",
    [FORGET_INTENTS] = "DELETE FROM launch_intent",
    [FORGET_ENTRIES] = "DELETE FROM step_log",
    [FORGET_EVENTS] = "DELETE FROM event_log",
};

/* ---- opening ---- */

static bool journal_open_parts(struct journal *journal, const char *folder, const char *holder,
                               struct err *err)
{
    static const struct database_form form = {APPLICATION, VERSION, schema, upgrades, statements};
    char path[PATH_SIZE];
    if (strlen(folder) > sizeof(path) - 32) {
        return err_set(err, ERR_IO, "the path of the state directory is too long");
    }
    snprintf(path, sizeof(path), "%s/lock", folder);
    if (holder &&
        (!file_make_private_folder(folder, err) || !lock_take(path, holder, &journal->lock, err))) {
        return false;
    }
    snprintf(path, sizeof(path), "%s/journal.db", folder);
    return database_open(path, &form, holder != NULL, &journal->database, err);
}

bool journal_open(const char *folder, const char *holder, struct journal **ret_journal,
                  struct err *err)
{
    struct journal *journal = HEAP_NEW(struct journal);
    if (!journal_open_parts(journal, folder, holder, err)) {
        journal_close(journal);
        return false;
    }
    *ret_journal = journal;
    return true;
}

void journal_close(struct journal *journal)
{
    if (journal) {
        database_close(journal->database);
        lock_drop(journal->lock);
        free(journal);
    }
}

bool journal_begin(struct journal *journal, struct err *err)
{
    return database_begin(journal->database, err);
}

bool journal_commit(struct journal *journal, struct err *err)
{
    return database_commit(journal->database, err);
}

struct str journal_trouble(const struct journal *journal)
{
    return database_trouble(journal->database);
}

static bool journal_do_forget(struct journal *journal, size_t first, size_t last, struct err *err)
{
    require(first <= last && last < STATEMENT_COUNT, "the range of statements is valid");
    for (size_t which = first; which <= last; which++) {
        if (!statement_run(database_use(journal->database, which), err)) {
            return false;
        }
    }
    return true;
}

bool journal_forget(struct journal *journal, struct err *err)
{
    return journal_do_forget(journal, FORGET_META, FORGET_EVENTS, err);
}

bool journal_forget_machines(struct journal *journal, struct err *err)
{
    return journal_do_forget(journal, FORGET_MACHINES, FORGET_INTENTS, err);
}

bool journal_end(struct journal *journal, bool ok, struct err *err)
{
    if (!ok) {
        database_drop(journal->database);
    }
    return ok && journal_commit(journal, err);
}

/* ---- facts ---- */

bool journal_set(struct journal *journal, const char *name, struct str value, struct err *err)
{
    struct statement *statement = database_use(journal->database, SET_META);
    statement_text(statement, str_from(name));
    statement_text(statement, value);
    return statement_run(statement, err);
}

bool journal_get(struct journal *journal, const char *name, struct arena *arena,
                 struct str *ret_value, struct err *err)
{
    struct statement *statement = database_use(journal->database, GET_META);
    bool failed;
    struct str value = {0};
    statement_text(statement, str_from(name));
    while (statement_step(statement, &failed, err)) {
        value = arena_str(arena, column_text(statement, 0));
    }
    if (!failed) {
        *ret_value = value;
    }
    return !failed;
}

bool journal_drop(struct journal *journal, const char *name, struct err *err)
{
    struct statement *statement = database_use(journal->database, DROP_META);
    statement_text(statement, str_from(name));
    return statement_run(statement, err);
}

bool journal_set_number(struct journal *journal, const char *name, uint64_t value, struct err *err)
{
    char text[32];
    int length = snprintf(text, sizeof(text), "%" PRIu64, value);
    return journal_set(journal, name, (struct str){text, (size_t)length}, err);
}

bool journal_get_number(struct journal *journal, const char *name, uint64_t *ret_value,
                        struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct str text;
    int64_t value = 0;
    bool ok = journal_get(journal, name, &arena, &text, err) &&
              (text.len == 0 || (str_to_i64(text, &value) && value >= 0) ||
               err_set(err, ERR_INTERNAL, "the journal's %s is not a number", name));
    if (ok) {
        *ret_value = (uint64_t)value;
    }
    return ok;
}

bool journal_note(struct journal *journal, const char *name, struct str value, struct err *err)
{
    return journal_begin(journal, err) &&
           journal_end(journal, journal_set(journal, name, value, err), err);
}

/* ---- machines ---- */

static bool find_machine(struct journal *journal, struct str id, uint64_t *ret_instance,
                         struct err *err)
{
    struct statement *statement = database_use(journal->database, FIND_MACHINE);
    bool failed;
    uint64_t instance = INSTANCE_NONE;
    statement_text(statement, id);
    while (statement_step(statement, &failed, err)) {
        instance = (uint64_t)column_int(statement, 0);
    }
    *ret_instance = instance;
    return !failed;
}

bool journal_number(struct journal *journal, struct str id, uint64_t *ret_instance, struct err *err)
{
    uint64_t instance;
    if (!find_machine(journal, id, &instance, err)) {
        return false;
    }
    if (instance == INSTANCE_NONE) {
        struct statement *statement = database_use(journal->database, ADD_MACHINE);
        statement_text(statement, id);
        if (!statement_run(statement, err) || !find_machine(journal, id, &instance, err)) {
            return false;
        }
    }
    *ret_instance = instance;
    return true;
}

bool journal_adopt(struct journal *journal, uint64_t instance, struct str id, struct err *err)
{
    uint64_t known;
    struct statement *statement = database_use(journal->database, ADOPT_MACHINE);
    statement_int(statement, (int64_t)instance);
    statement_text(statement, id);
    if (!statement_run(statement, err) || !find_machine(journal, id, &known, err)) {
        return false;
    }
    return known == instance ||
           err_set(err, ERR_EXISTS, "instance %.*s is already in the journal under another number",
                   STR_ARG(str_sub(id, 0, 100)));
}

bool journal_machines(struct journal *journal, journal_machine_fn *take, void *context,
                      struct err *err)
{
    struct statement *statement = database_use(journal->database, ALL_MACHINES);
    bool failed;
    while (statement_step(statement, &failed, err)) {
        take(context, (uint64_t)column_int(statement, 0), column_text(statement, 1));
    }
    return !failed;
}

bool journal_drop_machine(struct journal *journal, uint64_t instance, struct err *err)
{
    struct statement *machine = database_use(journal->database, DROP_MACHINE);
    statement_int(machine, (int64_t)instance);
    struct statement *launched = database_use(journal->database, DROP_LAUNCHED);
    statement_int(launched, (int64_t)instance);
    return statement_run(machine, err) && statement_run(launched, err);
}

bool journal_launched(struct journal *journal, const struct journal_launched *launched,
                      struct err *err)
{
    struct statement *statement = database_use(journal->database, ADD_LAUNCHED);
    statement_int(statement, (int64_t)launched->instance);
    statement_int(statement, (int64_t)launched->launch);
    statement_int(statement, launched->wall_ms);
    return statement_run(statement, err);
}

bool journal_all_launched(struct journal *journal, journal_launched_fn *take, void *context,
                          struct err *err)
{
    struct statement *statement = database_use(journal->database, ALL_LAUNCHED);
    bool failed;
    while (statement_step(statement, &failed, err)) {
        struct journal_launched launched = {.launch = (uint64_t)column_int(statement, 0),
                                            .instance = (uint64_t)column_int(statement, 1),
                                            .wall_ms = column_int(statement, 2)};
        take(context, &launched);
    }
    return !failed;
}

/* ---- intents ---- */

static bool write_intent(struct journal *journal, size_t how, const struct journal_intent *intent,
                         struct err *err)
{
    require(how == ADD_INTENT || how == ADOPT_INTENT, "the statement adds an intent");
    char name[32];
    int length = snprintf(name, sizeof(name), "%u.%u", LAUNCH_ARG(intent->launch));
    struct statement *statement = database_use(journal->database, how);
    statement_int(statement, (int64_t)intent->launch);
    statement_text(statement, (struct str){name, (size_t)length});
    statement_int(statement, intent->offering);
    statement_int(statement, intent->count);
    statement_text(statement, intent->token);
    statement_bytes(statement, intent->call);
    statement_int(statement, intent->wall_ms);
    return statement_run(statement, err);
}

bool journal_intend(struct journal *journal, const struct journal_intent *intent, struct err *err)
{
    return write_intent(journal, ADD_INTENT, intent, err);
}

bool journal_adopt_intent(struct journal *journal, const struct journal_intent *intent,
                          struct err *err)
{
    return write_intent(journal, ADOPT_INTENT, intent, err) &&
           (!intent->is_settled || journal_settle(journal, intent->launch, intent->outcome, err));
}

bool journal_settle(struct journal *journal, uint64_t launch, enum outcome outcome, struct err *err)
{
    require(outcome < OUTCOME_COUNT, "the outcome of the launch is valid");
    struct statement *statement = database_use(journal->database, SETTLE_INTENT);
    statement_int(statement, outcome);
    statement_text(statement, str_from(outcome_text(outcome)));
    statement_int(statement, (int64_t)launch);
    return statement_run(statement, err);
}

/* Strings are valid until the next step of the statement. */
static struct journal_intent intent_in(struct statement *statement)
{
    int64_t outcome = column_int(statement, 7);
    return (struct journal_intent){
        .launch = (uint64_t)column_int(statement, 0),
        .offering = (uint32_t)column_int(statement, 1),
        .count = column_int(statement, 2),
        .token = column_text(statement, 3),
        .call = column_text(statement, 4),
        .wall_ms = column_int(statement, 5),
        .is_settled = column_int(statement, 6) != 0,
        /* An outcome added by a later version is treated as unknown. */
        .outcome = outcome >= 0 && outcome < OUTCOME_COUNT ? (enum outcome)outcome
                                                           : OUTCOME_UNKNOWN,
    };
}

bool journal_find_intent(struct journal *journal, uint64_t launch, struct arena *arena,
                         bool *ret_is_there, struct journal_intent *ret_intent, struct err *err)
{
    struct statement *statement = database_use(journal->database, FIND_INTENT);
    bool failed;
    bool is_there = false;
    statement_int(statement, (int64_t)launch);
    while (statement_step(statement, &failed, err)) {
        *ret_intent = intent_in(statement);
        ret_intent->token = arena_str(arena, ret_intent->token);
        ret_intent->call = arena_str(arena, ret_intent->call);
        is_there = true;
    }
    *ret_is_there = is_there;
    return !failed;
}

bool journal_intents(struct journal *journal, journal_intent_fn *take, void *context,
                     struct err *err)
{
    struct statement *statement = database_use(journal->database, ALL_INTENTS);
    bool failed;
    while (statement_step(statement, &failed, err)) {
        struct journal_intent intent = intent_in(statement);
        take(context, &intent);
    }
    return !failed;
}

bool journal_renumber(struct journal *journal, int64_t from, int64_t to, struct err *err)
{
    struct statement *statement = database_use(journal->database, RENUMBER_INTENTS);
    statement_int(statement, to);
    statement_int(statement, from);
    return statement_run(statement, err);
}

bool journal_trim_intents(struct journal *journal, int64_t before_wall_ms, struct err *err)
{
    struct statement *intents = database_use(journal->database, TRIM_INTENTS);
    statement_int(intents, before_wall_ms);
    return statement_run(intents, err) &&
           statement_run(database_use(journal->database, TRIM_LAUNCHED), err);
}

/* ---- history ---- */

bool journal_add(struct journal *journal, const struct journal_entry *entry, struct err *err)
{
    struct statement *statement = database_use(journal->database, ADD_ENTRY);
    statement_int(statement, entry->wall_ms);
    statement_int(statement, entry->kind);
    statement_text(statement, entry->text);
    return statement_run(statement, err);
}

bool journal_history(struct journal *journal, int64_t after, journal_entry_fn *take, void *context,
                     struct err *err)
{
    struct statement *statement = database_use(journal->database, ENTRIES_AFTER);
    bool failed;
    statement_int(statement, after);
    while (statement_step(statement, &failed, err)) {
        struct journal_entry entry = {
            .number = column_int(statement, 0),
            .wall_ms = column_int(statement, 1),
            .kind = column_int(statement, 2) == JOURNAL_ACTION ? JOURNAL_ACTION : JOURNAL_EVENT,
            .text = column_text(statement, 3),
        };
        take(context, &entry);
    }
    return !failed;
}

bool journal_trim(struct journal *journal, int64_t keep, struct err *err)
{
    struct statement *statement = database_use(journal->database, TRIM_ENTRIES);
    statement_int(statement, keep);
    return statement_run(statement, err);
}

/* ---- events ---- */

bool journal_event_add(struct journal *journal, const struct journal_event_read *happened,
                       struct err *err)
{
    struct statement *statement = database_use(journal->database, ADD_EVENT);
    statement_int(statement, happened->number);
    statement_int(statement, happened->wall_ms);
    statement_text(statement, happened->kind);
    statement_text(statement, happened->node);
    statement_text(statement, happened->text);
    statement_text(statement, happened->reason);
    statement_int(statement, (int64_t)happened->launch);
    return statement_run(statement, err);
}

bool journal_events_all(struct journal *journal, int64_t after, journal_event_fn *take,
                        void *context, struct err *err)
{
    struct statement *statement = database_use(journal->database, EVENTS_AFTER);
    bool failed;
    statement_int(statement, after);
    while (statement_step(statement, &failed, err)) {
        struct journal_event_read happened = {.number = column_int(statement, 0),
                                              .wall_ms = column_int(statement, 1),
                                              .kind = column_text(statement, 2),
                                              .node = column_text(statement, 3),
                                              .text = column_text(statement, 4),
                                              .reason = column_text(statement, 5),
                                              .launch = (uint64_t)column_int(statement, 6)};
        take(context, &happened);
    }
    return !failed;
}

bool journal_event_trim(struct journal *journal, int64_t keep, struct err *err)
{
    struct statement *statement = database_use(journal->database, TRIM_EVENTS);
    statement_int(statement, keep);
    return statement_run(statement, err);
}

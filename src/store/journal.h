/*
 * journal.h: the durable state of a cluster's controller, written before it acts.
 *
 * One folder per cluster, with one SQLite file (`journal.db`, readable with `sqlite3`). A step of
 * the controller is one transaction: its events, the core's actions and the intents of its launches
 * are committed together, before the first call is sent.
 *
 * Losing the journal loses no machine, because machines are found by their tags. It only loses the
 * record of which process requested them, and why.
 */
#pragma once

#include "base/arena.h"
#include "base/attr.h"
#include "base/err.h"
#include "base/str.h"
#include "core/action.h"
#include "core/event.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal;

/*
 * `holder` describes the writer to other processes: "shoal up, pid 4711"; NULL opens read-only. The
 * folder is created for a writer, private to this user.
 */
bool journal_open(const char *folder, const char *holder, struct journal **ret_journal,
                  struct err *err) MUST_USE;
void journal_close(struct journal *journal); /* NULL is allowed */

/* Writing requires an open transaction. */
bool journal_begin(struct journal *journal, struct err *err) MUST_USE;
bool journal_commit(struct journal *journal, struct err *err) MUST_USE;

/* Ends the transaction: commits if `ok`, otherwise rolls back and returns false. */
bool journal_end(struct journal *journal, bool ok, struct err *err) MUST_USE;

/* Why the last transaction was rolled back, for example "disk full"; empty if it was committed. */
struct str journal_trouble(const struct journal *journal);

/* Deletes everything, because a new cluster uses the name. Numbers start at 1 again. */
bool journal_forget(struct journal *journal, struct err *err) MUST_USE;
/* Deletes machines with their numbers, and launches; keeps facts and history. */
bool journal_forget_machines(struct journal *journal, struct err *err) MUST_USE;

/* ---- facts: the uid, the epoch and other settings ---- */

bool journal_set(struct journal *journal, const char *name, struct str value,
                 struct err *err) MUST_USE;
/* A NULL view if the fact does not exist. */
bool journal_get(struct journal *journal, const char *name, struct arena *arena,
                 struct str *ret_value, struct err *err) MUST_USE;

/* Does nothing if the fact does not exist. */
bool journal_drop(struct journal *journal, const char *name, struct err *err) MUST_USE;

/* Facts that are integers; a missing one is 0. */
bool journal_set_number(struct journal *journal, const char *name, uint64_t value,
                        struct err *err) MUST_USE;
bool journal_get_number(struct journal *journal, const char *name, uint64_t *ret_value,
                        struct err *err) MUST_USE;

/* Sets one fact in a transaction of its own. */
bool journal_note(struct journal *journal, const char *name, struct str value,
                  struct err *err) MUST_USE;

/* ---- machines: the core's number of a cloud id, assigned once and permanently ---- */

bool journal_number(struct journal *journal, struct str id, uint64_t *ret_instance,
                    struct err *err) MUST_USE;

/* Adds a number from another journal. Does nothing if it is already known; ERR_EXISTS if the number
 * or the id has another meaning here. */
bool journal_adopt(struct journal *journal, uint64_t instance, struct str id,
                   struct err *err) MUST_USE;

typedef void journal_machine_fn(void *context, uint64_t instance, struct str id);
bool journal_machines(struct journal *journal, journal_machine_fn *take, void *context,
                      struct err *err) MUST_USE;

/* Deletes a machine that was terminated long ago, and its launch. Its number is not reused. */
bool journal_drop_machine(struct journal *journal, uint64_t instance, struct err *err) MUST_USE;

/* The last launch that created or started a machine, as reported by the cloud. */
struct journal_launched {
    uint64_t launch;
    uint64_t instance;
    int64_t wall_ms;
};

/* Of one launch only the first report is stored. A later launch replaces an earlier one: it started
 * the machine while it was stopped. */
bool journal_launched(struct journal *journal, const struct journal_launched *launched,
                      struct err *err) MUST_USE;

typedef void journal_launched_fn(void *context, const struct journal_launched *launched);
bool journal_all_launched(struct journal *journal, journal_launched_fn *take, void *context,
                          struct err *err) MUST_USE;

/* ---- intents: launches, with the encoded call ---- */

struct journal_intent {
    uint64_t launch;
    uint32_t offering;
    int64_t count;
    struct str token;
    struct str call;      /* sent unchanged when the launch is repeated */
    int64_t wall_ms;      /* when the launch was recorded */
    bool is_settled;      /* the launch had a definite reply */
    enum outcome outcome; /* valid if settled */
};

bool journal_intend(struct journal *journal, const struct journal_intent *intent,
                    struct err *err) MUST_USE;
/* Adds an intent from another journal, with its outcome if it has one; does nothing if it is
 * known. */
bool journal_adopt_intent(struct journal *journal, const struct journal_intent *intent,
                          struct err *err) MUST_USE;
bool journal_settle(struct journal *journal, uint64_t launch, enum outcome outcome,
                    struct err *err) MUST_USE;

/* Strings live in `arena`. */
bool journal_find_intent(struct journal *journal, uint64_t launch, struct arena *arena,
                         bool *ret_is_there, struct journal_intent *ret_intent,
                         struct err *err) MUST_USE;

/* Offerings have new numbers: changes the intents of offering `from` to `to`. */
bool journal_renumber(struct journal *journal, int64_t from, int64_t to, struct err *err) MUST_USE;

/* Deletes settled intents recorded before this time, and the links to their machines; keeps those
 * of heads (launch_request.h). */
bool journal_trim_intents(struct journal *journal, int64_t before_wall_ms,
                          struct err *err) MUST_USE;

/* All intents, in order of creation. Views are valid during the call. */
typedef void journal_intent_fn(void *context, const struct journal_intent *intent);
bool journal_intents(struct journal *journal, journal_intent_fn *take, void *context,
                     struct err *err) MUST_USE;

/* ---- history: events received and actions requested ---- */

enum journal_kind { JOURNAL_EVENT, JOURNAL_ACTION };

struct journal_entry {
    int64_t number; /* increases by one */
    int64_t wall_ms;
    enum journal_kind kind;
    struct str text; /* event_text(), action_text() */
};

/* Assigns `number`. */
bool journal_add(struct journal *journal, const struct journal_entry *entry,
                 struct err *err) MUST_USE;

/* The entries after `after`, oldest first. */
typedef void journal_entry_fn(void *context, const struct journal_entry *entry);
bool journal_history(struct journal *journal, int64_t after, journal_entry_fn *take, void *context,
                     struct err *err) MUST_USE;

/* Deletes all but the newest `keep` entries; keeps intents and machines. */
bool journal_trim(struct journal *journal, int64_t keep, struct err *err) MUST_USE;

/* ---- events, as text for users ---- */

struct journal_event_read {
    int64_t number; /* assigned by the caller, one more than the last */
    int64_t wall_ms;
    struct str kind; /* "launch", "join", ... */
    struct str node; /* "worker-3"; empty if not about one node */
    struct str text, reason;
    uint64_t launch; /* 0 if not about a launch */
};

bool journal_event_add(struct journal *journal, const struct journal_event_read *happened,
                       struct err *err) MUST_USE;

/* The events after `after`, oldest first. Views are valid during the call. Writes nothing. */
typedef void journal_event_fn(void *context, const struct journal_event_read *happened);
bool journal_events_all(struct journal *journal, int64_t after, journal_event_fn *take,
                        void *context, struct err *err) MUST_USE;

/* Deletes all but the newest `keep`. */
bool journal_event_trim(struct journal *journal, int64_t keep, struct err *err) MUST_USE;

/*
 * journal.h: what a cluster's controller knows and must not forget, on disk before it acts.
 *
 * One folder per cluster, one SQLite file in it (`journal.db`, for the curious: `sqlite3` shows it
 * in words). A step of the controller is one transaction: what it heard, what the core asked for
 * and the intents of its launches, all of it or nothing, on disk before the first call is made.
 *
 * Everything here can be lost without losing a machine: those are found by their tags. What would
 * be lost is who asked for them and why.
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
 * `holder` is who writes, for whoever else would: "shoal up, pid 4711"; NULL only reads. The folder
 * is made for a writer, private to this user.
 */
bool journal_open(const char *folder, const char *holder, struct journal **ret_journal,
                  struct err *err) MUST_USE;
void journal_close(struct journal *journal); /* NULL is fine */

/* Writing is only possible between the two. */
bool journal_begin(struct journal *journal, struct err *err) MUST_USE;
bool journal_commit(struct journal *journal, struct err *err) MUST_USE;

/* The end of what was begun, whether it went well so far or not: kept if `ok`, else dropped, and
 * false. */
bool journal_end(struct journal *journal, bool ok, struct err *err) MUST_USE;

/* Everything: another cluster has the name now. Numbers begin at 1 again. */
bool journal_forget(struct journal *journal, struct err *err) MUST_USE;
/* Machines with their numbers, and launches; facts and history stay. */
bool journal_forget_machines(struct journal *journal, struct err *err) MUST_USE;

/* ---- facts: the uid, the epoch, what was agreed on ---- */

bool journal_set(struct journal *journal, const char *name, struct str value,
                 struct err *err) MUST_USE;
/* A view with a NULL pointer when there is none. */
bool journal_get(struct journal *journal, const char *name, struct arena *arena,
                 struct str *ret_value, struct err *err) MUST_USE;

/* Whole numbers among them; one that is not there is 0. */
bool journal_set_number(struct journal *journal, const char *name, uint64_t value,
                        struct err *err) MUST_USE;
bool journal_get_number(struct journal *journal, const char *name, uint64_t *ret_value,
                        struct err *err) MUST_USE;

/* One fact in a transaction of its own. */
bool journal_note(struct journal *journal, const char *name, struct str value,
                  struct err *err) MUST_USE;

/* ---- machines: the core's number for a cloud's id, given once and for ever ---- */

bool journal_number(struct journal *journal, struct str id, uint64_t *ret_instance,
                    struct err *err) MUST_USE;

/* A number that another journal gave; nothing when it is known already, ERR_EXISTS when the number
 * or the id stands for something else here. */
bool journal_adopt(struct journal *journal, uint64_t instance, struct str id,
                   struct err *err) MUST_USE;

typedef void journal_machine_fn(void *context, uint64_t instance, struct str id);
bool journal_machines(struct journal *journal, journal_machine_fn *take, void *context,
                      struct err *err) MUST_USE;

/* Which launch a machine came from, as the cloud answered it. */
struct journal_launched {
    uint64_t launch;
    uint64_t instance;
    int64_t wall_ms;
};

/* The first answer counts. */
bool journal_launched(struct journal *journal, const struct journal_launched *launched,
                      struct err *err) MUST_USE;

typedef void journal_launched_fn(void *context, const struct journal_launched *launched);
bool journal_all_launched(struct journal *journal, journal_launched_fn *take, void *context,
                          struct err *err) MUST_USE;

/* ---- intents: launches, with the bytes of their call ---- */

struct journal_intent {
    uint64_t launch;
    uint32_t offering;
    int64_t count;
    struct str token;
    struct str call;      /* what is sent, so that sending it again is the same launch */
    int64_t wall_ms;      /* when it was written down */
    bool is_settled;      /* there was a definite answer */
    enum outcome outcome; /* then */
};

bool journal_intend(struct journal *journal, const struct journal_intent *intent,
                    struct err *err) MUST_USE;
/* The same for one of another journal, with its answer if it has one; again: nothing. */
bool journal_adopt_intent(struct journal *journal, const struct journal_intent *intent,
                          struct err *err) MUST_USE;
bool journal_settle(struct journal *journal, uint64_t launch, enum outcome outcome,
                    struct err *err) MUST_USE;

/* Its texts live in `arena`. */
bool journal_find_intent(struct journal *journal, uint64_t launch, struct arena *arena,
                         bool *ret_is_there, struct journal_intent *ret_intent,
                         struct err *err) MUST_USE;

/* The numbers of offerings mean others now: intents of `from` become those of `to`. */
bool journal_renumber(struct journal *journal, int64_t from, int64_t to, struct err *err) MUST_USE;

/* Forgets settled ones that were written down before, and which machines came from them; the
 * heads' (launch_compose.h) stay. */
bool journal_trim_intents(struct journal *journal, int64_t before_wall_ms,
                          struct err *err) MUST_USE;

/* All, in the order in which they were made. Views are valid during the call. */
typedef void journal_intent_fn(void *context, const struct journal_intent *intent);
bool journal_intents(struct journal *journal, journal_intent_fn *take, void *context,
                     struct err *err) MUST_USE;

/* ---- history: what was heard and what was asked for ---- */

enum journal_kind { JOURNAL_EVENT, JOURNAL_ACTION };

struct journal_entry {
    int64_t number; /* grows by one */
    int64_t wall_ms;
    enum journal_kind kind;
    struct str text;  /* for people */
    struct str bytes; /* event_decode() or action_decode() */
};

/* `number` is given here. */
bool journal_add(struct journal *journal, const struct journal_entry *entry,
                 struct err *err) MUST_USE;

/* Those behind `after`, oldest first. */
typedef void journal_entry_fn(void *context, const struct journal_entry *entry);
bool journal_history(struct journal *journal, int64_t after, journal_entry_fn *take, void *context,
                     struct err *err) MUST_USE;

/* Forgets all but the newest `keep` entries; intents and machines stay. */
bool journal_trim(struct journal *journal, int64_t keep, struct err *err) MUST_USE;

/* ---- what has happened, in words for people ---- */

struct journal_happened {
    int64_t number; /* the caller's, one more than the last */
    int64_t wall_ms;
    struct str kind; /* "launch", "join", ... */
    struct str node; /* "worker-3"; empty: none in particular */
    struct str text, reason;
};

bool journal_happen(struct journal *journal, const struct journal_happened *happened,
                    struct err *err) MUST_USE;

/* Those behind `after`, oldest first. Views are valid during the call, which writes nothing. */
typedef void journal_happened_fn(void *context, const struct journal_happened *happened);
bool journal_all_happened(struct journal *journal, int64_t after, journal_happened_fn *take,
                          void *context, struct err *err) MUST_USE;

/* Forgets all but the newest `keep`. */
bool journal_trim_happened(struct journal *journal, int64_t keep, struct err *err) MUST_USE;

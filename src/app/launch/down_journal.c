/* down_journal.c: reads what this machine's journal records about the cluster to delete. */
#include "app/launch/down_internal.h"

static void down_journal_take_intent(void *context, const struct journal_intent *intent)
{
    struct down *down = context;
    ARENA_PUSH(down->launch.arena, down->launches, down->launch_count,
               down->launch_capacity) = (struct ending_launch){.launch = intent->launch,
                                                               .wall_ms = intent->wall_ms,
                                                               .count = intent->count,
                                                               .is_settled = intent->is_settled,
                                                               .outcome = intent->outcome};
}

struct down_journal_numbered {
    struct down *down;
    struct str *ids; /* indexed by number */
    uint64_t count;
};

static void count_machine(void *context, uint64_t instance, struct str id)
{
    struct down_journal_numbered *numbered = context;
    (void)id;
    numbered->count = instance >= numbered->count ? instance + 1 : numbered->count;
}

static void down_journal_take_machine(void *context, uint64_t instance, struct str id)
{
    struct down_journal_numbered *numbered = context;
    struct down *down = numbered->down;
    if (instance < numbered->count) {
        numbered->ids[instance] = arena_str(down->launch.arena, id);
    }
    if (instance == HEAD_INSTANCE) {
        return; /* the head's id is the placeholder "head" */
    }
    struct down_node *node = down_know(down, id);
    node->name = arena_printf(down->launch.arena, "worker-%u",
                              (unsigned)(instance - HEAD_INSTANCE));
    down->highest = instance > down->highest ? instance : down->highest;
}

static void down_journal_take_launched(void *context, const struct journal_launched *launched)
{
    struct down_journal_numbered *numbered = context;
    struct down *down = numbered->down;
    for (size_t i = 0; i < down->launch_count; i++) {
        down->launches[i].known += down->launches[i].launch == launched->launch;
    }
    if (launched->instance < numbered->count && numbered->ids[launched->instance].len > 0) {
        struct down_node *node = down_know(down, numbered->ids[launched->instance]);
        node->launch = launched->launch;
        node->launched_ms = launched->wall_ms;
    }
}

static bool down_journal_read_all(struct down *down, struct err *err)
{
    struct journal *journal = down->launch.journal;
    struct down_journal_numbered numbered = {.down = down};
    struct arena *arena = down->launch.arena;
    if (!journal_get(journal, "uid", arena, &down->journal_uid, err) ||
        !journal_get(journal, "holders", arena, &down->holders, err) ||
        !journal_intents(journal, down_journal_take_intent, down, err) ||
        !journal_machines(journal, count_machine, &numbered, err)) {
        return false;
    }
    enum { NUMBERS_MAX = 10 * 1000 * 1000 };
    if (numbered.count > NUMBERS_MAX) {
        return err_set(err, ERR_IO, "the journal lists %llu instances, which is too many",
                       (unsigned long long)numbered.count);
    }
    numbered.ids = ARENA_ARRAY(arena, numbered.count + 1, struct str);
    return journal_machines(journal, down_journal_take_machine, &numbered, err) &&
           journal_all_launched(journal, down_journal_take_launched, &numbered, err);
}

void down_read_past(struct down *down)
{
    struct err err;
    down->highest = HEAD_INSTANCE;
    if (!down->launch.journal) {
        return;
    }
    if (!down_journal_read_all(down, &err)) {
        launch_note(&down->launch,
                    "the journal of this cluster cannot be read (%s); continuing without it",
                    err.text);
        down->journal_uid = STR("");
        return;
    }
    down->has_journal_uid = down->journal_uid.len > 0;
    down->has_no_past = !down->has_journal_uid && down->launch_count == 0;
}

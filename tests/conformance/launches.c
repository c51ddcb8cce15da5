/*
 * launches.c: many launches by a program that may be killed at any moment, with a journal of what
 * it was about to do. What the journal and the cloud say in the end must be the same.
 *
 * A line of the journal, on disk before anything that follows from it:
 *     D LAUNCH COUNT TOKEN CALL     is about to be made
 *     R LAUNCH ID ID ...            what came of it
 *     X LAUNCH OUTCOME              it was refused, for certain
 */
#include "conform.h"

#include "base/panic.h"
#include "io/file.h"
#include "provider/launch_token.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { AT_ONCE = 6, LEASE_MS = 900 * 1000, JOURNAL_BYTES_MAX = 64 * 1024 * 1024 };

struct entry {
    uint64_t launch;
    int64_t count;
    struct str call;
    size_t came;
    bool is_settled;
    bool is_under_way;
};

struct flight {
    struct work *work;
    size_t entry;
    bool is_used;
    struct str call; /* under way */
};

struct work {
    const struct options *options;
    struct cloud cloud;
    struct provider *provider;
    struct str uid;
    uint64_t epoch;
    uint32_t launches;
    int journal;
    struct entry *entries;
    size_t count, capacity;
    size_t open;  /* not settled yet */
    int64_t came; /* machines of all settled launches */
    struct flight flights[AT_ONCE];
    struct rng rng;
    uint64_t unknowns;
    bool is_broken;
};

/* ---- the journal ---- */

static void write_line(struct work *work, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void write_line(struct work *work, const char *fmt, ...)
{
    AUTO_BUF struct buf line;
    va_list args;
    buf_init(&line, 1024 * 1024);
    va_start(args, fmt);
    buf_add_args(&line, fmt, args);
    va_end(args);
    buf_add_char(&line, '\n');
    if (write(work->journal, line.ptr, line.len) != (ssize_t)line.len ||
        fsync(work->journal) != 0) {
        panic("the journal cannot be written");
    }
}

static struct entry *add_entry(struct work *work, uint64_t launch, int64_t count, struct str call)
{
    ARENA_GROW(&work->cloud.arena, work->entries, work->count, work->capacity);
    work->entries[work->count] = (struct entry){.launch = launch, .count = count, .call = call};
    work->open++;
    return &work->entries[work->count++];
}

static struct entry *find_entry(struct work *work, uint64_t launch)
{
    for (size_t i = work->count; i-- > 0;) {
        if (work->entries[i].launch == launch) {
            return &work->entries[i];
        }
    }
    panic("an answer to a launch that nobody has written down");
}

static void settle(struct work *work, struct entry *entry, size_t came)
{
    if (!entry->is_settled) {
        entry->is_settled = true;
        entry->came = came;
        work->open--;
        work->came += (int64_t)came;
    }
}

static void read_line(struct work *work, struct str line)
{
    struct str rest = line;
    struct str kind = str_cut(&rest, ' ');
    int64_t launch = 0;
    int64_t count = 0;
    if (!str_to_i64(str_cut(&rest, ' '), &launch)) {
        return;
    }
    if (str_is(kind, "D") && str_to_i64(str_cut(&rest, ' '), &count)) {
        (void)str_cut(&rest, ' ');
        (void)add_entry(work, (uint64_t)launch, count, arena_str(&work->cloud.arena, rest));
        return;
    }
    size_t ids = 0;
    while (str_is(kind, "R") && rest.len > 0) {
        ids += str_cut(&rest, ' ').len > 0;
    }
    settle(work, find_entry(work, (uint64_t)launch), ids);
}

/* A last line without its end was not on disk when we were killed: what it says did not happen. */
static void read_journal(struct work *work)
{
    AUTO_BUF struct buf text;
    struct err err;
    buf_init(&text, JOURNAL_BYTES_MAX);
    if (file_stat(work->options->journal).kind == FILE_REGULAR &&
        !file_read(work->options->journal, &text, &err)) {
        panic("%s", err.text);
    }
    struct str rest = buf_str(&text);
    size_t whole = 0;
    while (str_find_char(rest, '\n') != SIZE_MAX) {
        struct str line = str_cut(&rest, '\n');
        whole += line.len + 1;
        read_line(work, line);
    }
    work->journal = open(work->options->journal, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (work->journal < 0 || ftruncate(work->journal, (off_t)whole) != 0 ||
        lseek(work->journal, 0, SEEK_END) < 0) {
        panic("the journal cannot be opened");
    }
}

/* ---- launches ---- */

static void on_launch(void *context, const struct provider_answer *answer,
                      const struct machine *machines, size_t count)
{
    struct flight *flight = context;
    struct work *work = flight->work;
    struct entry *entry = &work->entries[flight->entry];
    flight->is_used = entry->is_under_way = false;
    loop_stop(work->cloud.loop);
    if (answer->outcome == OUTCOME_UNKNOWN || answer->outcome == OUTCOME_THROTTLED) {
        work->unknowns++;
        return; /* still open: it is made again */
    }
    if (answer->outcome != OUTCOME_DONE) {
        write_line(work, "X %" PRIu64 " %d", entry->launch, (int)answer->outcome);
        work->is_broken = work->is_broken || answer->outcome == OUTCOME_MISMATCH;
        settle(work, entry, 0);
        return;
    }
    AUTO_BUF struct buf ids;
    buf_init(&ids, 64 * 1024);
    for (size_t i = 0; i < count; i++) {
        buf_addf(&ids, " %.*s", STR_ARG(machines[i].id));
    }
    write_line(work, "R %" PRIu64 "%.*s", entry->launch, STR_ARG(buf_str(&ids)));
    settle(work, entry, count);
    work->is_broken = work->is_broken || count > (size_t)entry->count;
}

static void start_entry(struct work *work, struct flight *flight, size_t entry)
{
    *flight = (struct flight){.work = work, .entry = entry, .is_used = true};
    work->entries[entry].is_under_way = true;
    work->provider->ops->launch(work->provider, work->entries[entry].call, on_launch, flight);
}

/* The oldest that is open and not under way; SIZE_MAX: none. */
static size_t find_open(const struct work *work)
{
    for (size_t i = 0; i < work->count && work->open > 0; i++) {
        if (!work->entries[i].is_settled && !work->entries[i].is_under_way) {
            return i;
        }
    }
    return SIZE_MAX;
}

static void draft_next(struct work *work)
{
    uint64_t launch = work->epoch << 32 | ++work->launches;
    int64_t count = rng_between(&work->rng, 1, work->options->most);
    const char *zone = work->options->zones[rng_below(&work->rng, 2)];
    enum market market = rng_chance(&work->rng, 500) ? MARKET_SPOT : MARKET_ON_DEMAND;
    struct str call = make_draft(&work->cloud, work->provider, TYPE_WORKER, zone, market, count,
                                 work->uid, launch);
    struct str token = launch_token(work->uid, launch, &work->cloud.arena);
    write_line(work, "D %" PRIu64 " %" PRId64 " %.*s %.*s", launch, count, STR_ARG(token),
               STR_ARG(call));
    (void)add_entry(work, launch, count, call);
}

/* What is asked for and not settled counts as had: never more than wanted. */
static int64_t expected(const struct work *work)
{
    int64_t sum = work->came;
    for (size_t i = 0; i < work->count; i++) {
        sum += work->entries[i].is_settled ? 0 : work->entries[i].count;
    }
    return sum;
}

static void launch_all(struct work *work)
{
    for (;;) {
        bool is_busy = false;
        for (size_t i = 0; i < AT_ONCE; i++) {
            struct flight *flight = &work->flights[i];
            if (!flight->is_used && expected(work) < work->options->count &&
                find_open(work) == SIZE_MAX) {
                draft_next(work);
            }
            size_t open = flight->is_used ? SIZE_MAX : find_open(work);
            if (open != SIZE_MAX) {
                start_entry(work, flight, open);
            }
            is_busy = is_busy || flight->is_used;
        }
        if (!is_busy) {
            return;
        }
        loop_run(work->cloud.loop);
    }
}

/* ---- the program ---- */

static void begin(struct work *work)
{
    struct cloud *cloud = &work->cloud;
    struct told told = do_preflight(cloud, work->provider);
    if (told.outcome != OUTCOME_DONE) {
        panic("%s", told.err.text);
    }
    told = do_take(cloud, work->provider, work->options->holder, LEASE_MS, 0);
    if (told.outcome == OUTCOME_MISMATCH) {
        /* The one who has it was killed: that is us. */
        told = do_take(cloud, work->provider, work->options->holder, LEASE_MS, told.lease.epoch);
    }
    if (told.outcome != OUTCOME_DONE) {
        panic("%s", told.err.text);
    }
    work->uid = told.lease.uid;
    work->epoch = told.lease.epoch;
    told = do_prepare(cloud, work->provider, work->options->key);
    if (told.outcome != OUTCOME_DONE) {
        panic("%s", told.err.text);
    }
}

int run_launches(const struct options *options)
{
    struct work work = {.options = options, .rng = {options->seed}};
    cloud_open(&work.cloud, options);
    work.provider = cloud_provider(&work.cloud, options);
    read_journal(&work);
    size_t found_open = work.open;
    begin(&work);
    launch_all(&work);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("{\"uid\": \"%.*s\", \"calls\": %zu, \"machines\": %" PRId64
           ", \"found_open\": %zu, \"unknown\": %" PRIu64
           ", \"open\": %zu, \"broken\": %s, \"peak_kb\": %ld}\n",
           STR_ARG(work.uid), work.count, work.came, found_open, work.unknowns, work.open,
           work.is_broken ? "true" : "false", used.ru_maxrss);
    close(work.journal);
    work.provider->ops->close(work.provider);
    cloud_close(&work.cloud);
    return work.is_broken || work.open > 0;
}

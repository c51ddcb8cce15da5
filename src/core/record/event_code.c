/* event_code.c: encodes events. Each kind has its writer, followed by its reader. */
#include "core/event.h"

#include "core/record/frame.h"
#include "core/record/load_code.h"

#include <string.h>

enum {
    GOAL_COUNT = GOAL_DOWN + 1,
    LISTED_BYTES = 6, /* minimal size of one */
};

static void put_nothing(struct byte_writer *writer, const struct event *event)
{
    (void)writer;
    (void)event;
}

static void take_nothing(struct byte_reader *reader, struct event *event)
{
    (void)reader;
    (void)event;
}

static void put_goal(struct byte_writer *writer, const struct event *event)
{
    bytes_put_enum(writer, event->goal, GOAL_COUNT);
}

static void take_goal(struct byte_reader *reader, struct event *event)
{
    event->goal = (enum goal)bytes_take_enum(reader, GOAL_COUNT);
}

static void put_lease(struct byte_writer *writer, const struct event *event)
{
    bytes_put_u64(writer, event->lease.epoch);
    bytes_put_i64(writer, event->lease.until);
}

static void take_lease(struct byte_reader *reader, struct event *event)
{
    event->lease.epoch = bytes_take_u64(reader);
    event->lease.until = bytes_take_i64(reader);
}

static void put_intent(struct byte_writer *writer, const struct event *event)
{
    bytes_put_u64(writer, event->intent.launch);
    bytes_put_u64(writer, event->intent.offering);
    bytes_put_i64(writer, event->intent.count);
}

static void event_code_take_intent(struct byte_reader *reader, struct event *event)
{
    event->intent.launch = bytes_take_u64(reader);
    event->intent.offering = bytes_take_u32(reader);
    event->intent.count = bytes_take_i64(reader);
}

static void put_launched(struct byte_writer *writer, const struct event *event)
{
    bytes_put_u64(writer, event->launched.launch);
    bytes_put_u64(writer, event->launched.instance);
}

static void event_code_take_launched(struct byte_reader *reader, struct event *event)
{
    event->launched.launch = bytes_take_u64(reader);
    event->launched.instance = bytes_take_u64(reader);
}

static void put_launch_reply(struct byte_writer *writer, const struct event *event)
{
    bytes_put_u64(writer, event->launch_reply.launch);
    bytes_put_enum(writer, event->launch_reply.outcome, OUTCOME_COUNT);
}

static void take_launch_reply(struct byte_reader *reader, struct event *event)
{
    event->launch_reply.launch = bytes_take_u64(reader);
    event->launch_reply.outcome = (enum outcome)bytes_take_enum(reader, OUTCOME_COUNT);
}

static void put_records_end(struct byte_writer *writer, const struct event *event)
{
    bytes_put_u64(writer, event->records.sole_writer_epoch);
    bytes_put_i64(writer, event->records.since);
}

static void take_records_end(struct byte_reader *reader, struct event *event)
{
    event->records.sole_writer_epoch = bytes_take_u64(reader);
    event->records.since = bytes_take_i64(reader);
}

static void put_asked_at(struct byte_writer *writer, const struct event *event)
{
    bytes_put_i64(writer, event->asked_at);
}

static void take_asked_at(struct byte_reader *reader, struct event *event)
{
    event->asked_at = bytes_take_i64(reader);
}

static void put_listing(struct byte_writer *writer, const struct listing *listing)
{
    bytes_put_i64(writer, listing->asked_at);
    bytes_put_bool(writer, listing->is_complete);
    bytes_put_count(writer, listing->count, RECORD_LISTED_MAX);
    for (size_t i = 0; !writer->is_bad && i < listing->count; i++) {
        const struct listed *listed = &listing->items[i];
        bytes_put_u64(writer, listed->instance);
        bytes_put_u64(writer, listed->launch);
        bytes_put_u64(writer, listed->offering);
        bytes_put_enum(writer, listed->state, CLOUD_STATE_COUNT);
        bytes_put_bool(writer, listed->is_outdated);
        bytes_put_i64(writer, listed->price);
    }
}

static void take_listing(struct byte_reader *reader, struct arena *arena, struct listing *listing)
{
    listing->asked_at = bytes_take_i64(reader);
    listing->is_complete = bytes_take_bool(reader);
    listing->count = bytes_take_count(reader, RECORD_LISTED_MAX, LISTED_BYTES);
    struct listed *items = NULL;
    if (listing->count > 0) {
        items = ARENA_ARRAY(arena, listing->count, struct listed);
    }
    for (size_t i = 0; i < listing->count && !reader->is_bad; i++) {
        items[i].instance = bytes_take_u64(reader);
        items[i].launch = bytes_take_u64(reader);
        items[i].offering = bytes_take_u32(reader);
        items[i].state = (enum cloud_state)bytes_take_enum(reader, CLOUD_STATE_COUNT);
        items[i].is_outdated = bytes_take_bool(reader);
        items[i].price = bytes_take_i64(reader);
    }
    listing->items = items;
}

static void put_terminate_reply(struct byte_writer *writer, const struct event *event)
{
    bytes_put_u64(writer, event->terminate_reply.instance);
    bytes_put_enum(writer, event->terminate_reply.outcome, OUTCOME_COUNT);
}

static void take_terminate_reply(struct byte_reader *reader, struct event *event)
{
    event->terminate_reply.instance = bytes_take_u64(reader);
    event->terminate_reply.outcome = (enum outcome)bytes_take_enum(reader, OUTCOME_COUNT);
}

static void put_setup_reply(struct byte_writer *writer, const struct event *event)
{
    bytes_put_u64(writer, event->setup_reply.instance);
    bytes_put_enum(writer, event->setup_reply.news, SETUP_NEWS_COUNT);
}

static void take_setup_reply(struct byte_reader *reader, struct event *event)
{
    event->setup_reply.instance = bytes_take_u64(reader);
    event->setup_reply.news = (enum setup_news)bytes_take_enum(reader, SETUP_NEWS_COUNT);
}

static void put_drain_reply(struct byte_writer *writer, const struct event *event)
{
    bytes_put_u64(writer, event->drain_reply.instance);
    bytes_put_enum(writer, event->drain_reply.answer, DRAIN_ANSWER_COUNT);
}

static void take_drain_reply(struct byte_reader *reader, struct event *event)
{
    event->drain_reply.instance = bytes_take_u64(reader);
    event->drain_reply.answer = (enum drain_answer)bytes_take_enum(reader, DRAIN_ANSWER_COUNT);
}

static void put_notice(struct byte_writer *writer, const struct event *event)
{
    bytes_put_u64(writer, event->notice.instance);
    bytes_put_i64(writer, event->notice.until);
}

static void event_code_take_notice(struct byte_reader *reader, struct event *event)
{
    event->notice.instance = bytes_take_u64(reader);
    event->notice.until = bytes_take_i64(reader);
}

/* The kinds without arrays. Those of Ray's view need an arena and are in load_code.c. */
struct event_code_form {
    void (*put)(struct byte_writer *writer, const struct event *event);
    void (*take)(struct byte_reader *reader, struct event *event);
};

static const struct event_code_form forms[EVENT_KIND_COUNT] = {
    [EVENT_START] = {put_nothing, take_nothing},
    [EVENT_GOAL] = {put_goal, take_goal},
    [EVENT_LEASE] = {put_lease, take_lease},
    [EVENT_INTENT] = {put_intent, event_code_take_intent},
    [EVENT_LAUNCHED] = {put_launched, event_code_take_launched},
    [EVENT_LAUNCH_REPLY] = {put_launch_reply, take_launch_reply},
    [EVENT_RECORDS_END] = {put_records_end, take_records_end},
    [EVENT_TERMINATE_REPLY] = {put_terminate_reply, take_terminate_reply},
    [EVENT_SETUP_REPLY] = {put_setup_reply, take_setup_reply},
    [EVENT_DRAIN_REPLY] = {put_drain_reply, take_drain_reply},
    [EVENT_NOTICE] = {put_notice, event_code_take_notice},
    [EVENT_RAY_SEEN] = {put_asked_at, take_asked_at},
    [EVENT_TICK] = {put_nothing, take_nothing},
    [EVENT_RAY_RESTARTED] = {put_nothing, take_nothing},
};

struct str event_encode(const struct event *event, struct arena *arena)
{
    struct byte_writer writer;
    frame_begin(&writer, arena);
    bytes_put_enum(&writer, event->kind, EVENT_KIND_COUNT);
    bytes_put_i64(&writer, event->at);
    if (event->kind == EVENT_RAY_NODE) {
        ray_node_put(&writer, &event->ray_node);
    } else if (event->kind == EVENT_RAY_LOAD) {
        ray_load_put(&writer, &event->ray_load);
    } else if (event->kind == EVENT_LISTING) {
        put_listing(&writer, &event->listing);
    } else if (!writer.is_bad) {
        forms[event->kind].put(&writer, event);
    }
    return frame_end(&writer, RECORD_EVENT);
}

static bool event_code_decode_body(struct str body, struct arena *arena, struct event *ret_event)
{
    struct byte_reader reader;
    bytes_read(&reader, body);
    /* Clears the whole union, so that events can be compared with memcmp(). */
    memset(ret_event, 0, sizeof(*ret_event));
    ret_event->kind = (enum event_kind)bytes_take_enum(&reader, EVENT_KIND_COUNT);
    ret_event->at = bytes_take_i64(&reader);
    if (ret_event->kind == EVENT_RAY_NODE) {
        ray_node_take(&reader, arena, &ret_event->ray_node);
    } else if (ret_event->kind == EVENT_RAY_LOAD) {
        ray_load_take(&reader, arena, &ret_event->ray_load);
    } else if (ret_event->kind == EVENT_LISTING) {
        take_listing(&reader, arena, &ret_event->listing);
    } else {
        forms[ret_event->kind].take(&reader, ret_event);
    }
    return !reader.is_bad && reader.len == 0;
}

bool event_decode(struct str *bytes, struct arena *arena, struct event *ret_event)
{
    struct str rest = *bytes;
    struct str body;
    if (!frame_open(&rest, RECORD_EVENT, &body)) {
        return false;
    }
    if (frame_kind(body) >= EVENT_KIND_COUNT) {
        *bytes = rest;
        return false;
    }
    if (!event_code_decode_body(body, arena, ret_event)) {
        return false;
    }
    *bytes = rest;
    return true;
}

/* instance_reply.c: follows a table of known elements and skips all others. */
#include "provider/aws/machines/instance_reply.h"

#include "base/buf.h"
#include "base/panic.h"
#include "base/require.h"
#include "provider/aws/wire/xml_scan.h"
#include "provider/aws_time.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES_MAX = 64 * 1024, TAGS_MAX = 512 };

/* Positions in a reply. Leaves are positions whose text is used. */
enum place {
    PLACE_NONE, /* as a row: end of the table */
    AT_TOP,     /* before the root element */
    AT_ROOT_LISTED,
    AT_ROOT_LAUNCHED,
    AT_ROOT_CHANGED,
    AT_RESERVATIONS,
    AT_RESERVATION,
    AT_INSTANCES,
    AT_INSTANCE,
    AT_CHANGES,
    AT_CHANGE,
    AT_STATE,
    AT_REASON,
    AT_PLACEMENT,
    AT_TAGS,
    AT_TAG,
    /* leaves */
    LEAF_ID,
    LEAF_TYPE,
    LEAF_ZONE,
    LEAF_IMAGE,
    LEAF_SUBNET,
    LEAF_PRIVATE_IP,
    LEAF_PUBLIC_IP,
    LEAF_REASON_CODE,
    LEAF_REASON_TEXT,
    LEAF_CLIENT_TOKEN,
    LEAF_LAUNCH_TIME,
    LEAF_LIFECYCLE,
    LEAF_STATE,
    LEAF_TAG_KEY,
    LEAF_TAG_VALUE,
    LEAF_NEXT_TOKEN,
    PLACE_COUNT
};

struct instance_reply_row {
    enum place parent;
    struct str name;
    enum place place;
};

static const struct instance_reply_row rows[] = {
    {AT_TOP, {"DescribeInstancesResponse", 25}, AT_ROOT_LISTED},
    {AT_TOP, {"RunInstancesResponse", 20}, AT_ROOT_LAUNCHED},
    {AT_TOP, {"TerminateInstancesResponse", 26}, AT_ROOT_CHANGED},
    {AT_TOP, {"StopInstancesResponse", 21}, AT_ROOT_CHANGED},
    {AT_TOP, {"StartInstancesResponse", 22}, AT_ROOT_CHANGED},
    {AT_ROOT_LISTED, {"reservationSet", 14}, AT_RESERVATIONS},
    {AT_ROOT_LISTED, {"nextToken", 9}, LEAF_NEXT_TOKEN},
    {AT_ROOT_LAUNCHED, {"instancesSet", 12}, AT_INSTANCES},
    {AT_ROOT_CHANGED, {"instancesSet", 12}, AT_CHANGES},
    {AT_RESERVATIONS, {"item", 4}, AT_RESERVATION},
    {AT_RESERVATION, {"instancesSet", 12}, AT_INSTANCES},
    {AT_INSTANCES, {"item", 4}, AT_INSTANCE},
    {AT_INSTANCE, {"instanceId", 10}, LEAF_ID},
    {AT_INSTANCE, {"imageId", 7}, LEAF_IMAGE},
    {AT_INSTANCE, {"instanceState", 13}, AT_STATE},
    {AT_INSTANCE, {"clientToken", 11}, LEAF_CLIENT_TOKEN},
    {AT_INSTANCE, {"instanceType", 12}, LEAF_TYPE},
    {AT_INSTANCE, {"launchTime", 10}, LEAF_LAUNCH_TIME},
    {AT_INSTANCE, {"placement", 9}, AT_PLACEMENT},
    {AT_INSTANCE, {"subnetId", 8}, LEAF_SUBNET},
    {AT_INSTANCE, {"privateIpAddress", 16}, LEAF_PRIVATE_IP},
    {AT_INSTANCE, {"ipAddress", 9}, LEAF_PUBLIC_IP},
    {AT_INSTANCE, {"stateReason", 11}, AT_REASON},
    {AT_INSTANCE, {"instanceLifecycle", 17}, LEAF_LIFECYCLE},
    {AT_INSTANCE, {"tagSet", 6}, AT_TAGS},
    {AT_CHANGES, {"item", 4}, AT_CHANGE},
    {AT_CHANGE, {"instanceId", 10}, LEAF_ID},
    {AT_CHANGE, {"currentState", 12}, AT_STATE},
    {AT_STATE, {"name", 4}, LEAF_STATE},
    {AT_REASON, {"code", 4}, LEAF_REASON_CODE},
    {AT_REASON, {"message", 7}, LEAF_REASON_TEXT},
    {AT_PLACEMENT, {"availabilityZone", 16}, LEAF_ZONE},
    {AT_TAGS, {"item", 4}, AT_TAG},
    {AT_TAG, {"key", 3}, LEAF_TAG_KEY},
    {AT_TAG, {"value", 5}, LEAF_TAG_VALUE},
    {PLACE_NONE, {"", 0}, PLACE_NONE},
};

struct instance_reply {
    struct xml_scan *xml;
    struct arena *arena;
    const char *const *tag_prefixes;
    enum place wanted_root;
    uint8_t first_row[PLACE_COUNT]; /* first row of each parent in `rows` */
    enum place path[XML_REPLY_DEPTH_MAX + 2];
    size_t depth;
    size_t unknown_depth; /* nesting depth inside an unknown element; 0: none */
    struct buf text;
    struct instance_list list;
    size_t capacity;
    struct instance_record record;   /* current record */
    struct instance_record previous; /* previous record, whose strings may be shared */
    struct instance_tag tags[TAGS_MAX];
    struct instance_tag tag;
};

/* ---- strings ---- */

/* Consecutive instances have many equal values: shares the string of the previous record. */
static struct str instance_reply_save(struct instance_reply *reply, struct str like)
{
    struct str text = buf_str(&reply->text);
    return str_eq(text, like) ? like : arena_str(reply->arena, text);
}

static enum instance_state state_named(struct str name)
{
    static const char *const names[] = {
        [INSTANCE_PENDING] = "pending",
        [INSTANCE_RUNNING] = "running",
        [INSTANCE_SHUTTING_DOWN] = "shutting-down",
        [INSTANCE_TERMINATED] = "terminated",
        [INSTANCE_STOPPING] = "stopping",
        [INSTANCE_STOPPED] = "stopped",
    };
    for (size_t i = INSTANCE_PENDING; i < ARRAY_LEN(names); i++) {
        if (str_is(name, names[i])) {
            return (enum instance_state)i;
        }
    }
    return INSTANCE_STATE_OTHER;
}

static enum instance_market market_named(struct str name)
{
    return str_is(name, "spot")             ? INSTANCE_SPOT
           : str_is(name, "capacity-block") ? INSTANCE_RESERVED_BLOCK
                                            : INSTANCE_ON_DEMAND;
}

/* ---- tags ---- */

static bool instance_reply_is_wanted(const struct instance_reply *reply, struct str key)
{
    const char *const *prefix = reply->tag_prefixes;
    bool is_wanted = !prefix;
    for (; prefix && *prefix && !is_wanted; prefix++) {
        is_wanted = str_starts(key, *prefix);
    }
    return is_wanted;
}

static struct instance_tag tag_like(const struct instance_reply *reply)
{
    const struct instance_record *previous = &reply->previous;
    size_t index = reply->record.tag_count;
    return index < previous->tag_count ? previous->tags[index] : (struct instance_tag){0};
}

static bool end_tag(struct instance_reply *reply, struct err *err)
{
    if (reply->tag.key.len == 0 || !instance_reply_is_wanted(reply, reply->tag.key)) {
        return true;
    }
    if (reply->record.tag_count == TAGS_MAX) {
        return err_set(err, ERR_PROTOCOL, "an instance has more than %d tags", TAGS_MAX);
    }
    require(reply->record.tag_count < TAGS_MAX, "the tags fit");
    reply->tags[reply->record.tag_count++] = reply->tag;
    return true;
}

/* ---- records ---- */

static bool end_record(struct instance_reply *reply, struct err *err)
{
    struct instance_record *record = &reply->record;
    if (record->id.len == 0) {
        return err_set(err, ERR_PROTOCOL, "an instance has no id");
    }
    record->tags = ARENA_ARRAY(reply->arena, record->tag_count, struct instance_tag);
    if (record->tag_count > 0) {
        memcpy(record->tags, reply->tags, record->tag_count * sizeof(struct instance_tag));
    }
    ARENA_PUSH(reply->arena, reply->list.items, reply->list.count, reply->capacity) = *record;
    reply->previous = *record;
    return true;
}

static void end_text(struct instance_reply *reply, enum place place)
{
    struct instance_record *record = &reply->record;
    const struct instance_record *previous = &reply->previous;
    struct {
        enum place place;
        struct str *target;
        struct str like;
    } texts[] = {
        {LEAF_ID, &record->id, STR("")},
        {LEAF_TYPE, &record->type, previous->type},
        {LEAF_ZONE, &record->zone, previous->zone},
        {LEAF_IMAGE, &record->image, previous->image},
        {LEAF_SUBNET, &record->subnet, previous->subnet},
        {LEAF_PRIVATE_IP, &record->private_ip, STR("")},
        {LEAF_PUBLIC_IP, &record->public_ip, STR("")},
        {LEAF_REASON_CODE, &record->reason, previous->reason},
        {LEAF_REASON_TEXT, &record->reason_text, previous->reason_text},
        {LEAF_CLIENT_TOKEN, &record->client_token, previous->client_token},
        {LEAF_TAG_KEY, &reply->tag.key, tag_like(reply).key},
        {LEAF_TAG_VALUE, &reply->tag.value, tag_like(reply).value},
        {LEAF_NEXT_TOKEN, &reply->list.next_token, STR("")},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].place == place) {
            *texts[i].target = instance_reply_save(reply, texts[i].like);
            return;
        }
    }
}

static bool end_leaf(struct instance_reply *reply, enum place place, struct err *err)
{
    struct str text = buf_str(&reply->text);
    if (place == LEAF_STATE) {
        reply->record.state = (uint8_t)state_named(text);
    } else if (place == LEAF_LIFECYCLE) {
        reply->record.market = (uint8_t)market_named(text);
    } else if (place == LEAF_LAUNCH_TIME) {
        return aws_time_parse(text, &reply->record.launched_at) ||
               err_set(err, ERR_PROTOCOL, "an instance has an invalid launch time");
    } else {
        end_text(reply, place);
    }
    return true;
}

/* ---- elements ---- */

static enum place find_place(const struct instance_reply *reply, enum place parent, struct str name)
{
    for (const struct instance_reply_row *row = &rows[reply->first_row[parent]];
         row->parent == parent; row++) {
        if (str_eq(name, row->name)) {
            return row->place;
        }
    }
    return PLACE_NONE;
}

static bool instance_reply_on_start(void *context, struct str name, struct err *err)
{
    struct instance_reply *reply = context;
    enum place place = PLACE_NONE;
    if (reply->unknown_depth == 0) {
        place = find_place(reply, reply->path[reply->depth], name);
    }
    if (reply->depth == 0 && reply->unknown_depth == 0 && place != reply->wanted_root) {
        return err_set(err, ERR_PROTOCOL, "unexpected response");
    }
    if (place == PLACE_NONE) {
        reply->unknown_depth++;
        return true;
    }
    require(reply->depth + 1 < ARRAY_LEN(reply->path),
            "the nesting of the elements is within the limit");
    reply->path[++reply->depth] = place;
    reply->text.len = 0;
    if (place == AT_INSTANCE || place == AT_CHANGE) {
        reply->record = (struct instance_record){.launched_at = INT64_MIN};
    } else if (place == AT_TAG) {
        reply->tag = (struct instance_tag){0};
    }
    return true;
}

static bool instance_reply_on_text(void *context, struct str text, struct err *err)
{
    struct instance_reply *reply = context;
    if (reply->unknown_depth > 0 || reply->path[reply->depth] < LEAF_ID) {
        return true;
    }
    buf_add(&reply->text, text);
    return !reply->text.is_full ||
           err_set(err, ERR_PROTOCOL, "a string is longer than %d bytes", TEXT_BYTES_MAX);
}

static bool instance_reply_on_end(void *context, struct err *err)
{
    struct instance_reply *reply = context;
    if (reply->unknown_depth > 0) {
        reply->unknown_depth--;
        return true;
    }
    require(reply->depth > 0, "only an open element can end");
    enum place place = reply->path[reply->depth--];
    if (place == AT_INSTANCE || place == AT_CHANGE) {
        return end_record(reply, err);
    }
    if (place == AT_TAG) {
        return end_tag(reply, err);
    }
    return place < LEAF_ID || end_leaf(reply, place, err);
}

/* ---- the reader ---- */

struct instance_reply *instance_reply_new(enum instance_reply_kind kind,
                                          const char *const *tag_prefixes, struct arena *arena)
{
    static const struct xml_listener listener = {instance_reply_on_start, instance_reply_on_text,
                                                 instance_reply_on_end};
    static const enum place roots[] = {[INSTANCES_LISTED] = AT_ROOT_LISTED,
                                       [INSTANCES_LAUNCHED] = AT_ROOT_LAUNCHED,
                                       [INSTANCES_CHANGED] = AT_ROOT_CHANGED};
    struct instance_reply *reply = calloc(1, sizeof(*reply));
    if (!reply) {
        panic("out of memory (instance parser)");
    }
    reply->arena = arena;
    reply->tag_prefixes = tag_prefixes;
    reply->wanted_root = roots[kind];
    reply->path[0] = AT_TOP;
    buf_init(&reply->text, TEXT_BYTES_MAX);
    memset(reply->first_row, ARRAY_LEN(rows) - 1, sizeof(reply->first_row));
    for (size_t i = ARRAY_LEN(rows); i-- > 0;) {
        reply->first_row[rows[i].parent] = (uint8_t)i;
    }
    reply->xml = xml_scan_new(&listener, reply);
    return reply;
}

void instance_reply_free(struct instance_reply *reply)
{
    if (reply) {
        xml_scan_free(reply->xml);
        buf_clear(&reply->text);
        free(reply);
    }
}

bool instance_reply_feed(struct instance_reply *reply, struct str bytes, struct err *err)
{
    return xml_scan_feed(reply->xml, bytes, err);
}

bool instance_reply_end(struct instance_reply *reply, struct instance_list *ret_list,
                        struct err *err)
{
    if (!xml_scan_end(reply->xml, err)) {
        return false;
    }
    *ret_list = reply->list;
    return true;
}

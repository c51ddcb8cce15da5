/* store_owner.c: reads and creates the owner of a durable place. */
#include "app/train/store_owner.h"

#include "app/train/store_checkpoint.h"
#include "io/clock.h"
#include "io/json_line.h"
#include "provider/aws_time.h"

enum { OWNER_BYTES = 4096 };
static const char owner_key[] = "owner.json";

struct owner {
    struct str id, since;
};

static bool owner_read(struct store_place *place, struct arena *arena, struct owner *ret_owner,
                       struct err *err)
{
    AUTO_BUF struct buf text;
    json_t *object;
    buf_init(&text, OWNER_BYTES);
    if (!place->ops->get_text(place, owner_key, &text, err)) {
        return false;
    }
    if (!json_line_read(str_trim(buf_str(&text)), "owner.json", &object, err)) {
        return false;
    }
    ret_owner->id = json_take_text(object, "id", arena);
    ret_owner->since = json_take_text(object, "since", arena);
    json_decref(object);
    return true;
}

static bool owner_write(struct store_place *place, const struct store_claim *claim, bool is_new,
                        struct err *err)
{
    AUTO_BUF struct buf text;
    char since[AWS_TIME_ISO_SIZE];
    json_t *object = json_object();
    buf_init(&text, OWNER_BYTES);
    aws_time_iso(clock_wall_ms(&clock_of_machine) / 1000, since);
    json_put_text(object, "job", str_from(claim->job));
    json_put_text(object, "id", str_from(claim->id));
    json_put_text(object, "since", str_from(since));
    json_put_out(object, true, &text);
    return place->ops->put_text(place, owner_key, buf_str(&text), is_new, err);
}

static bool owner_refuse(const char *whose, struct str since, struct err *err)
{
    return err_set(err, ERR_EXISTS,
                   "the checkpoints there belong to %s%s%.*s. To continue from them, add --adopt; "
                   "then the other job must not run any more. To begin from the start, choose "
                   "another --name or --output",
                   whose, since.len > 0 ? ", since " : "", STR_ARG(str_sub(since, 0, 40)));
}

/* The place has no owner: it is new, or of an earlier release. */
static bool owner_may_create(struct store_place *place, const struct store_claim *claim,
                             struct err *err)
{
    int64_t highest = 0;
    return claim->is_known || claim->is_adopting ||
           (store_highest(place, &highest, err) &&
            (highest == 0 || owner_refuse("a job of an earlier release", STR(""), err)));
}

bool store_claim(struct store_place *place, const struct store_claim *claim, struct err *err)
{
    AUTO_ARENA struct arena arena = ARENA_HEAP;
    struct owner owner;
    bool is_read = owner_read(place, &arena, &owner, err);
    if (!is_read && err->kind == ERR_NOT_FOUND) {
        if (!owner_may_create(place, claim, err)) {
            return false;
        }
        if (owner_write(place, claim, true, err)) {
            return true;
        }
        /* Another process was first: it may be one of this job. */
        is_read = err->kind == ERR_EXISTS && owner_read(place, &arena, &owner, err);
    }
    if (is_read && str_is(owner.id, claim->id)) {
        return true;
    }
    bool may_replace = is_read || err->kind == ERR_PROTOCOL; /* it is damaged */
    if (claim->is_adopting && may_replace) {
        return owner_write(place, claim, false, err);
    }
    return is_read &&
           owner_refuse("another job of this name, or to one that is complete", owner.since, err);
}

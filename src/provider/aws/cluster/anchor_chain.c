/* anchor_chain.c: claims as text, and the walk that says which of them count. */
#include "provider/aws/cluster/anchor_chain.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>

#define FORM "shoal 1"

/* ---- text ---- */

struct str anchor_claim_write(const struct anchor_claim *claim, struct arena *arena)
{
    AUTO_BUF struct buf out;
    AUTO_BUF struct buf holder;
    buf_init(&out, ANCHOR_CLAIM_MAX);
    buf_init(&holder, ANCHOR_CLAIM_MAX);
    buf_addf(&out, FORM " after=%" PRIu64 " since=%" PRId64 " until=%" PRId64 " nonce=%.*s holder=",
             claim->after, claim->since, claim->until, STR_ARG(claim->nonce));
    /* Plain ASCII: AWS counts characters, and the text is shown to people. */
    for (size_t i = 0; i < claim->holder.len; i++) {
        char c = claim->holder.ptr[i];
        buf_add_char(&holder, c >= ' ' && c <= '~' ? c : '?');
    }
    buf_add(&out, str_sub(buf_str(&holder), 0, ANCHOR_CLAIM_MAX - out.len));
    return arena_str(arena, buf_str(&out));
}

/* "name=" at the front of `*rest`, then the value up to a blank. */
static bool take_field(struct str *rest, const char *name, struct str *ret_value)
{
    struct str field = str_cut(rest, ' ');
    size_t equals = str_find_char(field, '=');
    if (equals == SIZE_MAX || !str_is(str_sub(field, 0, equals), name)) {
        return false;
    }
    *ret_value = str_sub(field, equals + 1, field.len);
    return true;
}

static bool take_number(struct str *rest, const char *name, int64_t *ret_number)
{
    struct str text;
    return take_field(rest, name, &text) && str_to_i64(text, ret_number) && *ret_number >= 0;
}

struct anchor_claim anchor_claim_read(uint64_t number, struct str description, struct arena *arena)
{
    struct anchor_claim claim = {.number = number};
    int64_t after = 0;
    struct str rest = description;
    if (!str_starts(description, FORM " ")) {
        return claim;
    }
    rest = str_sub(rest, sizeof(FORM), rest.len);
    claim.is_readable = take_number(&rest, "after", &after) &&
                        take_number(&rest, "since", &claim.since) &&
                        take_number(&rest, "until", &claim.until) &&
                        take_field(&rest, "nonce", &claim.nonce) && str_starts(rest, "holder=");
    if (claim.is_readable) {
        AUTO_BUF struct buf holder;
        buf_init(&holder, 4 * ANCHOR_CLAIM_MAX);
        utf8_add_visible(&holder, str_sub(rest, sizeof("holder=") - 1, rest.len), false);
        claim.holder = arena_str(arena, buf_str(&holder));
        claim.nonce = arena_str(arena, claim.nonce);
        claim.after = (uint64_t)after;
    }
    return claim;
}

/* ---- the walk ---- */

static int compare(const void *a, const void *b)
{
    const struct anchor_claim *left = a;
    const struct anchor_claim *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

struct anchor_chain anchor_chain_walk(struct anchor_claim *claims, size_t count, uint64_t base)
{
    struct anchor_chain chain = {.is_whole = true};
    uint64_t expected = base;
    if (count > 0) {
        qsort(claims, count, sizeof(*claims), compare);
    }
    for (size_t i = 0; i < count; i++) {
        const struct anchor_claim *claim = &claims[i];
        if (claim->number < base) {
            continue;
        }
        chain.is_whole = chain.is_whole && claim->number == expected;
        expected = claim->number + 1;
        chain.highest = claim->number;
        bool counts = chain.last ? claim->after == chain.last->number : claim->number == base;
        if (claim->is_readable && counts) {
            chain.last = claim;
        }
    }
    chain.is_whole = chain.is_whole && chain.last != NULL;
    return chain;
}

/* ---- the lease's end ---- */

struct str anchor_lease_write(uint64_t epoch, int64_t until, struct arena *arena)
{
    return arena_printf(arena, "%" PRIu64 " %" PRId64, epoch, until);
}

int64_t anchor_lease_end(const struct anchor_claim *claim, struct str tag)
{
    int64_t epoch;
    int64_t until;
    struct str rest = tag;
    struct str first = str_cut(&rest, ' ');
    bool says = str_to_i64(first, &epoch) && str_to_i64(rest, &until) && epoch >= 0 &&
                (uint64_t)epoch == claim->number;
    return says ? until : claim->until;
}

bool anchor_is_free(const struct anchor_claim *claim, struct str tag, int64_t now)
{
    int64_t end = anchor_lease_end(claim, tag);
    /* 0 is what a holder writes who gives it back. */
    return end == 0 || now - ANCHOR_GRACE_S > end;
}

/* lease_chain.c: reads and writes claims, and determines which of them are valid. */
#include "provider/aws/cluster/lease_chain.h"

#include "base/buf.h"
#include "base/require.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdlib.h>

#define FORM "shoal 1"

/* ---- text ---- */

struct str lease_claim_write(const struct lease_claim *claim, struct arena *arena)
{
    AUTO_BUF struct buf out;
    AUTO_BUF struct buf holder;
    buf_init(&out, LEASE_CLAIM_MAX);
    buf_init(&holder, LEASE_CLAIM_MAX);
    buf_addf(&out, FORM " after=%" PRIu64 " since=%" PRId64 " until=%" PRId64 " nonce=%.*s ",
             claim->after, claim->since, claim->until, STR_ARG(claim->nonce));
    if (claim->base > 0) {
        buf_addf(&out, "base=%" PRIu64 " ", claim->base);
    }
    buf_add_c(&out, "holder=");
    /* Plain ASCII: AWS limits the number of characters, and the text is displayed. */
    for (size_t i = 0; i < claim->holder.len; i++) {
        char c = claim->holder.ptr[i];
        buf_add_char(&holder, c >= ' ' && c <= '~' ? c : '?');
    }
    buf_add(&out, str_sub(buf_str(&holder), 0, LEASE_CLAIM_MAX - out.len));
    return arena_str(arena, buf_str(&out));
}

/* Reads "name=" at the start of `*rest`, then the value up to a blank. */
static bool lease_chain_take_field(struct str *rest, const char *name, struct str *ret_value)
{
    struct str field = str_cut(rest, ' ');
    size_t equals = str_find_char(field, '=');
    if (equals == SIZE_MAX || !str_is(str_sub(field, 0, equals), name)) {
        return false;
    }
    *ret_value = str_sub(field, equals + 1, field.len);
    return true;
}

static bool lease_chain_take_number(struct str *rest, const char *name, int64_t *ret_number)
{
    struct str text;
    return lease_chain_take_field(rest, name, &text) && str_to_i64(text, ret_number) &&
           *ret_number >= 0;
}

/* Missing in most claims; if present, it must be a number. */
static bool take_base(struct str *rest, uint64_t *ret_base)
{
    int64_t base = 0;
    bool ok = !str_starts(*rest, "base=") || lease_chain_take_number(rest, "base", &base);
    *ret_base = (uint64_t)base;
    return ok;
}

struct lease_claim lease_claim_read(uint64_t number, struct str description, struct arena *arena)
{
    struct lease_claim claim = {.number = number};
    int64_t after = 0;
    struct str rest = description;
    if (!str_starts(description, FORM " ")) {
        return claim;
    }
    rest = str_sub(rest, sizeof(FORM), rest.len);
    claim.is_readable = lease_chain_take_number(&rest, "after", &after) &&
                        lease_chain_take_number(&rest, "since", &claim.since) &&
                        lease_chain_take_number(&rest, "until", &claim.until) &&
                        lease_chain_take_field(&rest, "nonce", &claim.nonce) &&
                        take_base(&rest, &claim.base) && str_starts(rest, "holder=");
    if (claim.is_readable) {
        AUTO_BUF struct buf holder;
        buf_init(&holder, 4 * LEASE_CLAIM_MAX);
        utf8_add_visible(&holder, str_sub(rest, sizeof("holder=") - 1, rest.len), false);
        claim.holder = arena_str(arena, buf_str(&holder));
        claim.nonce = arena_str(arena, claim.nonce);
        claim.after = (uint64_t)after;
    }
    return claim;
}

/* ---- walking the chain ---- */

static int lease_chain_compare(const void *a, const void *b)
{
    const struct lease_claim *left = a;
    const struct lease_claim *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

struct lease_chain lease_chain_walk(struct lease_claim *claims, size_t count, uint64_t base)
{
    struct lease_chain chain = {.is_whole = true};
    uint64_t expected = base;
    if (count > 0) {
        qsort(claims, count, sizeof(*claims), lease_chain_compare);
    }
    for (size_t i = 0; i < count; i++) {
        const struct lease_claim *claim = &claims[i];
        require(i == 0 || claims[i - 1].number <= claim->number, "the claims are sorted");
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
    require(!chain.last || chain.last->number <= chain.highest,
            "the last claim is one of the claims");
    require(!chain.last || chain.last->number >= base, "the chain begins at its base");
    return chain;
}

/* ---- expiry ---- */

struct str lease_tag_write(uint64_t epoch, int64_t until, struct arena *arena)
{
    return arena_printf(arena, "%" PRIu64 " %" PRId64, epoch, until);
}

int64_t lease_tag_end(const struct lease_claim *claim, struct str tag)
{
    int64_t epoch;
    int64_t until;
    struct str rest = tag;
    struct str first = str_cut(&rest, ' ');
    bool says = str_to_i64(first, &epoch) && str_to_i64(rest, &until) && epoch >= 0 &&
                (uint64_t)epoch == lease_claim_epoch(claim);
    return says ? until : claim->until;
}

bool lease_is_free(const struct lease_claim *claim, struct str tag, int64_t now)
{
    int64_t end = lease_tag_end(claim, tag);
    /* 0 means that the holder released it. */
    return end == 0 || now - LEASE_GRACE_S > end;
}

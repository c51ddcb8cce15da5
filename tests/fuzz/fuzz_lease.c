/* fuzz_lease.c: any bytes as what strangers may write on an anchor, a group or a machine: claims,
 * ends of leases, rules, addresses, numbers of launches. */
#include "fuzz.h"

#include "provider/aws/cluster/group_rules.h"
#include "provider/aws/cluster/lease_chain.h"
#include "provider/cidr.h"
#include "provider/launch_token.h"

enum { CLAIMS = 64 };

/* A claim for each line; what is read and written again is the same. */
static void try_claims(struct str bytes, struct arena *arena)
{
    struct lease_claim claims[CLAIMS];
    struct str rest = bytes;
    size_t count = 0;
    while (rest.len > 0 && count < CLAIMS) {
        struct str line = str_cut(&rest, '\n');
        struct lease_claim claim = lease_claim_read(count + 1, line, arena);
        claims[count++] = claim;
        if (!claim.is_readable) {
            continue;
        }
        struct str text = lease_claim_write(&claim, arena);
        struct lease_claim again = lease_claim_read(count, text, arena);
        /* A nonce that is longer than ours may not leave room for the holder. */
        if (text.len > LEASE_CLAIM_MAX || (claim.nonce.len <= LEASE_NONCE_LEN &&
                                           (!again.is_readable || again.after != claim.after))) {
            fuzz_fail("a claim that was read can be written", line);
        }
        (void)lease_is_free(&claim, line, INT64_MAX - LEASE_GRACE_S);
        (void)lease_tag_end(&claim, line);
    }
    struct lease_chain chain = lease_chain_walk(claims, count, 1);
    if (chain.last && !chain.last->is_readable) {
        fuzz_fail("what cannot be read never counts", bytes);
    }
}

static void try_rules(struct str bytes, struct arena *arena)
{
    const struct xml_element *root;
    struct group_rules rules = {0};
    struct err err;
    if (!xml_tree_parse(bytes, arena, &root, &err)) {
        return;
    }
    group_rules_read(root, &rules, arena);
    if (group_rules_stale(&rules, &rules, arena).count > 0) {
        for (size_t i = 0; i < rules.count; i++) {
            if (rules.items[i].source.len == 0) {
                return; /* a rule without a source is like no other */
            }
        }
        fuzz_fail("what is wanted is not stale", bytes);
    }
    for (size_t i = 0; i < rules.count; i++) {
        (void)group_rule_input(&rules.items[i], STR("sg-1"), arena);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = {(const char *)data, size};
    struct arena arena;
    struct str cidr;
    uint64_t launch;
    arena_init(&arena);
    try_claims(bytes, &arena);
    try_rules(bytes, &arena);
    if (cidr_read(bytes, &arena, &cidr) && !cidr_read(cidr, &arena, &cidr)) {
        fuzz_fail("an address that was read can be read", bytes);
    }
    if (launch_number_parse(bytes, &launch)) {
        uint64_t again = 0;
        if (!launch_number_parse(launch_number_text(launch, &arena), &again) || again != launch) {
            fuzz_fail("a launch's number survives its text", bytes);
        }
    }
    arena_clear(&arena);
    return 0;
}

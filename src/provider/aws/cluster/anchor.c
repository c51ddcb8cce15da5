/*
 * anchor.c: the anchor of a cluster: who made it, who holds it, until when.
 *
 * Everything here goes through anchor_chain.h, which says how; docs/decisions/0010-anchor.md says
 * why it is a launch template.
 */
#include "provider/aws/cluster/anchor.h"

#include "base/encode.h"
#include "base/panic.h"
#include "provider/aws/aws_state.h"
#include "provider/aws/cluster/anchor_chain.h"
#include "provider/aws/cluster/aws_names.h"

#include <inttypes.h>
#include <openssl/rand.h>

enum {
    LEASE_MS = 60 * 1000, /* how long a taking, renewing or releasing may take */
    UID_BYTES = 16,
    OLD_CLAIMS_MAX = 100,  /* then old ones are deleted; AWS keeps 10,000 */
    DELETED_AT_ONCE = 200, /* what AWS takes in one call */
    BLIND_LATE_S = 5,
};

/* ---- finding ---- */

static struct str random_hex(size_t bytes, struct arena *arena)
{
    uint8_t noise[UID_BYTES];
    AUTO_BUF struct buf out;
    if (bytes > sizeof(noise) || RAND_bytes(noise, (int)bytes) != 1) {
        panic("no random numbers are to be had");
    }
    buf_init(&out, 2 * sizeof(noise));
    encode_hex(&out, noise, bytes);
    return arena_str(arena, buf_str(&out));
}

static uint64_t number_in(const struct xml_element *item, const char *name)
{
    int64_t number;
    return str_to_i64(xml_child_text(item, name), &number) && number > 0 ? (uint64_t)number : 0;
}

/* Of "arn:aws:iam::123456789012:user/me", who has made it: it is never another account's. */
static struct str account_in(const struct xml_element *item)
{
    struct str rest = xml_child_text(item, "createdBy");
    for (int i = 0; i < 4; i++) {
        (void)str_cut(&rest, ':');
    }
    return str_cut(&rest, ':');
}

enum aws_ask anchor_ask(struct aws_script *op, struct aws_request *request)
{
    struct param *input = param_new_map(&op->arena);
    input_filter(input, "launch-template-name",
                 aws_anchor_name(op->provider->cluster->name, &op->arena), &op->arena);
    return ask_pages(request, "DescribeLaunchTemplates", input);
}

bool anchor_read(struct aws_script *op, const struct aws_heard *heard,
                 struct anchor_found *ret_found)
{
    struct str name = aws_anchor_name(op->provider->cluster->name, &op->arena);
    for (size_t i = 0; i < heard->page_count; i++) {
        const struct xml_element *list = xml_child(heard->pages[i], "launchTemplates");
        for (const struct xml_element *item = list ? list->first : NULL; item; item = item->next) {
            if (str_eq(xml_child_text(item, "launchTemplateName"), name)) {
                *ret_found = (struct anchor_found){
                    .id = arena_str(&op->arena, xml_child_text(item, "launchTemplateId")),
                    .uid = arena_str(&op->arena, tag_in(item, TAG_CLUSTER_UID)),
                    .account = arena_str(&op->arena, account_in(item)),
                    .base = number_in(item, "defaultVersionNumber"),
                    .highest = number_in(item, "latestVersionNumber")};
                return true;
            }
        }
    }
    return false;
}

static enum aws_turn not_ours(struct aws_script *op)
{
    struct str name = aws_anchor_name(op->provider->cluster->name, &op->arena);
    return op_end(op, OUTCOME_INVALID, ERR_EXISTS,
                  "the launch template %.*s is not one of Shoal's (it has no tag " TAG_CLUSTER_UID
                  "): rename the cluster, or that template",
                  STR_ARG(name));
}

static void remember(struct aws_provider *provider, const struct anchor_found *found)
{
    provider->anchor = arena_str(&provider->own_arena, found->id);
    if (found->account.len > 0 && provider->account.len == 0) {
        struct str source = aws_client_source(provider->client); /* "profile work: sso" */
        struct str name = str_cut(&source, ':');
        provider->account = arena_printf(&provider->own_arena, "%.*s%s%.*s%s",
                                         STR_ARG(found->account), name.len > 0 ? " (" : "",
                                         STR_ARG(name), name.len > 0 ? ")" : "");
    }
    if (!str_eq(provider->uid, found->uid)) {
        provider->uid = arena_str(&provider->own_arena, found->uid);
        provider->is_new = false;
        provider->own_group = provider->own_key = provider->own_profile = STR("");
        known_ids_renew(&provider->known, INT64_MAX);
    }
}

enum aws_ask anchor_ask_find(struct aws_script *op, struct aws_request *request)
{
    return op->provider->uid.len > 0 ? ASK_NOTHING : anchor_ask(op, request);
}

enum aws_turn anchor_hear_find(struct aws_script *op, const struct aws_heard *heard)
{
    struct anchor_found found;
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    if (!anchor_read(op, heard, &found)) {
        op->has_no_cluster = true;
        return TURN_END;
    }
    if (found.uid.len == 0) {
        return not_ours(op);
    }
    remember(op->provider, &found);
    return TURN_NEXT;
}

/* ---- what all of the lease's operations share ---- */

struct lease_op {
    struct aws_script op;
    struct str holder;
    int64_t lease_ms;
    uint64_t take_from;
    bool has_looked;         /* for the anchor, in this operation */
    bool is_blind;           /* the claim was made on what was handed over, without a look */
    provider_lease_fn *done; /* of take and renew */
    provider_done_fn *done_release;
    void *context;
    struct str nonce;
    struct str new_uid;        /* if we should be the first */
    struct str first_claim;    /* as it was first written: a repeated call must be the same */
    struct anchor_found found; /* as last read */
    struct anchor_claim *claims;
    size_t claim_count;
    struct anchor_chain chain;
    struct str claim;           /* that we have made, or want to make */
    uint64_t made;              /* its number; 0: not made yet */
    int64_t until;              /* what we ask for */
    struct cluster_lease lease; /* what is told */
    bool tells_lease;
};

static struct lease_op *lease_of(struct aws_script *op)
{
    return (struct lease_op *)op;
}

static int64_t now_of(const struct aws_script *op)
{
    return aws_client_now(op->provider->client);
}

static void tell_own(struct lease_op *lease)
{
    const struct aws_provider *provider = lease->op.provider;
    lease->lease = (struct cluster_lease){.uid = provider->uid,
                                          .epoch = provider->epoch,
                                          .holder = provider->lease_holder,
                                          .since = provider->lease_since,
                                          .until = provider->lease_until,
                                          .anchor = provider->anchor,
                                          .account = provider->account};
    lease->tells_lease = true;
}

static enum aws_turn lost_to(struct lease_op *lease, const struct anchor_claim *claim,
                             struct str tag)
{
    lease->lease = (struct cluster_lease){.uid = lease->op.provider->uid,
                                          .epoch = claim->number,
                                          .holder = claim->holder,
                                          .since = claim->since,
                                          .until = anchor_lease_end(claim, tag),
                                          .anchor = lease->op.provider->anchor,
                                          .account = lease->op.provider->account};
    lease->tells_lease = true;
    return op_end(&lease->op, OUTCOME_MISMATCH, ERR_EXISTS,
                  "the cluster is held by %.*s (lease %" PRIu64 ")", STR_ARG(claim->holder),
                  claim->number);
}

static void finish_lease(struct aws_script *op)
{
    struct lease_op *lease = lease_of(op);
    lease->done(lease->context, &op->answer, lease->tells_lease ? &lease->lease : NULL);
}

/* Nobody launches from it, but AWS wants something in a template. */
static void add_template_data(struct param *input, struct arena *arena)
{
    param_add_text(param_add_map(input, "LaunchTemplateData", arena),
                   "InstanceInitiatedShutdownBehavior", STR("terminate"), arena);
}

static void read_claims(struct lease_op *lease, const struct aws_heard *heard, uint64_t base)
{
    struct arena *arena = &lease->op.arena;
    size_t capacity = 0;
    void *items = NULL;
    lease->claim_count = 0;
    for (size_t i = 0; i < heard->page_count; i++) {
        const struct xml_element *list = xml_child(heard->pages[i], "launchTemplateVersionSet");
        for (const struct xml_element *item = list ? list->first : NULL; item; item = item->next) {
            arena_grow(arena, &items, lease->claim_count, &capacity, sizeof(struct anchor_claim));
            lease->claims = items;
            lease->claims[lease->claim_count++] = anchor_claim_read(
                number_in(item, "versionNumber"), xml_child_text(item, "versionDescription"),
                arena);
        }
    }
    lease->chain = anchor_chain_walk(lease->claims, lease->claim_count, base);
}

static enum aws_ask ask_versions(struct lease_op *lease, struct aws_request *request, struct str id,
                                 uint64_t base)
{
    struct arena *arena = &lease->op.arena;
    struct param *input = param_new_map(arena);
    param_add_text(input, "LaunchTemplateId", id, arena);
    param_add_text(input, "MinVersion", arena_printf(arena, "%" PRIu64, base), arena);
    param_add_number(input, "MaxResults", DELETED_AT_ONCE, arena);
    return ask_pages(request, "DescribeLaunchTemplateVersions", input);
}

static bool is_gone(const struct aws_heard *heard)
{
    return heard_code(heard, "InvalidLaunchTemplateId.NotFound") ||
           heard_code(heard, "InvalidLaunchTemplateId.NotFoundException") ||
           heard_code(heard, "InvalidLaunchTemplateName.NotFoundException");
}

/* ---- taking ---- */

enum { TAKE_FIND, TAKE_CREATE, TAKE_READ, TAKE_ASK_END, TAKE_CLAIM, TAKE_MOVE_BASE, TAKE_DELETE };

static enum aws_turn won(struct lease_op *lease, uint64_t epoch, int64_t since, int64_t until)
{
    struct aws_provider *provider = lease->op.provider;
    provider->epoch = epoch;
    provider->lease_since = since;
    provider->lease_until = until;
    provider->lease_holder = arena_str(&provider->own_arena, lease->holder);
    tell_own(lease);
    bool has_many = lease->found.base > 0 && epoch - lease->found.base >= OLD_CLAIMS_MAX;
    return has_many ? op_goto(&lease->op, TAKE_MOVE_BASE) : TURN_END;
}

static enum aws_turn take_hear_find(struct aws_script *op, const struct aws_heard *heard)
{
    struct lease_op *lease = lease_of(op);
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    lease->has_looked = true;
    lease->is_blind = false;
    if (!anchor_read(op, heard, &lease->found)) {
        return op_goto(op, TAKE_CREATE);
    }
    if (lease->found.uid.len == 0) {
        return not_ours(op);
    }
    remember(op->provider, &lease->found);
    return op_goto(op, TAKE_READ);
}

/* A claim on what was seen, written down once. */
static struct str new_claim(struct lease_op *lease, uint64_t after)
{
    int64_t now = now_of(&lease->op);
    lease->until = now + lease->lease_ms / 1000;
    return anchor_claim_write(&(struct anchor_claim){.after = after,
                                                     .since = now,
                                                     .until = lease->until,
                                                     .nonce = lease->nonce,
                                                     .holder = lease->holder},
                              &lease->op.arena);
}

static enum aws_ask take_ask_create(struct aws_script *op, struct aws_request *request)
{
    struct lease_op *lease = lease_of(op);
    struct arena *arena = &op->arena;
    struct param *input = param_new_map(arena);
    if (lease->first_claim.len == 0) {
        lease->first_claim = new_claim(lease, 0);
        lease->new_uid = random_hex(UID_BYTES, arena);
    }
    param_add_text(input, "LaunchTemplateName", aws_anchor_name(op->provider->cluster->name, arena),
                   arena);
    param_add_text(input, "VersionDescription", lease->first_claim, arena);
    add_template_data(input, arena);
    struct param *spec = param_add_map(param_add_list(input, "TagSpecifications", arena), "",
                                       arena);
    param_add_text(spec, "ResourceType", STR("launch-template"), arena);
    struct param *tags = param_add_list(spec, "Tags", arena);
    param_add_tag(tags, STR(TAG_CLUSTER_UID), lease->new_uid, arena);
    param_add_tag(tags, STR("ray-cluster-name"), op->provider->cluster->name, arena);
    param_add_text(input, "ClientToken", lease->nonce, arena);
    return ask_change(request, "CreateLaunchTemplate", input);
}

static enum aws_turn take_hear_create(struct aws_script *op, const struct aws_heard *heard)
{
    struct lease_op *lease = lease_of(op);
    if (heard_code(heard, "InvalidLaunchTemplateName.AlreadyExistsException") ||
        heard_code(heard, "IdempotentParameterMismatch")) {
        op->at = TAKE_FIND; /* somebody was first, or we were and did not hear it */
        return lease->has_looked ? op_wait(op, heard) : TURN_REPEAT;
    }
    if (!heard->reply->is_ok && !lease->has_looked && heard->reply->error.class == AWS_AUTH) {
        return op_goto(op, TAKE_FIND); /* who may make none may still take one that is there */
    }
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    const struct xml_element *made = xml_child(heard->root, "launchTemplate");
    if (xml_child_text(made, "launchTemplateId").len == 0) {
        op->at = TAKE_FIND;
        return op_wait(op, heard);
    }
    remember(op->provider, &(struct anchor_found){.id = xml_child_text(made, "launchTemplateId"),
                                                  .uid = lease->new_uid,
                                                  .account = account_in(made)});
    op->provider->is_new = true;
    struct anchor_claim claim = anchor_claim_read(1, lease->first_claim, &op->arena);
    return won(lease, 1, claim.since, claim.until);
}

static enum aws_ask take_ask_read(struct aws_script *op, struct aws_request *request)
{
    struct lease_op *lease = lease_of(op);
    return ask_versions(lease, request, lease->found.id, lease->found.base);
}

/* The number of our own claim among those read; 0: it is not there. */
static uint64_t own_number(const struct lease_op *lease)
{
    for (size_t i = 0; i < lease->claim_count; i++) {
        if (lease->claims[i].is_readable && str_eq(lease->claims[i].nonce, lease->nonce)) {
            return lease->claims[i].number;
        }
    }
    return 0;
}

static enum aws_turn take_hear_read(struct aws_script *op, const struct aws_heard *heard)
{
    struct lease_op *lease = lease_of(op);
    if (is_gone(heard)) {
        op->at = TAKE_FIND;
        return op_wait(op, heard);
    }
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    read_claims(lease, heard, lease->found.base);
    const struct anchor_claim *last = lease->chain.last;
    uint64_t own = own_number(lease);
    /* Numbers have no gaps: one that is missing is there and cannot be seen yet. */
    if (!lease->chain.is_whole || lease->chain.highest < lease->found.highest ||
        lease->chain.highest < lease->made) {
        return op_not_yet(op, "AWS does not show all claims on the cluster");
    }
    if (own > 0) {
        return own == last->number ? won(lease, own, last->since, last->until)
                                   : lost_to(lease, last, STR(""));
    }
    return TURN_NEXT;
}

static enum aws_ask take_ask_end(struct aws_script *op, struct aws_request *request)
{
    struct lease_op *lease = lease_of(op);
    struct param *input = param_new_map(&op->arena);
    input_filter(input, "resource-id", lease->found.id, &op->arena);
    return ask_pages(request, "DescribeTags", input);
}

static struct str lease_tag(const struct aws_heard *heard)
{
    for (size_t i = 0; i < heard->page_count; i++) {
        const struct xml_element *list = xml_child(heard->pages[i], "tagSet");
        for (const struct xml_element *item = list ? list->first : NULL; item; item = item->next) {
            if (str_is(xml_child_text(item, "key"), TAG_LEASE_UNTIL)) {
                return xml_child_text(item, "value");
            }
        }
    }
    return STR("");
}

static enum aws_turn take_hear_end(struct aws_script *op, const struct aws_heard *heard)
{
    struct lease_op *lease = lease_of(op);
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    const struct anchor_claim *last = lease->chain.last;
    struct str tag = lease_tag(heard);
    if (!anchor_is_free(last, tag, now_of(op)) && lease->take_from != last->number) {
        return lost_to(lease, last, tag);
    }
    lease->claim = new_claim(lease, last->number);
    return TURN_NEXT;
}

static enum aws_ask take_ask_claim(struct aws_script *op, struct aws_request *request)
{
    struct lease_op *lease = lease_of(op);
    struct arena *arena = &op->arena;
    struct param *input = param_new_map(arena);
    param_add_text(input, "LaunchTemplateId", lease->found.id, arena);
    param_add_text(input, "VersionDescription", lease->claim, arena);
    add_template_data(input, arena);
    param_add_text(input, "ClientToken", lease->nonce, arena);
    return ask_change(request, "CreateLaunchTemplateVersion", input);
}

/*
 * A blind claim may be the first call that this process makes: if it was refused once because of a
 * wrong clock, the times that it bears are wrong, and others would go by them.
 */
static bool is_timely(const struct aws_script *op, const struct anchor_claim *claim)
{
    int64_t late = now_of(op) - claim->since;
    return late >= -BLIND_LATE_S && late <= BLIND_LATE_S;
}

/* Our own lease is broken by one with the right times. */
static enum aws_turn take_again(struct lease_op *lease)
{
    lease->take_from = lease->made;
    lease->made = 0;
    lease->nonce = random_hex(ANCHOR_NONCE_LEN / 2, &lease->op.arena);
    return op_goto(&lease->op, TAKE_FIND);
}

static enum aws_turn take_hear_claim(struct aws_script *op, const struct aws_heard *heard)
{
    struct lease_op *lease = lease_of(op);
    if (is_gone(heard)) {
        op->at = TAKE_FIND;
        return op_wait(op, heard);
    }
    if (heard_code(heard, "IdempotentParameterMismatch")) {
        /* An earlier try has made it, and it cannot be seen yet. */
        op->at = lease->is_blind ? TAKE_FIND : TAKE_READ;
        return op_wait(op, heard);
    }
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    lease->made = number_in(xml_child(heard->root, "launchTemplateVersion"), "versionNumber");
    struct anchor_claim claim = anchor_claim_read(lease->made, lease->claim, &op->arena);
    bool is_next = lease->made == lease->chain.highest + 1; /* nobody came in between */
    if (is_next && lease->is_blind && !is_timely(op, &claim)) {
        return take_again(lease);
    }
    if (is_next) {
        return won(lease, lease->made, claim.since, claim.until);
    }
    return op_goto(op, lease->is_blind ? TAKE_FIND : TAKE_READ);
}

/* ---- the old claims ---- */

/* What fails from here on is tried again by whoever takes the cluster next. */
static enum aws_turn hear_and_go_on(struct aws_script *op, const struct aws_heard *heard)
{
    if (!heard->reply->is_ok) {
        log_write(op->provider->log, LOG_LEVEL_DEBUG, "old claims stay error=%s",
                  heard->reply->err.text);
        return TURN_END;
    }
    return TURN_NEXT;
}

static enum aws_ask take_ask_move_base(struct aws_script *op, struct aws_request *request)
{
    struct arena *arena = &op->arena;
    struct param *input = param_new_map(arena);
    param_add_text(input, "LaunchTemplateId", op->provider->anchor, arena);
    param_add_text(input, "SetDefaultVersion", arena_printf(arena, "%" PRIu64, op->provider->epoch),
                   arena);
    return ask_change(request, "ModifyLaunchTemplate", input);
}

static enum aws_ask take_ask_delete(struct aws_script *op, struct aws_request *request)
{
    const struct lease_op *lease = lease_of(op);
    struct arena *arena = &op->arena;
    struct param *input = param_new_map(arena);
    param_add_text(input, "LaunchTemplateId", op->provider->anchor, arena);
    struct param *list = param_add_list(input, "LaunchTemplateVersions", arena);
    uint64_t first = lease->found.base;
    for (uint64_t i = first; i < op->provider->epoch && i < first + DELETED_AT_ONCE; i++) {
        param_add_text(list, "", arena_printf(arena, "%" PRIu64, i), arena);
    }
    return ask_change(request, "DeleteLaunchTemplateVersions", input);
}

static void finish_take(struct aws_script *op)
{
    struct lease_op *lease = lease_of(op);
    if (lease->tells_lease && op->provider->epoch > 0 &&
        lease->lease.epoch == op->provider->epoch) {
        op->answer.outcome = OUTCOME_DONE;
    }
    /* Whoever takes again after that is the same taker, and may find that he has it. */
    bool is_open = op->may_have_acted && op->answer.outcome != OUTCOME_DONE &&
                   op->answer.outcome != OUTCOME_MISMATCH;
    op->provider->open_nonce = is_open ? arena_str(&op->provider->own_arena, lease->nonce)
                                       : STR("");
    finish_lease(op);
}

/*
 * Where it begins. Who is handed a lease knows all that a look would tell, or AWS's answer shows
 * that it is not so any more: a claim on it counts only as the next number.
 */
static size_t first_step(struct lease_op *lease, const struct take_request *request)
{
    struct aws_provider *provider = lease->op.provider;
    if (provider->open_nonce.len > 0) {
        return TAKE_FIND; /* we may have it already */
    }
    if (request->from > 0 && request->anchor.len > 0 && request->uid.len > 0) {
        struct arena *arena = &lease->op.arena;
        lease->found = (struct anchor_found){.id = arena_str(arena, request->anchor),
                                             .uid = arena_str(arena, request->uid)};
        remember(provider, &lease->found);
        lease->chain.highest = request->from;
        lease->claim = new_claim(lease, request->from);
        lease->is_blind = true;
        return TAKE_CLAIM;
    }
    return request->is_new && provider->anchor.len == 0 ? TAKE_CREATE : TAKE_FIND;
}

void aws_take(struct provider *base, const struct take_request *request, provider_lease_fn *done,
              void *context)
{
    static const struct aws_step steps[] = {
        [TAKE_FIND] = {anchor_ask, take_hear_find},
        [TAKE_CREATE] = {take_ask_create, take_hear_create},
        [TAKE_READ] = {take_ask_read, take_hear_read},
        [TAKE_ASK_END] = {take_ask_end, take_hear_end},
        [TAKE_CLAIM] = {take_ask_claim, take_hear_claim},
        [TAKE_MOVE_BASE] = {take_ask_move_base, hear_and_go_on},
        [TAKE_DELETE] = {take_ask_delete, hear_and_go_on},
    };
    struct aws_provider *provider = aws_provider_of(base);
    struct lease_op *lease = OP_NEW(provider, struct lease_op, steps, LEASE_MS, finish_take);
    lease->holder = arena_str(&lease->op.arena, request->holder);
    lease->lease_ms = request->lease_ms;
    lease->take_from = request->from;
    lease->done = done;
    lease->context = context;
    lease->nonce = provider->open_nonce.len > 0
                       ? provider->open_nonce
                       : random_hex(ANCHOR_NONCE_LEN / 2, &lease->op.arena);
    lease->op.at = first_step(lease, request);
    provider->epoch = 0;
    op_start(&lease->op);
}

/* ---- renewing and giving back ---- */

static enum aws_ask ask_still_ours(struct aws_script *op, struct aws_request *request)
{
    struct aws_provider *provider = op->provider;
    if (provider->epoch == 0 ||
        (!lease_of(op)->done_release && now_of(op) >= provider->lease_until)) {
        provider->epoch = 0;
        op_end(op, lease_of(op)->done_release ? OUTCOME_DONE : OUTCOME_MISMATCH, ERR_EXISTS,
               "the lease has ended: take the cluster again");
        return ASK_NOTHING;
    }
    return ask_versions(lease_of(op), request, provider->anchor, provider->epoch);
}

static enum aws_turn hear_still_ours(struct aws_script *op, const struct aws_heard *heard)
{
    struct lease_op *lease = lease_of(op);
    struct aws_provider *provider = op->provider;
    if (is_gone(heard)) {
        provider->epoch = 0;
        return op_end(op, OUTCOME_MISMATCH, ERR_NOT_FOUND, "the cluster's anchor was removed");
    }
    if (!heard->reply->is_ok) {
        return op_fail(op, heard);
    }
    read_claims(lease, heard, provider->epoch);
    if (!lease->chain.last) {
        return op_not_yet(op, "AWS does not show our own claim on the cluster");
    }
    if (lease->chain.last->number != provider->epoch) {
        provider->epoch = 0;
        return lost_to(lease, lease->chain.last, STR(""));
    }
    return TURN_NEXT;
}

static enum aws_ask ask_write_end(struct aws_script *op, struct aws_request *request)
{
    struct lease_op *lease = lease_of(op);
    struct aws_provider *provider = op->provider;
    struct arena *arena = &op->arena;
    struct param *input = param_new_map(arena);
    lease->until = lease->done_release ? 0 : now_of(op) + lease->lease_ms / 1000;
    param_add_text(param_add_list(input, "Resources", arena), "", provider->anchor, arena);
    param_add_tag(param_add_list(input, "Tags", arena), STR(TAG_LEASE_UNTIL),
                  anchor_lease_write(provider->epoch, lease->until, arena), arena);
    return ask_change(request, "CreateTags", input);
}

static enum aws_turn hear_write_end(struct aws_script *op, const struct aws_heard *heard)
{
    return heard->reply->is_ok ? TURN_NEXT : op_fail(op, heard);
}

/* A renewal counts only when it was whole before the old end: later, somebody may already have
 * taken the cluster in good faith. */
static void finish_renew(struct aws_script *op)
{
    struct lease_op *lease = lease_of(op);
    struct aws_provider *provider = op->provider;
    if (op->answer.outcome == OUTCOME_DONE && now_of(op) >= provider->lease_until) {
        op_end(op, OUTCOME_MISMATCH, ERR_TIMEOUT, "the lease ended before it could be renewed");
        provider->epoch = 0;
    }
    if (op->answer.outcome == OUTCOME_DONE) {
        provider->lease_until = lease->until;
        tell_own(lease);
    }
    finish_lease(op);
}

void aws_renew(struct provider *base, int64_t lease_ms, provider_lease_fn *done, void *context)
{
    /* Looks first: somebody who was thrown out must not write over the end of his successor's. */
    static const struct aws_step steps[] = {
        {ask_still_ours, hear_still_ours},
        {ask_write_end, hear_write_end},
        {ask_still_ours, hear_still_ours},
    };
    struct aws_provider *provider = aws_provider_of(base);
    struct lease_op *lease = OP_NEW(provider, struct lease_op, steps, LEASE_MS, finish_renew);
    lease->lease_ms = lease_ms;
    lease->done = done;
    lease->context = context;
    op_start(&lease->op);
}

static void finish_release(struct aws_script *op)
{
    struct lease_op *lease = lease_of(op);
    if (op->answer.outcome == OUTCOME_DONE || op->answer.outcome == OUTCOME_MISMATCH) {
        op->answer.outcome = OUTCOME_DONE; /* what is somebody else's now is given back, too */
        op->provider->epoch = 0;
    }
    lease->done_release(lease->context, &op->answer);
}

void aws_release(struct provider *base, provider_done_fn *done, void *context)
{
    static const struct aws_step steps[] = {
        {ask_still_ours, hear_still_ours},
        {ask_write_end, hear_write_end},
    };
    struct aws_provider *provider = aws_provider_of(base);
    struct lease_op *lease = OP_NEW(provider, struct lease_op, steps, LEASE_MS, finish_release);
    lease->done_release = done;
    lease->context = context;
    op_start(&lease->op);
}

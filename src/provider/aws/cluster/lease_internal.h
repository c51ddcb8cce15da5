/*
 * lease_internal.h: the lease operations, private. lease_object.c finds the lease object, renews
 * and releases the lease; lease_acquire.c takes it; lease_by_name.c lists instances by the
 * cluster's name.
 */
#pragma once

#include "provider/aws/aws_internal.h"
#include "provider/aws/cluster/lease_by_name.h"
#include "provider/aws/cluster/lease_chain.h"
#include "provider/aws/cluster/lease_object.h"

enum { LEASE_OP_MS = 60 * 1000 }; /* deadline for taking, renewing or releasing */

struct lease_op {
    struct aws_workflow op; /* must be first */
    struct str holder;
    int64_t lease_ms;
    uint64_t take_from;
    bool may_create;
    struct str known_uid;
    uint64_t known_epoch;
    bool has_looked;         /* the lease object was looked up in this operation */
    bool has_named;          /* instances of this name were listed in this operation */
    bool is_blind;           /* the claim was made from handed-over state, without reading */
    provider_lease_fn *done; /* for take and renew */
    provider_done_fn *done_release;
    void *context;
    struct str nonce;
    struct str new_uid;        /* uid of the lease object, if we create it */
    uint64_t new_base;         /* base of its epochs */
    bool is_minted;            /* `new_uid` was generated: no resource can have it yet */
    struct str first_claim;    /* original text of the claim: a retried call must be identical */
    struct lease_object found; /* the lease object as last read */
    struct lease_claim *claims;
    size_t claim_count;
    struct lease_chain chain;
    struct str claim;           /* our claim, created or planned */
    uint64_t made;              /* version of our claim; 0: not created yet */
    int64_t asked_ms;           /* when `until` was computed, on the loop's clock */
    int64_t until;              /* requested expiry, on the servers' clock */
    struct cluster_lease lease; /* the result */
    bool tells_lease;
};

static inline struct lease_op *lease_of(struct aws_workflow *op)
{
    return (struct lease_op *)op;
}

int64_t lease_now(const struct aws_workflow *op); /* the time on the servers' clock */
/* Records that the lease is ours until then (servers' clock), or that it is not ours any more. */
void lease_hold(struct lease_op *lease, int64_t until);
void lease_lose(struct aws_provider *provider);
void lease_tell_own(struct lease_op *lease);
enum aws_next lease_lost_to(struct lease_op *lease, const struct lease_claim *claim,
                            struct str tag);
void lease_finish(struct aws_workflow *op);

uint64_t lease_object_number_in(const struct xml_element *item, const char *name);
void lease_object_remember(struct aws_provider *provider, const struct lease_object *found);
enum aws_next lease_object_not_ours(struct aws_workflow *op);
/* True if this error says that the lease object does not exist. */
bool lease_object_is_gone(const struct aws_result *result);
/* Reads the versions from `first` on. The second function handles the reply. */
enum aws_ask lease_object_ask_versions(struct lease_op *lease, struct aws_request *request,
                                       struct str id, uint64_t first);
void lease_object_read_claims(struct lease_op *lease, const struct aws_result *result,
                              uint64_t first);

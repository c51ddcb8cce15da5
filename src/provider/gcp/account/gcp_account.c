/* gcp_account.c: four listings of a project at once. */
#include "provider/gcp/account/gcp_account.h"

#include "base/buf.h"
#include "base/encode.h"
#include "io/xalloc.h"
#include "provider/gcp/account/gcp_account_read.h"
#include "provider/gcp/client/gcp_client.h"
#include "provider/gcp/wire/gcp_instance.h"

#include <stdlib.h>

enum { LISTING_MS = 30 * 1000, PAGE_MAX = 500, PAGES_MAX = 1000, FILTER_BYTES_MAX = 1024 };

enum gcp_listing_kind { LIST_INSTANCES, LIST_DISKS, LIST_RULES, LIST_TEMPLATES, GCP_LISTING_COUNT };

struct gcp_listing_form {
    const char *name; /* of the method */
    const char *path;
    const char *key; /* in the entry of each zone; NULL: the list is of one place */
    const char *filter;
    const char *what;
    gcp_account_read_fn *read;
};

/* With returnPartialSuccess, Google lists the zones that it can reach. */
static const struct gcp_listing_form forms[GCP_LISTING_COUNT] = {
    [LIST_INSTANCES] = {"instances.aggregatedList",
                        "aggregated/instances?returnPartialSuccess=true&", "instances",
                        "(labels." TAG_CLUSTER_UID ":*) OR (labels.ray-cluster-name:*)",
                        "instances", gcp_account_read_instances},
    [LIST_DISKS] = {"disks.aggregatedList", "aggregated/disks?returnPartialSuccess=true&", "disks",
                    "labels." TAG_CLUSTER_UID ":*", "disks", gcp_account_read_disks},
    [LIST_RULES] = {"firewalls.list", "global/firewalls?", NULL, "name eq shoal-.*",
                    "firewall rules", gcp_account_read_rules},
    [LIST_TEMPLATES] = {"instanceTemplates.list", "global/instanceTemplates?", NULL,
                        "name eq shoal-.*-[0-9]+", "instance templates",
                        gcp_account_read_templates},
};

struct gcp_listing {
    struct gcp_account *account;
    const struct gcp_listing_form *form;
    json_t *items, *missed; /* owned */
    struct str page;        /* its token */
    size_t pages;
    bool is_done;
    struct err err;  /* ERR_NONE: it succeeded */
    struct str code; /* of the error */
};

struct gcp_account {
    struct gcp_account_setup setup;
    gcp_account_fn *done;
    void *context;
    struct gcp_client *client;
    struct arena own_arena; /* for requests */
    struct gcp_listing listings[GCP_LISTING_COUNT];
    struct account_basket basket;
    struct account result;
    struct account_gap *gaps;
    size_t gap_count, gap_capacity;
    struct str *blind_regions;
    size_t blind_count, blind_capacity;
    bool sees_everywhere;
};

/* ---- gaps ---- */

static void gcp_account_add_gap(struct gcp_account *account, const struct gcp_listing *listing,
                                struct str place, const struct err *err)
{
    ARENA_PUSH(account->setup.arena, account->gaps, account->gap_count,
               account->gap_capacity) = (struct account_gap){
        place, str_from(listing->form->what), listing->code, *err, account->result.projects[0]};
}

/* Where instances could not be listed, nothing is left over. */
static void gcp_account_set_blind(struct gcp_account *account, struct str place)
{
    struct str region = gcp_region_of(place);
    account->sees_everywhere = account->sees_everywhere && region.len > 0;
    ARENA_PUSH(account->setup.arena, account->blind_regions, account->blind_count,
               account->blind_capacity) = region;
}

static void gcp_account_add_missed(struct gcp_account *account, const struct gcp_listing *listing)
{
    for (size_t i = 0; i < json_array_size(listing->missed); i++) {
        struct err err;
        struct str place = arena_str(
            account->setup.arena, str_from(json_string_value(json_array_get(listing->missed, i))));
        err_set(&err, ERR_UNAVAILABLE,
                "%s: Google cannot reach a zone at the moment; try again later",
                listing->form->name);
        gcp_account_add_gap(account, listing, place, &err);
        if (listing->form == &forms[LIST_INSTANCES]) {
            gcp_account_set_blind(account, place);
        }
    }
}

/* A listing with an item that cannot be read is discarded. Without the leases, a cluster that is
 * being created looks like a leftover. */
static void gcp_account_take(struct gcp_account *account, struct gcp_listing *listing)
{
    struct account_basket before = account->basket;
    struct err *err = &listing->err;
    if (err->kind == ERR_NONE &&
        !listing->form->read(&account->basket, account->result.projects[0], listing->items, err)) {
        account->basket = before;
    }
    if (err->kind != ERR_NONE) {
        gcp_account_add_gap(account, listing, STR(""), err);
        account->sees_everywhere = account->sees_everywhere &&
                                   listing->form != &forms[LIST_TEMPLATES];
    }
    gcp_account_add_missed(account, listing);
}

/* ---- the end ---- */

static bool gcp_account_is_wanted(const struct gcp_account *account,
                                  const struct account_cluster *cluster)
{
    const struct gcp_account_setup *setup = &account->setup;
    size_t i = 0;
    while (i < setup->region_count && !str_eq(setup->regions[i], cluster->owner.region)) {
        i++;
    }
    return setup->region_count == 0 || i < setup->region_count;
}

/* All zones are listed in any case: those of other regions may have a leftover's instances. */
static void gcp_account_gather(struct gcp_account *account)
{
    struct account *result = &account->result;
    struct account_cluster *clusters;
    size_t count;
    struct account_finds finds = account->basket.finds;
    finds.blind_regions = account->blind_regions;
    finds.blind_count = account->blind_count;
    finds.sees_everywhere = account->sees_everywhere;
    finds.now = result->now;
    account_gather(&finds, account->setup.arena, &clusters, &count);
    for (size_t i = 0; i < count; i++) {
        if (gcp_account_is_wanted(account, &clusters[i])) {
            clusters[result->cluster_count++] = clusters[i];
        }
    }
    result->clusters = clusters;
    result->gaps = account->gaps;
    result->gap_count = account->gap_count;
}

static void gcp_account_finish(struct gcp_account *account)
{
    struct arena *arena = account->setup.arena;
    struct account *result = &account->result;
    struct gcp_listing *instances = &account->listings[LIST_INSTANCES];
    struct str *project = ARENA_NEW(arena, struct str);
    *project = arena_str(arena, gcp_client_project(account->client));
    result->projects = project;
    result->project_count = 1;
    result->now = gcp_client_now_ms(account->client) / 1000;
    account->sees_everywhere = true;
    for (size_t i = 0; i < GCP_LISTING_COUNT; i++) {
        gcp_account_take(account, &account->listings[i]);
    }
    if (instances->err.kind == ERR_NONE) {
        gcp_account_gather(account);
        account->done(account->context, result, NULL);
        return;
    }
    if (project->len == 0 && gcp_client_source(account->client).len > 0) {
        err_set(&instances->err, ERR_NOT_FOUND,
                "the Google credentials name no project: add --project ID, or set "
                "GOOGLE_CLOUD_PROJECT");
    }
    account->done(account->context, NULL, &instances->err);
}

/* ---- pages ---- */

static void gcp_listing_request(struct gcp_listing *listing);

static void gcp_listing_end(struct gcp_listing *listing)
{
    struct gcp_account *account = listing->account;
    bool is_done = true;
    listing->is_done = true;
    for (size_t i = 0; i < GCP_LISTING_COUNT; i++) {
        is_done = is_done && account->listings[i].is_done;
    }
    if (is_done) {
        gcp_account_finish(account);
    }
}

static void gcp_listing_on_page(void *context, const struct gcp_reply *reply)
{
    struct gcp_listing *listing = context;
    struct arena *arena = &listing->account->own_arena;
    struct str next = STR("");
    if (!reply->is_ok) {
        listing->err = reply->err;
        listing->code = arena_str(listing->account->setup.arena, str_from(reply->failure.reason));
    } else if (gcp_page_read_some(reply->body, listing->form->key, listing->items, listing->missed,
                                  &next, &listing->err) &&
               next.len > 0) {
        if (++listing->pages < PAGES_MAX && !str_eq(next, listing->page)) {
            listing->page = arena_str(arena, next);
            gcp_listing_request(listing);
            return;
        }
        err_set(&listing->err, ERR_PROTOCOL, "%s: Google returned too many pages, or one twice",
                listing->form->name);
    }
    gcp_listing_end(listing);
}

static void gcp_listing_request(struct gcp_listing *listing)
{
    struct gcp_account *account = listing->account;
    AUTO_BUF struct buf path;
    buf_init(&path, FILTER_BYTES_MAX + listing->page.len * 3);
    buf_addf(&path, "%smaxResults=%d&filter=", listing->form->path, PAGE_MAX);
    encode_uri(&path, str_from(listing->form->filter), "");
    if (listing->page.len > 0) {
        buf_add_c(&path, "&pageToken=");
        encode_uri(&path, listing->page, "");
    }
    gcp_call_start(account->client, &(struct gcp_request){.name = listing->form->name,
                                                          .path = buf_str(&path),
                                                          .deadline_ms = LISTING_MS,
                                                          .done = gcp_listing_on_page,
                                                          .context = listing});
}

/* ---- start and free ---- */

struct gcp_account *gcp_account_start(const struct gcp_account_setup *setup, gcp_account_fn *done,
                                      void *context)
{
    struct gcp_account *account = HEAP_NEW(struct gcp_account);
    account->setup = *setup;
    account->done = done;
    account->context = context;
    account->client = gcp_client_new(
        &(struct gcp_client_setup){setup->base, setup->project, setup->seed});
    account->basket.arena = setup->arena;
    arena_init(&account->own_arena);
    for (size_t i = 0; i < GCP_LISTING_COUNT; i++) {
        account->listings[i] = (struct gcp_listing){
            .account = account, .form = &forms[i], .items = json_array(), .missed = json_array()};
        gcp_listing_request(&account->listings[i]);
    }
    return account;
}

void gcp_account_free(struct gcp_account *account)
{
    gcp_client_free(account->client);
    for (size_t i = 0; i < GCP_LISTING_COUNT; i++) {
        json_decref(account->listings[i].items);
        json_decref(account->listings[i].missed);
    }
    arena_clear(&account->own_arena);
    free(account);
}

struct str gcp_account_project(const struct gcp_account *account)
{
    return gcp_client_project(account->client);
}

struct gcp_account_progress gcp_account_progress(const struct gcp_account *account)
{
    struct gcp_account_progress progress = {.asked_count = GCP_LISTING_COUNT};
    for (size_t i = 0; i < GCP_LISTING_COUNT; i++) {
        progress.answered_count += account->listings[i].is_done;
    }
    return progress;
}

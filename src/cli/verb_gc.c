/* verb_gc.c: deletes resources of clusters that have no instances, and expired stopped clusters. */
#include "base/utf8.h"
#include "cli/cloud.h"
#include "cli/confirm.h"
#include "cli/json_object.h"
#include "cli/ls/gather.h"
#include "cli/ls/print.h"
#include "cli/output.h"
#include "cli/target.h"
#include "config/document/json_write.h"

#include <string.h>

enum { SUMMARY_BYTES_MAX = 1024 };

struct gc_fields {
    struct gathering_fields gather;
    bool deletes;
    bool yes;
};

static const struct option options[] = {
    {"delete", 0, OPTION_FLAG, offsetof(struct gc_fields, deletes), NULL, NULL,
     "Delete the listed resources, and terminate the instances of expired clusters. Without this "
     "option, nothing is changed."},
    {"yes", 'y', OPTION_FLAG, offsetof(struct gc_fields, yes), NULL, NULL,
     "Do not ask before deleting."},
    GATHERING_OPTIONS(struct gc_fields),
};

static const struct example examples[] = {
    {"shoal gc", "List leftover resources in every region."},
    {"shoal gc --delete", "Ask, then delete the leftover resources."},
    {"shoal gc --project my-project", "List leftover resources in a project of Google Cloud."},
    {"shoal gc --delete -y --region us-west-2", "Delete the leftover resources in one region "
                                                "without asking."},
};

/* ---- leftovers ---- */

struct leftover {
    const struct account_cluster *cluster;
    struct str region; /* region to search: a role alone has no region */
    bool is_expired;   /* has stopped instances */
    bool is_deleted;
    struct launcher_result result;
    struct err err; /* why the deletion was not tried */
};

struct gc {
    const struct cli *cli;
    const struct gc_fields *given;
    const struct account *account;
    struct leftover *leftovers;
    size_t count;
    size_t resources; /* number of resources in all leftovers, without volumes */
    size_t instances; /* of expired clusters */
    int64_t now;      /* by the cloud's clock */
    bool is_json;
};

/* Resources without a uid are not Shoal's; with an instance it is still a cluster. */
static bool is_leftover(const struct account_cluster *cluster)
{
    return cluster->state == ACCOUNT_LEFTOVER && cluster->owner.uid.len > 0;
}

static void verb_gc_find(struct gc *gc)
{
    const struct account *account = gc->account;
    gc->leftovers = ARENA_ARRAY(gc->cli->arena, account->cluster_count, struct leftover);
    for (size_t i = 0; i < account->cluster_count; i++) {
        const struct account_cluster *cluster = &account->clusters[i];
        struct str region = cluster->owner.region;
        bool is_google = cluster->owner.project.len > 0;
        bool is_expired = account_is_expired(cluster, gc->now);
        if (is_leftover(cluster) || is_expired) {
            gc->leftovers[gc->count++] = (struct leftover){
                .cluster = cluster,
                .region = region.len > 0 || is_google ? region : account->regions[0],
                .is_expired = is_expired};
            gc->resources += cluster->thing_count;
            gc->instances += cluster->machine_count;
        }
    }
}

/* ---- deleting ---- */

static void ignore_thing(void *context, const struct provider_resource *thing, bool is_made)
{
    (void)context;
    (void)thing;
    (void)is_made;
}

static void ignore_node(void *context, const struct node_view *view)
{
    (void)context;
    (void)view;
}

static void print_note(void *context, struct str text)
{
    cloud_print_lines(context, "note", text);
}

static bool delete_one(struct gc *gc, struct leftover *leftover, struct err *err)
{
    const struct account_owner *owner = &leftover->cluster->owner;
    struct cli cli = *gc->cli;
    struct target target;
    struct target_fields fields = {.file = arena_str(cli.arena, owner->name).ptr,
                                   .profile = gc->given->gather.profile};
    if (owner->project.len > 0) {
        fields.project = arena_str(cli.arena, owner->project).ptr;
    }
    if (owner->name.len == 0) {
        return err_set(err, ERR_NOT_FOUND, "%s; delete the resources%s manually",
                       fields.project
                           ? "the name of the cluster is unknown, so its lease cannot be found"
                           : "its resources have no ray-cluster-name tag, so the name "
                             "of its IAM role is unknown",
                       fields.project ? "" : " and the role");
    }
    if (target_open_named(&target, &cli, &fields, leftover->region) != 0 ||
        target_connect(&target) != 0) {
        target_close(&target);
        return err_set(err, ERR_IO, "see the error above");
    }
    target.setup.uid = owner->uid;
    target.setup.is_leftover = !leftover->is_expired;
    target.setup.is_expired = leftover->is_expired;
    target.setup.hooks = (struct launcher_hooks){
        .context = &cli, .thing = ignore_thing, .node = ignore_node, .note = print_note};
    bool ok = launcher_down(&target.setup, cli.arena, &leftover->result, err);
    leftover->is_deleted = ok && leftover->result.is_proven;
    target_close(&target);
    return ok;
}

/* Disks may contain data, and gc deletes nothing else of this cluster. */
static bool verb_gc_has_only_disks(const struct account_cluster *cluster)
{
    return cluster->thing_count + cluster->machine_count == 0;
}

/* Returns 1 if something is left, otherwise 0. */
static int delete_all(struct gc *gc)
{
    int status = 0;
    for (size_t i = 0; i < gc->count; i++) {
        struct leftover *leftover = &gc->leftovers[i];
        if (verb_gc_has_only_disks(leftover->cluster)) {
            continue;
        }
        if (!delete_one(gc, leftover, &leftover->err) || !leftover->is_deleted) {
            status = 1;
        }
    }
    return status;
}

/* ---- printing ---- */

static void verb_gc_add_resources(struct buf *out, const struct account_cluster *cluster)
{
    for (size_t i = 0; i < cluster->machine_count; i++) {
        buf_addf(out, "  %-17s %.*s, stopped: terminated with its disks by shoal gc --delete\n",
                 "instance", STR_ARG(cluster->machines[i].id));
    }
    for (size_t i = 0; i < cluster->thing_count; i++) {
        const struct account_thing *thing = &cluster->things[i];
        buf_addf(out, "  %-17s ", account_thing_name(thing->kind));
        utf8_add_visible(out, thing->id, false);
        buf_add_char(out, '\n');
    }
    for (size_t i = 0; cluster->machine_count == 0 && i < cluster->volume_count; i++) {
        const struct account_volume *volume = &cluster->volumes[i];
        bool is_google = cluster->owner.project.len > 0;
        buf_addf(out,
                 "  %-17s %.*s, %lld GB: not deleted by shoal gc, because it may contain data; "
                 "to delete it: ",
                 is_google ? "disk" : "volume", STR_ARG(volume->id), (long long)volume->gb);
        if (is_google) {
            bool is_regional = volume->zone.len == 0;
            buf_addf(out, "gcloud compute disks delete %.*s --project %.*s --%s %.*s\n",
                     STR_ARG(volume->id), STR_ARG(cluster->owner.project),
                     is_regional ? "region" : "zone",
                     STR_ARG(is_regional ? volume->owner.region : volume->zone));
        } else {
            buf_add_c(out, "aws ec2 delete-volume\n");
        }
    }
}

static void add_outcome(struct buf *out, const struct leftover *leftover)
{
    if (verb_gc_has_only_disks(leftover->cluster)) {
        buf_add_c(out, ": only volumes or disks are left; they are not deleted");
    } else if (leftover->is_deleted) {
        buf_add_c(out, ": deleted");
    } else if (leftover->err.kind != ERR_NONE) {
        buf_add_c(out, ": not deleted, ");
        utf8_add_visible(out, str_from(leftover->err.text), false);
    } else {
        buf_add_c(out, ": some resources could not be deleted");
    }
}

static void verb_gc_print_text(const struct gc *gc, bool is_done)
{
    AUTO_BUF struct buf out;
    buf_init(&out, OUTPUT_BYTES_MAX);
    for (size_t i = 0; i < gc->count; i++) {
        const struct leftover *leftover = &gc->leftovers[i];
        const struct account_owner *owner = &leftover->cluster->owner;
        utf8_add_visible(&out, owner->name.len > 0 ? owner->name : STR("(no name)"), false);
        if (owner->project.len > 0) {
            buf_addf(&out, "  %.*s", STR_ARG(owner->project));
        }
        buf_addf(&out, "  %.*s  %.*s",
                 STR_ARG(leftover->region.len > 0 ? leftover->region : STR("-")),
                 STR_ARG(owner->uid));
        if (is_done) {
            add_outcome(&out, leftover);
        } else if (leftover->is_expired) {
            buf_add_c(&out, "  stopped for longer than its idle_terminate");
        }
        buf_add_char(&out, '\n');
        if (!is_done) {
            verb_gc_add_resources(&out, leftover->cluster);
        }
        for (size_t j = 0; is_done && j < leftover->result.left_count; j++) {
            const struct provider_resource *thing = &leftover->result.left[j];
            buf_addf(&out, "  left      %.*s %.*s: ", STR_ARG(thing->kind), STR_ARG(thing->id));
            utf8_add_visible(&out, thing->note, false);
            buf_add_char(&out, '\n');
        }
    }
    fwrite(out.ptr ? out.ptr : "", 1, out.len, gc->cli->out);
}

static struct value *leftover_record(struct arena *arena, const struct leftover *leftover)
{
    const struct account_cluster *cluster = leftover->cluster;
    struct value *record = record_new(arena);
    struct value *resources = record_list(arena);
    struct value *volumes = record_list(arena);
    struct value *instances = record_list(arena);
    for (size_t i = 0; i < cluster->machine_count; i++) {
        value_list_add(arena, instances,
                       value_string(arena, cluster->machines[i].id, (struct place){0}));
    }
    for (size_t i = 0; i < cluster->thing_count; i++) {
        struct value *thing = record_new(arena);
        record_text(arena, thing, "kind", str_from(account_thing_name(cluster->things[i].kind)));
        record_text(arena, thing, "id", cluster->things[i].id);
        value_list_add(arena, resources, thing);
    }
    for (size_t i = 0; i < cluster->volume_count; i++) {
        value_list_add(arena, volumes,
                       value_string(arena, cluster->volumes[i].id, (struct place){0}));
    }
    record_text(arena, record, "name", cluster->owner.name);
    record_text(arena, record, "provider",
                cluster->owner.project.len > 0 ? STR("gcp") : STR("aws"));
    if (cluster->owner.project.len > 0) {
        record_text(arena, record, "project", cluster->owner.project);
    } else {
        record_null(arena, record, "project");
    }
    record_text(arena, record, "region", leftover->region);
    record_text(arena, record, "uid", cluster->owner.uid);
    record_flag(arena, record, "expired", leftover->is_expired);
    value_map_set_c(arena, record, "instances", instances);
    value_map_set_c(arena, record, "resources", resources);
    value_map_set_c(arena, record, "volumes", volumes);
    record_flag(arena, record, "deleted", leftover->is_deleted);
    record_text(arena, record, "error", str_from(leftover->err.text));
    return record;
}

static int verb_gc_print_json(const struct gc *gc)
{
    AUTO_BUF struct buf out;
    struct arena *arena = gc->cli->arena;
    struct value *record = record_new(arena);
    struct value *list = record_list(arena);
    struct err err;
    buf_init(&out, OUTPUT_BYTES_MAX);
    for (size_t i = 0; i < gc->count; i++) {
        value_list_add(arena, list, leftover_record(arena, &gc->leftovers[i]));
    }
    record_flag(arena, record, "complete", gc->account->gap_count == 0);
    value_map_set_c(arena, record, "leftovers", list);
    if (!json_write(&out, record, JSON_PRETTY, &err)) {
        return output_error(gc->cli, &err);
    }
    buf_add_char(&out, '\n');
    return output_write(gc->cli, gc->cli->out, &out);
}

/* "3 resources of 1 cluster without instances, and 2 stopped instances of expired clusters" */
static void verb_gc_add_summary(const struct gc *gc, struct buf *out)
{
    buf_addf(out, "%zu resource%s of %zu cluster%s%s", gc->resources, gc->resources == 1 ? "" : "s",
             gc->count, gc->count == 1 ? "" : "s", gc->instances == 0 ? " without instances" : "");
    if (gc->instances > 0) {
        buf_addf(out, ", and %zu stopped instance%s of expired clusters", gc->instances,
                 gc->instances == 1 ? "" : "s");
    }
}

/* Such as one whose head shut itself down. */
static void say_stopped(const struct gc *gc)
{
    for (size_t i = 0; i < gc->account->cluster_count; i++) {
        const struct account_cluster *cluster = &gc->account->clusters[i];
        struct str remedy = ls_remedy(gc->cli->arena, cluster, gc->now);
        if (cluster->state == ACCOUNT_STOPPED && remedy.len > 0 &&
            !account_is_expired(cluster, gc->now)) {
            cloud_print_lines(gc->cli, "note",
                              arena_printf(gc->cli->arena,
                                           "%.*s is stopped, and its disks are billed; gc keeps "
                                           "it; to delete it: %.*s",
                                           STR_ARG(cluster->owner.name), STR_ARG(remedy)));
        }
    }
}

static void say_summary(const struct gc *gc)
{
    const struct cli *cli = gc->cli;
    say_stopped(gc);
    if (gc->count == 0) {
        fprintf(cli->err, "No leftover resources%s.\n",
                gc->account->gap_count > 0 ? " in the regions that could be listed" : "");
        return;
    }
    if (gc->resources + gc->instances == 0) {
        fputs("Only volumes or disks are left, which shoal gc does not delete.\n", cli->err);
        return;
    }
    AUTO_BUF struct buf out;
    buf_init(&out, SUMMARY_BYTES_MAX);
    verb_gc_add_summary(gc, &out);
    buf_add_c(&out, ". Nothing was changed; to delete: shoal gc --delete\n");
    output_print(cli->err, buf_str(&out));
}

/* ---- the verb ---- */

static bool verb_gc_request(const struct gc *gc, struct err *err)
{
    struct str disks = gc->instances == 0
                           ? STR("")
                           : arena_printf(gc->cli->arena,
                                          " %zu stopped instance%s of expired "
                                          "clusters will be terminated; the data on "
                                          "their disks is lost.",
                                          gc->instances, gc->instances == 1 ? "" : "s");
    struct str question = arena_printf(
        gc->cli->arena, "%zu resource%s of %zu cluster%s will be deleted.%.*s", gc->resources,
        gc->resources == 1 ? "" : "s", gc->count, gc->count == 1 ? "" : "s", STR_ARG(disks));
    return confirm(gc->cli, question.ptr, gc->given->yes, err);
}

static int verb_gc_work(struct gc *gc)
{
    int status = gc->account->gap_count > 0;
    struct err err;
    AUTO_BUF struct buf gaps;
    AUTO_BUF struct buf skipped;
    buf_init(&gaps, OUTPUT_BYTES_MAX);
    buf_init(&skipped, OUTPUT_BYTES_MAX);
    ls_print_skipped(&skipped, gc->account);
    cloud_print_lines(gc->cli, "note", buf_str(&skipped));
    ls_print_gaps(&gaps, gc->cli->arena, gc->account);
    cloud_print_lines(gc->cli, "warning", buf_str(&gaps));
    bool deletes = gc->given->deletes && gc->resources + gc->instances > 0;
    if (!gc->is_json) {
        verb_gc_print_text(gc, false);
    }
    if (deletes) {
        fflush(gc->cli->out);
        if (!verb_gc_request(gc, &err)) {
            return output_error(gc->cli, &err);
        }
        status |= delete_all(gc);
    }
    if (gc->is_json) {
        return status | verb_gc_print_json(gc);
    }
    if (deletes) {
        verb_gc_print_text(gc, true);
    } else {
        say_summary(gc);
    }
    return status;
}

static int verb_gc_run(const struct cli *cli, const void *fields)
{
    const struct gc_fields *given = fields;
    struct gathering gathering = {.cli = cli, .arena = cli->arena};
    struct gc gc = {.cli = cli, .given = given};
    int status = gathering_run(&gathering, &given->gather);
    gc.account = gathering.account;
    gc.now = gathering.account ? gathering.account->now : 0;
    gathering_close(&gathering);
    if (status != 0) {
        return status;
    }
    gc.is_json = given->gather.output && strcmp(given->gather.output, "json") == 0;
    verb_gc_find(&gc);
    return verb_gc_work(&gc);
}

const struct verb verb_gc = {
    .name = "gc",
    .summary = "list and delete leftover resources and expired clusters",
    .description =
        "Lists the leftover resources in all regions of an AWS account and in projects of Google "
        "Cloud (the same ones as shoal ls): every security group, key pair, launch template, IAM "
        "role and instance profile with Shoal's tag (shoal-cluster-uid), and every firewall rule "
        "and instance template that has a cluster's uid in its description or metadata, if the "
        "cluster has no instances and no other process uses it. Nothing is changed without "
        "--delete.\n\n"
        "It also lists expired clusters: every instance is stopped, and the head has been stopped "
        "for longer than metadata.shoal.idle_terminate allowed when it was stopped.\n\n"
        "With --delete it asks, checks once more that each cluster has no instances or is still "
        "expired, and deletes the resources as shoal down does. It terminates only instances of "
        "expired clusters, with their disks, never changes a "
        "resource without the tag (such as those of Ray's own launcher), and never deletes "
        "another volume or disk: those are only listed, because they may contain data.\n\n"
        "If a region or zone cannot be listed, it is named on standard error, and none of its "
        "resources count as leftover.",
    VERB_ROWS(option),
    VERB_ROWS(example),
    .exit_status = "0 if everything could be listed and, with --delete, deleted; 1 otherwise, 2 "
                   "for a usage error, 130 after Ctrl-C.",
    .fields_size = sizeof(struct gc_fields),
    .run = verb_gc_run,
};

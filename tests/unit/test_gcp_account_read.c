/* test_gcp_account_read.c: what of Google's listings belongs to clusters. */
#include "provider/gcp/account/gcp_account_read.h"

#include "provider/gcp/wire/gcp_names.h"
#include "unit.h"

#define UID "0123456789abcdef0123456789abcdef"
#define OTHER "ffffffffffffffffffffffffffffffff"
#define ZONE "\"zone\": \"https://g/v1/projects/p/zones/us-central1-a\""

struct scene {
    struct arena arena;
    struct account_basket basket;
    json_t *items;
    struct err err;
};

static bool read_items(struct scene *scene, gcp_account_read_fn *read, const char *text)
{
    json_decref(scene->items);
    scene->items = json_loads(text, 0, NULL);
    assert_non_null(scene->items);
    return read(&scene->basket, STR("p"), scene->items, &scene->err);
}

static void set_up(struct scene *scene)
{
    *scene = (struct scene){0};
    arena_init(&scene->arena);
    scene->basket.arena = &scene->arena;
}

static void tear_down(struct scene *scene)
{
    json_decref(scene->items);
    arena_clear(&scene->arena);
}

static void instances(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    assert_true(read_items(
        &scene, gcp_account_read_instances,
        "[{\"name\": \"a\", " ZONE ", \"status\": \"TERMINATED\", \"machineType\": \"x/n1\","
        "  \"scheduling\": {\"provisioningModel\": \"SPOT\"},"
        "  \"creationTimestamp\": \"2026-11-18T00:00:00.000-08:00\","
        "  \"labels\": {\"shoal-cluster-uid\": \"" UID "\", \"ray-node-type\": \"head\"},"
        "  \"metadata\": {\"items\": [{\"key\": \"shoal-tags\","
        "    \"value\": \"{\\\"ray-cluster-name\\\": \\\"De.mo\\\"}\"}]},"
        "  \"disks\": [{\"type\": \"PERSISTENT\", \"source\": \"x/disks/a\"}]},"
        " {\"name\": \"b\", " ZONE ", \"status\": \"RUNNING\","
        "  \"labels\": {\"ray-cluster-name\": \"rays\"},"
        "  \"disks\": [{\"type\": \"PERSISTENT\", \"source\": \"x/disks/b\","
        "               \"diskSizeGb\": \"50\"}, {\"type\": \"SCRATCH\"}]},"
        " {\"name\": \"c\", " ZONE ", \"status\": \"RUNNING\","
        "  \"labels\": {\"shoal-cluster-uid\": \"mine\"}},"
        " {\"name\": \"d\", " ZONE ", \"status\": \"RUNNING\","
        "  \"labels\": {\"ray-cluster-name\": \"x\", \"shoal-cluster-uid\": \"x-or-y\"}}]"));
    const struct account_finds *finds = &scene.basket.finds;
    assert_int_equal(finds->machine_count, 3); /* c has no name, and its uid is not Shoal's */
    assert_str(finds->machines[0].owner.name, "De.mo");
    assert_str(finds->machines[0].owner.uid, UID);
    assert_str(finds->machines[0].owner.region, "us-central1");
    assert_str(finds->machines[0].owner.project, "p");
    assert_int_equal(finds->machines[0].state, MACHINE_STOPPED);
    assert_int_equal(finds->machines[0].market, MARKET_SPOT);
    assert_int_equal(finds->machines[0].launched_at, 1794988800);
    assert_true(finds->machines[0].is_head && finds->machines[0].is_unpriced);
    assert_str(finds->machines[2].owner.uid, "");
    /* Disks of Shoal's instances have labels, and are in their own listing. */
    assert_int_equal(finds->volume_count, 1);
    assert_str(finds->volumes[0].id, "b");
    assert_str(finds->volumes[0].machine, "b");
    assert_int_equal(finds->volumes[0].gb, 50);
    assert_false(read_items(&scene, gcp_account_read_instances,
                            "[{\"name\": \"e\", " ZONE ", \"status\": \"NEW\"}]"));
    tear_down(&scene);
}

static void disks(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    assert_true(read_items(
        &scene, gcp_account_read_disks,
        "[{\"name\": \"a\", " ZONE ", \"sizeGb\": \"50\", \"type\": \"x/pd-ssd\","
        "  \"users\": [\"x/instances/i\"], \"labels\": {\"shoal-cluster-uid\": \"" UID "\"}},"
        " {\"name\": \"b\", \"region\": \"x/us-east1\", \"sizeGb\": \"-5\","
        "  \"labels\": {\"shoal-cluster-uid\": \"" UID "\", \"ray-cluster-name\": \"demo\"}},"
        " {\"name\": \"c\", " ZONE ", \"status\": \"DELETING\","
        "  \"labels\": {\"shoal-cluster-uid\": \"" UID "\"}},"
        " {\"name\": \"d\", " ZONE ", \"labels\": {\"ray-cluster-name\": \"demo\"}}]"));
    const struct account_finds *finds = &scene.basket.finds;
    assert_int_equal(finds->volume_count, 2);
    assert_str(finds->volumes[0].machine, "i");
    assert_str(finds->volumes[0].kind, "pd-ssd");
    assert_str(finds->volumes[0].zone, "us-central1-a");
    assert_int_equal(finds->volumes[0].gb, 50);
    assert_str(finds->volumes[1].owner.region, "us-east1");
    assert_str(finds->volumes[1].owner.name, "demo");
    assert_int_equal(finds->volumes[1].gb, 0);
    assert_false(read_items(&scene, gcp_account_read_disks, "[{\"sizeGb\": \"1\"}]"));
    tear_down(&scene);
}

static void rules(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    struct str part = gcp_name_part(STR("demo"), &scene.arena);
    struct str prefix = gcp_rule_prefix(part, STR(UID), &scene.arena);
    struct str text = gcp_rule_description(STR("demo"), STR(UID), &scene.arena);
    assert_true(read_items(
        &scene, gcp_account_read_rules,
        arena_printf(&scene.arena,
                     "[{\"name\": \"%.*s-in\", \"description\": \"%.*s\"},"
                     " {\"name\": \"shoal-other-in\", \"description\": \"%.*s\"},"
                     " {\"name\": \"my-copy\", \"description\": \"%.*s\"},"
                     " {\"name\": \"shoal-web\", \"description\": \"for the web\"},"
                     " {\"name\": \"shoal-odd\", \"description\": \"shoal-cluster-uid=*\"}]",
                     STR_ARG(prefix), STR_ARG(text), STR_ARG(text), STR_ARG(text))
            .ptr));
    const struct account_finds *finds = &scene.basket.finds;
    assert_int_equal(finds->thing_count, 2);
    assert_str(finds->things[0].owner.name, "demo");
    assert_str(finds->things[0].owner.uid, UID);
    assert_str(finds->things[0].owner.region, "");
    assert_str(finds->things[1].owner.name, ""); /* its name does not fit the cluster's */
    assert_int_equal(finds->things[0].kind, THING_RULE);
    assert_false(read_items(&scene, gcp_account_read_rules, "[{}]"));
    tear_down(&scene);
}

static struct str template(struct scene *scene, const char *cluster, int version,
                           const char *record)
{
    struct str part = gcp_name_part(str_from(cluster), &scene->arena);
    json_t *item = json_pack(
        "{s:o, s:{s:{s:[{s:s, s:s}]}}}", "name",
        json_string(arena_printf(&scene->arena, "shoal-%.*s-%d", STR_ARG(part), version).ptr),
        "properties", "metadata", "items", "key", GCP_RECORD_KEY, "value", record);
    char *dump = json_dumps(item, 0);
    struct str text = arena_str(&scene->arena, str_from(dump));
    free(dump);
    json_decref(item);
    return text;
}

/* Only the newest version of a record counts: an older one has an older lease. */
static void leases(void **state)
{
    struct scene scene;
    (void)state;
    set_up(&scene);
    const char *demo = "{\"cluster\": \"demo\", \"uid\": \"" UID "\", \"region\": \"us-central1\","
                       " \"lease\": {\"epoch\": 1, \"until\": 500}}";
    const char *newest = "{\"cluster\": \"demo\", \"uid\": \"" UID "\", \"region\": \"../x\","
                         " \"lease\": {\"epoch\": 2, \"until\": 900}}";
    const char *gone = "{\"cluster\": \"gone\", \"uid\": \"" OTHER "\", \"region\": \"us-east1\"}";
    struct str text = arena_printf(
        &scene.arena, "[%s, %s, %s, %s, %s, {\"name\": \"shoal-web-3\"}]",
        template(&scene, "demo", 9, demo).ptr, template(&scene, "demo", 10, newest).ptr,
        template(&scene, "gone", 1, gone).ptr, template(&scene, "another", 1, gone).ptr,
        template(&scene, "broken", 1, "[]").ptr);
    assert_true(read_items(&scene, gcp_account_read_templates, text.ptr));
    const struct account_finds *finds = &scene.basket.finds;
    assert_int_equal(finds->thing_count, 2);
    assert_int_equal(finds->things[0].kind, THING_RECORD);
    assert_int_equal(finds->things[0].held_until, 900);
    assert_str(finds->things[0].home, "");
    assert_str(finds->things[1].owner.name, "gone");
    assert_int_equal(finds->things[1].held_until, 0);
    assert_str(finds->things[1].home, "us-east1");
    tear_down(&scene);
}

/* A leftover is shown in the region that its lease names; a lease that is held is none. */
static void clusters(void **state)
{
    struct scene scene;
    struct account_cluster *found;
    size_t count;
    (void)state;
    set_up(&scene);
    const char *held = "{\"cluster\": \"demo\", \"uid\": \"" UID "\","
                       " \"lease\": {\"epoch\": 2, \"until\": 900}}";
    const char *gone = "{\"cluster\": \"gone\", \"uid\": \"" OTHER "\", \"region\": \"us-east1\"}";
    struct str text = arena_printf(&scene.arena, "[%s, %s]", template(&scene, "demo", 1, held).ptr,
                                   template(&scene, "gone", 1, gone).ptr);
    assert_true(read_items(&scene, gcp_account_read_templates, text.ptr));
    struct account_finds finds = scene.basket.finds;
    finds.sees_everywhere = true;
    finds.now = 800;
    account_gather(&finds, &scene.arena, &found, &count);
    assert_int_equal(count, 2);
    assert_int_equal(found[0].state, ACCOUNT_STARTING);
    assert_int_equal(found[1].state, ACCOUNT_LEFTOVER);
    assert_str(found[1].owner.region, "us-east1");
    finds.now = 900;
    account_gather(&finds, &scene.arena, &found, &count);
    assert_int_equal(found[0].state, ACCOUNT_LEFTOVER);
    finds.blind_count = 1; /* a zone could not be listed: it may have their instances */
    finds.blind_regions = &(struct str){"us-west1", 8};
    account_gather(&finds, &scene.arena, &found, &count);
    assert_int_equal(count, 0);
    tear_down(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances), cmocka_unit_test(disks),    cmocka_unit_test(rules),
        cmocka_unit_test(leases),    cmocka_unit_test(clusters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

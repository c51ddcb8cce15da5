/* test_prepare_local.c: hosts given by address: one node type, counts from the addresses. */
#include "config/prepare/prepare_local.h"

#include "fixture.h"

#define MANUAL "cluster_name: x\nprovider: {type: local, head_ip: a, worker_ips: [b, c, d]}\n"
#define COORDINATOR "cluster_name: x\nprovider: {type: local, coordinator_address: \"a:1\"}\n"

/* "MIN to MAX of GLOBAL", and the findings. */
static struct str counts(struct fixture *f, const char *yaml)
{
    const struct value *tree = fixture_prepare(f, yaml);
    const struct value *types = value_get_c(tree, "available_node_types");
    const struct value *type = value_get_c(types, "local.cluster.node");
    struct str findings = fixture_findings(f);
    return arena_printf(&f->arena, "%.*s to %.*s of %.*s%s%.*s",
                        STR_ARG(fixture_json_at(f, type, "min_workers")),
                        STR_ARG(fixture_json_at(f, type, "max_workers")),
                        STR_ARG(fixture_json_at(f, tree, "max_workers")),
                        findings.len > 0 ? "; " : "", STR_ARG(findings));
}

static void counts_come_from_the_addresses(void **state)
{
    static const char *const rows[][2] = {
        {MANUAL, "3 to 3 of 3"},
        {MANUAL "min_workers: 1\n", "1 to 3 of 3"},
        {MANUAL "min_workers: 1\nmax_workers: 2\n", "1 to 2 of 2; 4:14 warning local"},
        {MANUAL "min_workers: 0\nmax_workers: 0\n", "0 to 0 of 0; 4:14 warning local"},
        /* More workers than addresses are reduced, with a warning. */
        {MANUAL "min_workers: 9\n", "3 to 3 of 3; 3:14 warning local"},
        {MANUAL "max_workers: 7\n", "3 to 3 of 3; 3:14 warning local"},
        {MANUAL "min_workers: 9\nmax_workers: 7\n",
         "3 to 3 of 3; 3:14 warning local\n4:14 warning local"},
        {"cluster_name: x\nprovider: {type: local, head_ip: a, worker_ips: []}\n", "0 to 0 of 0"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(counts(f, rows[i][0]), rows[i][1]);
    }
}

static void coordinator_needs_a_maximum(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    assert_str(counts(f, COORDINATOR "max_workers: 5\n"), "0 to 5 of 5");
    assert_str(counts(f, COORDINATOR "max_workers: 5\nmin_workers: 2\n"), "2 to 5 of 5");
    fixture_prepare(f, COORDINATOR);
    assert_true(f->diags.error_count > 0);
    assert_like(f->diags.items[0].text, "\"max_workers\"*coordinator_address*");
}

static void all_machines_are_of_one_type(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct value *tree = fixture_prepare(f, MANUAL);
    (void)state;
    assert_str(fixture_json_at(f, tree, "head_node_type"), "\"local.cluster.node\"");
    assert_str(fixture_json_at(f, tree, "available_node_types"),
               "{\"local.cluster.node\": {\"node_config\": {}, \"resources\": {}, "
               "\"min_workers\": 3, \"max_workers\": 3}}");
    assert_str(fixture_json_at(f, tree, "min_workers"), "(none)");
}

static void node_types_of_the_file_are_refused(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    fixture_prepare(f, MANUAL "head_node: {a: 1}\nworker_nodes: {}\n"
                              "available_node_types: {x: {node_config: {}}}\n");
    assert_str(fixture_findings(f), "3:1 error local\n5:1 error local");
}

static void missing_addresses_are_told(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    fixture_prepare(f, "cluster_name: x\nprovider: {type: local, worker_ips: [a]}\n");
    assert_like(fixture_messages(f), "2:1 error missing-key: *head_ip*worker_ips*");
}

/* What `shoal config` printed can be read again. */
static void prepared_file_is_taken_as_it_is(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const char *yaml = MANUAL "max_workers: 9\nhead_node_type: local.cluster.node\n"
                              "cluster_synced_files: []\navailable_node_types:\n"
                              "  local.cluster.node: {node_config: {}, resources: {}, "
                              "min_workers: 5, max_workers: 9}\n";
    (void)state;
    assert_str(counts(f, yaml), "5 to 9 of 9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_come_from_the_addresses),
        cmocka_unit_test(coordinator_needs_a_maximum),
        cmocka_unit_test(all_machines_are_of_one_type),
        cmocka_unit_test(node_types_of_the_file_are_refused),
        cmocka_unit_test(missing_addresses_are_told),
        cmocka_unit_test(prepared_file_is_taken_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* test_autofill.c: resources from instance types: all or none, and shared if node types are
 * aliases. */
#include "config/prepare/autofill.h"

#include "fixture.h"

#define AWS "provider: {type: aws, region: us-west-2}\nhead_node_type: h\navailable_node_types:\n"
#define GCP "provider: {type: gcp}\nhead_node_type: h\navailable_node_types:\n"
#define M5_LARGE "{\"CPU\": 2, \"memory\": 6012954214}"

/* The node types after autofill_resources(), without their node_config. */
static struct str filled(struct fixture *f, const char *yaml)
{
    AUTO_BUF struct buf out;
    buf_init(&out, 10000);
    struct value *config = fixture_read_c(f, yaml);
    assert_non_null(config);
    autofill_resources(&f->arena, value_text(value_path(config, "provider.type")), config,
                       &f->diags);
    const struct value *types = value_get_c(config, "available_node_types");
    for (size_t i = 0; i < types->map.count; i++) {
        const struct value_entry *type = &types->map.entries[i];
        struct str resources = fixture_json_at(f, type->value, "resources");
        buf_addf(&out, "%s%.*s %.*s", i > 0 ? "; " : "", STR_ARG(type->key->text),
                 STR_ARG(resources));
    }
    return arena_str(&f->arena, buf_str(&out));
}

static void machine_types_give_resources(void **state)
{
    static const char *const rows[][2] = {
        /* The head keeps its memory. */
        {AWS "  h: {node_config: {InstanceType: m5.large}}\n"
             "  w: {node_config: {InstanceType: m5.large}}\n",
         "h {\"CPU\": 2}; w " M5_LARGE},
        {AWS "  h: {node_config: {InstanceType: g5.xlarge}, resources: {}}\n",
         "h {\"CPU\": 4, \"GPU\": 1, \"accelerator_type:A10G\": 1}"},
        {AWS "  h: {node_config: {InstanceType: inf2.xlarge}}\n",
         "h {\"CPU\": 4, \"neuron_cores\": 2, \"accelerator_type:aws-neuron-core\": 1}"},
        /* Values of the file win, and keep their place. */
        {AWS "  h: {node_config: {InstanceType: m5.large}, resources: {CPU: 0}}\n"
             "  w: {node_config: {InstanceType: m5.large}, resources: {mine: 1, CPU: 9}}\n",
         "h {\"CPU\": 0}; w {\"CPU\": 9, \"memory\": 6012954214, \"mine\": 1}"},
        {AWS "  h: {node_config: {InstanceType: m5.large}, resources: [[CPU, 1]]}\n",
         "h {\"CPU\": 1}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(filled(f, rows[i][0]), rows[i][1]);
        assert_str(fixture_findings(f), "");
    }
}

static void one_unknown_type_leaves_all_as_they_were(void **state)
{
    static const char *const rows[][2] = {
        {AWS "  h: {node_config: {InstanceType: m5.large}, resources: {CPU: 1}}\n"
             "  w: {node_config: {InstanceType: q9.huge}, resources: {CPU: 8}}\n",
         "h {\"CPU\": 1}; w {\"CPU\": 8}"},
        {AWS "  h: {node_config: {InstanceType: q9.huge}, resources: {CPU: 1}}\n"
             "  w: {node_config: {InstanceType: m5.large}, resources: {CPU: 8}}\n",
         "h {\"CPU\": 1}; w {\"CPU\": 8}"},
        {AWS "  h: {node_config: {LaunchTemplate: {}}, resources: {CPU: 1}}\n"
             "  w: {node_config: {InstanceType: m5.large}, resources: {CPU: 8}}\n",
         "h {\"CPU\": 1}; w {\"CPU\": 8}"},
        {AWS "  h: {node_config: {InstanceType: m5.large}, resources: 5}\n", "h 5"},
        {"provider: {type: aws}\nhead_node_type: h\navailable_node_types:\n"
         "  h: {node_config: {InstanceType: m5.large}, resources: {}}\n",
         "h {}"},
        {"provider: {type: azure}\nhead_node_type: h\navailable_node_types:\n"
         "  h: {node_config: {InstanceType: m5.large}, resources: {}}\n",
         "h {}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(filled(f, rows[i][0]), rows[i][1]);
        assert_str(fixture_findings(f), "");
    }
}

/* Then the instance type is wrong, not the missing resources. */
static void unknown_machines_are_blamed_where_resources_are_missing(void **state)
{
    static const char *const rows[][2] = {
        {AWS "  h: {node_config: {InstanceType: m5.lagre}}\n"
             "  w: {node_config: {InstanceType: m5.large}}\n",
         "4:35 error unknown-machine: *\"m5.lagre\"*(did you mean \"m5.large\"?)"},
        {AWS "  h: {node_config: {InstanceType: m5.large}}\n"
             "  v: {node_config: {InstanceType: m5.lagre}, resources: {CPU: 1}}\n"
             "  w: {node_config: {InstanceType: c5.lrage}}\n",
         "5:35 error unknown-machine: *\"m5.lagre\"*(did you mean \"m5.large\"?)\n"
         "6:35 error unknown-machine: *\"c5.lrage\"*(did you mean \"c5.large\"?)"},
        {AWS "  h: {node_config: {InstanceType: quantum.huge}}\n",
         "4:35 error unknown-machine: *\"quantum.huge\"*catalog*(*resources*)"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        filled(f, rows[i][0]);
        assert_like(fixture_messages(f), rows[i][1]);
    }
}

/* An alias is the same map: both types get the same resources, in the order of the file. */
static void aliased_types_share_their_resources(void **state)
{
    static const char *const rows[][2] = {
        {AWS "  h: &a {node_config: {InstanceType: m5.large}}\n  w: *a\n",
         "h " M5_LARGE "; w " M5_LARGE},
        {AWS "  w: &a {node_config: {InstanceType: m5.large}}\n  h: *a\n",
         "w " M5_LARGE "; h " M5_LARGE},
        /* Removed as often as added. */
        {AWS "  h: &a {node_config: {InstanceType: m5.large}, resources: {CPU: 1}}\n  v: *a\n"
             "  w: {node_config: {InstanceType: q9.huge}, resources: {CPU: 1}}\n",
         "h {\"CPU\": 1}; v {\"CPU\": 1}; w {\"CPU\": 1}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(filled(f, rows[i][0]), rows[i][1]);
    }
}

static void tpus_get_a_head_resource(void **state)
{
    static const char *const rows[][2] = {
        {GCP
         "  h: {node_config: {machineType: n1}, resources: {CPU: 2}}\n"
         "  t: {node_config: {acceleratorType: v4-16}, resources: {CPU: 1}}\n"
         "  u: {node_config: {acceleratorConfig: {type: V4, topology: 2x2x2}}, resources: {}}\n",
         "h {\"CPU\": 2}; t {\"CPU\": 1, \"TPU-v4-16-head\": 1}; u {\"TPU-v4-16-head\": 1}"},
        /* Chips of one core count once. */
        {GCP "  h: {node_config: {acceleratorConfig: {type: V5LITE_POD, topology: 4x4}}, "
             "resources: {}}\n"
             "  t: {node_config: {acceleratorConfig: {type: V6E, topology: 2x2}}, resources: {}}\n",
         "h {\"TPU-v5litepod-16-head\": 1}; t {\"TPU-v6e-4-head\": 1}"},
        /* An unknown type leaves all types unchanged. */
        {GCP "  h: {node_config: {acceleratorType: v4-16}, resources: {}}\n"
             "  t: {node_config: {acceleratorType: v99-16}, resources: {}}\n",
         "h {}; t {}"},
        {GCP "  h: {node_config: {acceleratorType: v4}, resources: {}}\n", "h {}"},
        {GCP "  h: {node_config: {acceleratorConfig: {type: V2, topology: 2x2}}, resources: {}}\n",
         "h {}"},
        {GCP "  h: {node_config: {acceleratorConfig: {type: V4, topology: 2x}}, resources: {}}\n",
         "h {}"},
        {GCP "  h: {node_config: {acceleratorType: v4-16, acceleratorConfig: {}}, resources: {}}\n",
         "h {}"},
        {GCP "  h: {node_config: {disks: []}, resources: {}}\n", "h {}"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(filled(f, rows[i][0]), rows[i][1]);
        assert_str(fixture_findings(f), "");
    }
}

/* Ray rejects these files; node types with resources stay as they are. */
static void google_machines_give_resources(void **state)
{
    static const char *const rows[][3] = {
        {GCP "  h: {node_config: {machineType: n2-standard-8}}\n"
             "  w: {node_config: {machineType: n1-standard-2}}\n"
             "  x: {node_config: {machineType: n1-standard-2}, resources: {CPU: 1}}\n"
             "  y: {node_config: {machineType: n9-future-2}, resources: {}}\n",
         "h {\"CPU\": 8}; w {\"CPU\": 2, \"memory\": 5637144576}; x {\"CPU\": 1}; y {}", ""},
        {GCP "  h: {node_config: {machineType: a2-highgpu-1g}}\n",
         "h {\"CPU\": 12, \"GPU\": 1, \"accelerator_type:A100\": 1}", ""},
        {GCP "  h: {node_config: {machineType: n1-standard-4, guestAccelerators: "
             "[{acceleratorType: nvidia-tesla-t4, acceleratorCount: 2}]}}\n",
         "h {\"CPU\": 4, \"GPU\": 2, \"accelerator_type:T4\": 1}", ""},
        {GCP "  h: {node_config: {machineType: n2-standard-8}}\n"
             "  w: {node_config: {machineType: n9-future-2}}\n",
         "h {}; w {}",
         "5:34 error unknown-machine: Shoal does not know*n9-future-2*(set*resources*)"},
        {GCP "  h: {node_config: {machineType: n2-standrd-8}}\n", "h {}",
         "4:34 error unknown-machine: *(did you mean \"n2-standard-8\"?)"},
        {GCP "  h: {node_config: {machineType: 8}}\n", "h {}", "4:34 error wrong-type: *text*"},
        {GCP "  h: {node_config: {disks: []}}\n", "h (none)", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO_FIXTURE struct fixture *f = fixture_new();
        assert_str(filled(f, rows[i][0]), rows[i][1]);
        assert_like(fixture_messages(f), rows[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machine_types_give_resources),
        cmocka_unit_test(one_unknown_type_leaves_all_as_they_were),
        cmocka_unit_test(unknown_machines_are_blamed_where_resources_are_missing),
        cmocka_unit_test(aliased_types_share_their_resources),
        cmocka_unit_test(tpus_get_a_head_resource),
        cmocka_unit_test(google_machines_give_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

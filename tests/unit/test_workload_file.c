/* test_workload_file.c: a workload file is read as the manual says, and each mistake is reported
 * at its place. */
#include "config/workload/workload_file.h"

#include "fixture.h"

#define MINUTE (INT64_C(60) * 1000)
#define HOUR (60 * MINUTE)

static const struct workload_file *read_work(struct fixture *f, const char *yaml, int64_t hours)
{
    struct source *source = ARENA_NEW(&f->arena, struct source);
    source->name = STR("work.yaml");
    source->text = arena_str(&f->arena, str_from(yaml));
    diag_list_init(&f->diags, &f->arena);
    const struct workload_file *file = workload_file_read(&f->arena, source, hours, &f->diags);
    diag_merge_typos(&f->diags);
    return file;
}

static void everything_is_read(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct workload_file *file = read_work(
        f,
        "about: all of it\nhours: 2\nwork:\n"
        "  small: {count: [2, 9], duration: [1m, 2m], arrival: {random_every: 30s, until: 1h}}\n"
        "  train:\n    resources: {GPU: 1, CPU: 0.5, memory: 4GiB}\n"
        "    labels: {zone: \"in(a, b)\", kind: \"!old\"}\n"
        "    gang: {strategy: STRICT_SPREAD, bundles: 4}\n"
        "    arrival: {every: 30m, from: 10m}\n    duration: 1h30m\n"
        "  once: {arrival: {at: 90}, duration: 10}\n"
        "request_resources:\n- {resources: {CPU: 4}, count: 3}\n"
        "spot: {mean_life: 3h, notice: 50%, share: 0.3}\n"
        "prices: {gpu: 0.41, m5.large: 0.1}\n"
        "node_resources: {rack: {CPU: 16, memory: 64GB}}\n",
        0);
    (void)state;
    assert_str(fixture_messages(f), "");
    assert_non_null(file);
    assert_str(file->about, "all of it");
    assert_int_equal(file->duration, 2 * HOUR);
    assert_int_equal(file->class_count, 3);
    const struct workload_class *small = &file->classes[0];
    assert_str(small->name, "small");
    assert_int_equal(small->arrival, WORKLOAD_RANDOM);
    assert_int_equal(small->every, MINUTE / 2);
    assert_int_equal(small->last_at, HOUR);
    assert_int_equal(small->count.least, 2);
    assert_int_equal(small->count.most, 9);
    assert_int_equal(small->duration.most, 2 * MINUTE);
    assert_int_equal(small->bundles, 1);
    assert_str(small->shape.resources.items[0].name, "CPU");
    const struct workload_class *train = &file->classes[1];
    assert_int_equal(train->gang, WORKLOAD_STRICT_SPREAD);
    assert_int_equal(train->bundles, 4);
    assert_int_equal(train->arrival, WORKLOAD_EVERY);
    assert_int_equal(train->first_at, 10 * MINUTE);
    assert_int_equal(train->last_at, 2 * HOUR);
    assert_int_equal(resource_amount(train->shape.resources, STR("CPU")), 5000);
    assert_true(resource_amount(train->shape.resources, STR("memory")) ==
                INT64_C(4294967296) * RESOURCE_UNIT);
    assert_int_equal(train->shape.rule_count, 2);
    assert_int_equal(train->shape.rules[0].value_count, 2);
    assert_str(train->shape.rules[0].values[1], "b");
    assert_true(train->shape.rules[1].is_not);
    assert_int_equal(file->classes[2].arrival, WORKLOAD_ONCE);
    assert_int_equal(file->classes[2].first_at, 90 * 1000);
    assert_int_equal(file->bundle_count, 1);
    assert_int_equal(file->bundles[0].count, 3);
    assert_int_equal(file->spot_life, 3 * HOUR);
    assert_int_equal(file->spot_notice, 500);
    assert_int_equal(file->spot_share, 300);
    assert_str(file->machines[0].type, "rack");
}

static void prices_are_found_by_name(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct workload_file *file = read_work(
        f, "prices: {gpu: 0.41, m5.large: 0}\nwork: {a: {duration: 1}}", 0);
    int64_t price = -1;
    (void)state;
    assert_true(workload_price_find(file, STR("gpu"), &price));
    assert_int_equal(price, 410000);
    assert_true(workload_price_find(file, STR("m5.large"), &price));
    assert_int_equal(price, 0);
    assert_false(workload_price_find(file, STR("m5"), &price));
    assert_false(workload_price_find(file, STR(""), &price));
}

static void what_is_left_out_has_a_default(void **state)
{
    AUTO_FIXTURE struct fixture *f = fixture_new();
    const struct workload_file *file = read_work(f, "work: {a: {duration: 5m}}", 0);
    (void)state;
    assert_non_null(file);
    assert_int_equal(file->duration, WORKLOAD_HOURS * HOUR);
    assert_int_equal(file->spot_life, 0);
    assert_int_equal(file->spot_share, WORKLOAD_SPOT_SHARE);
    assert_int_equal(file->classes[0].count.least, 1);
    assert_int_equal(file->classes[0].first_at, 0);
    assert_int_equal(resource_amount(file->classes[0].shape.resources, STR("CPU")), 10000);
    file = read_work(f, "hours: 3\nwork: {a: {duration: 5m}}", 48);
    assert_int_equal(file->duration, 48 * HOUR);
}

static void mistakes_are_told_at_their_place(void **state)
{
    static const struct {
        const char *yaml, *messages;
    } rows[] = {
        {"", "1:1 error wrong-type: the workload file must be a map*"},
        {"hours: 2", "1:1 error missing-key: \"work\" is missing*"},
        {"work: {}", "1:7 error count: a workload must have 1 to 200 classes of work*"},
        {"work: {a: {duration: 5x}}", "1:22 error duration: invalid duration (*)"},
        {"work: {a: {duration: -5}}", "1:22 error negative: *\n1:22 error duration: *"},
        {"work: {a: {duraton: 5m}}", "1:12 error unknown-key: *(did you mean \"duration\"?)"},
        {"work: {a: {count: 5}}", "1:8 error missing-key: work.a: \"duration\" is missing*"},
        {"work: {a: {duration: [5m, 1m]}}", "1:22 error range: the range ends before it starts*"},
        {"work: {a: {duration: [5m]}}", "1:22 error range: a range needs two values*"},
        {"work: {a: {duration: 1, count: 1.5}}", "1:32 error wrong-type: work.a.count*"},
        {"work: {a: {duration: 1, count: 9000000}}", "1:32 error count: *(*0 to 5000000)"},
        {"work: {a: {duration: 1, resources: {CPU: 2 cores}}}", "1:42 error amount: *(*0.0001*)"},
        {"work: {a: {duration: 1, resources: {memory: 4 gig}}}", "1:45 error amount: *(*4GiB*)"},
        {"work: {a: {duration: 1, resources: {CPU: 0.00001}}}", "1:42 error amount: *"},
        {"work: {a: {duration: 1, labels: {z: \"in(a\"}}}", "1:37 error label: *"},
        {"work: {a: {duration: 1, labels: {z: \"in(a,)\"}}}", "1:37 error label: *"},
        {"work: {a: {duration: 1, gang: {bundles: 0}}}", "1:41 error count: *"},
        {"work: {a: {duration: 1, gang: {bundles: 2, strategy: SPRED}}}",
         "1:54 error unknown-choice: *(did you mean \"SPREAD\"?)"},
        {"work: {a: {duration: 1, arrival: {}}}", "1:34 error arrival: *"},
        {"work: {a: {duration: 1, arrival: {at: 1, every: 2}}}",
         "1:42 error arrival: *only one kind of arrival*"},
        {"work: {a: {duration: 1, arrival: {at: 1, from: 2}}}", "1:42 error arrival: *"},
        {"work: {a: {duration: 1, arrival: {every: 0}}}", "1:42 error arrival: *cannot be zero*"},
        {"work: {a: {duration: 1, arrival: {every: 5m, from: 2h, until: 1h}}}",
         "1:63 error arrival: the time in until is before*"},
        {"work: {a: {duration: 1, arrival: {every: 1ms}}}", "1:8 error too-much: *5000000 tasks*"},
        {"work: {a: {duration: 1, arrival: {at: 9h}}}", "1:8 warning never: *"},
        {"hours: 1e9\nwork: {a: {duration: 1}}", "1:8 error wrong-type: hours*"},
        {"hours: 100000\nwork: {a: {duration: 1}}", "1:8 error hours: *"},
        {"hours: 0\nwork: {a: {duration: 1}}", "1:8 error hours: *"},
        {"spot: {mean_life: 1s, notice: 200%}\nwork: {a: {duration: 1}}",
         "1:19 error duration: *\n1:31 error share: *"},
        {"prices: {a: 2000000}\nwork: {a: {duration: 1}}", "1:13 error price: *"},
        {"request_resources: [{cuont: 2}]\nwork: {a: {duration: 1}}",
         "1:21 error missing-key: request_resources[0]: \"resources\" is missing*\n"
         "1:22 error unknown-key: *(did you mean \"count\"?)"},
        {"request_resources: [5]\nwork: {a: {duration: 1}}",
         "1:21 error wrong-type: request_resources[0] must be a map*"},
        {"wrok: {a: {duration: 1}}", "1:1 error unknown-key: *(did you mean \"work\"?)"},
    };
    AUTO_FIXTURE struct fixture *f = fixture_new();
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        bool is_read = read_work(f, rows[i].yaml, 0) != NULL;
        assert_like(fixture_messages(f), rows[i].messages);
        assert_true(is_read == (f->diags.error_count == 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_read),
        cmocka_unit_test(prices_are_found_by_name),
        cmocka_unit_test(what_is_left_out_has_a_default),
        cmocka_unit_test(mistakes_are_told_at_their_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

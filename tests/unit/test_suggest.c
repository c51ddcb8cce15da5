/* test_suggest.c: typos find their word, other words find none. */
#include "base/suggest.h"

#include "unit.h"

#include <string.h>

static const char *const words[] = {
    "cluster_name",         "max_workers",     "min_workers", "provider",     "auth",
    "available_node_types", "upscaling_speed", "docker",      "file_mounts",  "setup_commands",
    "idle_timeout_minutes", "head_node_type",  "aws",         "InstanceType", "m5.large",
};

static struct str best_for(const char *wanted)
{
    struct suggest suggest;
    suggest_start(&suggest, str_from(wanted));
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        suggest_offer(&suggest, str_from(words[i]));
    }
    return suggest_best(&suggest);
}

static void typing_mistakes_are_found(void **state)
{
    static const char *const rows[][2] = {
        {"max_worker", "max_workers"},   /* a letter missing */
        {"max_workerss", "max_workers"}, /* one too many */
        {"mex_workers", "max_workers"},  /* another letter */
        {"max_wrokers", "max_workers"},  /* two swapped */
        {"maxworkers", "max_workers"},   /* a separator lost */
        {"max-workers", "max_workers"},  /* the other separator */
        {"MAX_WORKERS", "max_workers"},  /* the other case */
        {"porvider", "provider"},
        {"instancetype", "InstanceType"},
        {"m5.lagre", "m5.large"},
        {"asw", "aws"},
        {"aw", "aws"},
        {"avaliable_node_type", "available_node_types"},
        {"provider", "provider"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(best_for(rows[i][0]), rows[i][1]);
    }
}

static void other_words_are_not_mistakes(void **state)
{
    static const char *const rows[] = {
        "", "x", "qq", "gcp", "kubernetes", "name", "zone", "labels", "favourite_colour"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        assert_str(best_for(rows[i]), "");
    }
}

static void nothing_offered_gives_nothing(void **state)
{
    struct suggest suggest;
    (void)state;
    suggest_start(&suggest, STR("word"));
    assert_str(suggest_best(&suggest), "");
}

static void nearest_wins_and_the_first_of_equals(void **state)
{
    struct suggest suggest;
    (void)state;
    suggest_start(&suggest, STR("stat"));
    suggest_offer(&suggest, STR("state"));
    suggest_offer(&suggest, STR("start"));
    suggest_offer(&suggest, STR("status"));
    assert_str(suggest_best(&suggest), "state");
    suggest_offer(&suggest, STR("stat"));
    assert_str(suggest_best(&suggest), "stat");
}

static void long_words_are_passed_over(void **state)
{
    char word[66];
    struct suggest suggest;
    (void)state;
    memset(word, 'a', sizeof(word));
    suggest_start(&suggest, (struct str){word, 64});
    suggest_offer(&suggest, (struct str){word, 65});
    assert_str(suggest_best(&suggest), "");
    suggest_offer(&suggest, (struct str){word, 63});
    assert_int_equal(suggest_best(&suggest).len, 63);
    suggest_start(&suggest, (struct str){word, 65});
    suggest_offer(&suggest, (struct str){word, 64});
    assert_str(suggest_best(&suggest), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typing_mistakes_are_found),
        cmocka_unit_test(other_words_are_not_mistakes),
        cmocka_unit_test(nothing_offered_gives_nothing),
        cmocka_unit_test(nearest_wins_and_the_first_of_equals),
        cmocka_unit_test(long_words_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

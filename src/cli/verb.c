/* verb.c: the table of verbs. */
#include "cli/verb.h"

#include <string.h>

#define VERB(name, group) extern const struct verb verb_##name;
#define HIDDEN_VERB(name) extern const struct verb verb_##name;
#include "cli/verbs.def"
#undef VERB
#undef HIDDEN_VERB

const struct verb *const all_verbs[] = {
#define VERB(name, group) &verb_##name,
#define HIDDEN_VERB(name)
#include "cli/verbs.def"
#undef VERB
#undef HIDDEN_VERB
};
const enum verb_group verb_groups[] = {
#define VERB(name, group) VERB_##group,
#define HIDDEN_VERB(name)
#include "cli/verbs.def"
#undef VERB
#undef HIDDEN_VERB
};
const char *const verb_group_titles[VERB_GROUP_COUNT] = {
    [VERB_BEFORE] = "Before you launch",
    [VERB_RUN] = "Run",
    [VERB_WATCH] = "Watch",
    [VERB_FINISH] = "Finish",
    [VERB_OTHER] = "Other",
};
const size_t verb_count = sizeof(all_verbs) / sizeof(all_verbs[0]);

static const struct verb *const hidden_verbs[] = {
#define VERB(name, group)
#define HIDDEN_VERB(name) &verb_##name,
#include "cli/verbs.def"
#undef VERB
#undef HIDDEN_VERB
    NULL, /* an array must not be empty */
};

static const char *const colour_choices[] = {"auto", "always", "never", NULL};

const struct option common_options[] = {
    {"help", 'h', OPTION_FLAG, offsetof(struct common_fields, help), NULL, NULL, "Show this help."},
    {"color", 0, OPTION_CHOICE, offsetof(struct common_fields, colour), "WHEN", colour_choices,
     "Color the output: auto (on a terminal, unless NO_COLOR is set), always or never."},
};
const size_t common_option_count = sizeof(common_options) / sizeof(common_options[0]);

const char *const text_or_json[] = {"text", "json", NULL};

static bool is_called(const struct verb *verb, const char *name)
{
    return strcmp(verb->name, name) == 0 || (verb->alias && strcmp(verb->alias, name) == 0);
}

const char *verb_part_word(const struct verb *part)
{
    const char *blank = strchr(part->name, ' ');
    return blank ? blank + 1 : part->name;
}

const struct verb *verb_find_part(const struct verb *verb, const char *word)
{
    for (size_t i = 0; word && i < verb->part_count; i++) {
        if (strcmp(verb_part_word(verb->parts[i]), word) == 0) {
            return verb->parts[i];
        }
    }
    return NULL;
}

const struct verb *verb_find(const char *name)
{
    for (size_t i = 0; i < verb_count; i++) {
        if (is_called(all_verbs[i], name)) {
            return all_verbs[i];
        }
    }
    for (size_t i = 0; hidden_verbs[i]; i++) {
        if (is_called(hidden_verbs[i], name)) {
            return hidden_verbs[i];
        }
    }
    return NULL;
}

/* verb.c: the table of verbs. */
#include "cli/verb.h"

#include <string.h>

#define VERB(name) extern const struct verb verb_##name;
#define HIDDEN_VERB(name) VERB(name)
#include "cli/verbs.def"
#undef VERB
#undef HIDDEN_VERB

const struct verb *const all_verbs[] = {
#define VERB(name) &verb_##name,
#define HIDDEN_VERB(name)
#include "cli/verbs.def"
#undef VERB
#undef HIDDEN_VERB
};
const size_t verb_count = sizeof(all_verbs) / sizeof(all_verbs[0]);

static const struct verb *const hidden_verbs[] = {
#define VERB(name)
#define HIDDEN_VERB(name) &verb_##name,
#include "cli/verbs.def"
#undef VERB
#undef HIDDEN_VERB
    NULL, /* there may be none */
};

static const char *const colour_choices[] = {"auto", "always", "never", NULL};

const struct option common_options[] = {
    {"help", 'h', OPTION_FLAG, offsetof(struct common_fields, help), NULL, NULL,
     "Show what the command does and how it is called."},
    {"color", 0, OPTION_CHOICE, offsetof(struct common_fields, colour), "WHEN", colour_choices,
     "Colour the output: auto (on a terminal, unless NO_COLOR is set), always or never."},
};
const size_t common_option_count = sizeof(common_options) / sizeof(common_options[0]);

const char *const text_or_json[] = {"text", "json", NULL};

static bool is_called(const struct verb *verb, const char *name)
{
    return strcmp(verb->name, name) == 0 || (verb->alias && strcmp(verb->alias, name) == 0);
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

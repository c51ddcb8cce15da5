/* help_search.c: finds commands, options and keys of the cluster file by a word. */
#include "cli/help.h"

enum { WORDS_BYTES_MAX = 8192 };

/* What other programs call it. */
static const char *const synonyms[][2] = {
    {"halt", "stop"},         {"delete", "down"},
    {"destroy", "down"},      {"teardown", "down"},
    {"terminate", "down"},    {"kill", "down"},
    {"remove", "down"},       {"rm", "down"},
    {"shutdown", "down"},     {"ssh", "attach"},
    {"shell", "attach"},      {"connect", "attach"},
    {"login", "attach"},      {"launch", "up"},
    {"resume", "start"},      {"create", "up"},
    {"apply", "up"},          {"deploy", "up"},
    {"update", "up"},         {"run", "exec"},
    {"job", "submit"},        {"jobs", "submit"},
    {"list", "ls"},           {"ps", "ls"},
    {"clusters", "ls"},       {"log", "logs"},
    {"tail", "logs"},         {"info", "status"},
    {"describe", "status"},   {"nodes", "status"},
    {"why", "explain"},       {"history", "events"},
    {"watch", "top"},         {"cost", "ls"},
    {"scp", "rsync-up"},      {"cp", "rsync-up"},
    {"copy", "rsync-up"},     {"rsync", "rsync-up"},
    {"sync", "rsync-up"},     {"upload", "rsync-up"},
    {"push", "rsync-up"},     {"download", "rsync-down"},
    {"pull", "rsync-down"},   {"forward", "dashboard"},
    {"lint", "validate"},     {"doctor", "check"},
    {"preflight", "check"},   {"test", "check"},
    {"diff", "plan"},         {"preview", "plan"},
    {"iam", "policy"},        {"permissions", "policy"},
    {"clean", "gc"},          {"cleanup", "gc"},
    {"prune", "gc"},          {"scale", "request-resources"},
    {"man", "help"},          {"init", "help"},
    {"dump", "cluster-dump"}, {"support", "cluster-dump"},
    {"share", "key"},         {"vscode", "ssh-config"},
    {"jupyter", "notebook"},  {"lab", "notebook"},
};

const char *help_synonym(struct str word)
{
    for (size_t i = 0; i < ARRAY_LEN(synonyms); i++) {
        if (str_is(word, synonyms[i][0])) {
            return synonyms[i][1];
        }
    }
    return NULL;
}

/* ---- words in a text ---- */

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool is_letter(char c)
{
    c = fold(c);
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

static bool starts_with(struct str text, struct str word)
{
    for (size_t i = 0; i < word.len; i++) {
        if (i >= text.len || fold(text.ptr[i]) != fold(word.ptr[i])) {
            return false;
        }
    }
    return true;
}

struct search {
    struct buf *out;
    struct str word;
    bool is_whole;
    size_t found;
    const char *heading; /* printed before the first row below it */
};

static bool has_word(const struct search *search, const char *text)
{
    struct str rest = str_from(text ? text : "");
    struct str word = search->word;
    for (size_t i = 0; i + word.len <= rest.len; i++) {
        bool is_start = i == 0 || !is_letter(rest.ptr[i - 1]);
        size_t end = i + word.len;
        bool is_end = end == rest.len || !is_letter(rest.ptr[end]);
        if (is_start && (is_end || !search->is_whole) &&
            starts_with(str_sub(rest, i, rest.len), word)) {
            return true;
        }
    }
    return false;
}

/* ---- what is searched ---- */

static void add_match(struct search *search, const char *name, const char *help)
{
    if (search->heading) {
        buf_addf(search->out, "%s%s:\n", search->found > 0 ? "\n" : "", search->heading);
        search->heading = NULL;
    }
    AUTO_BUF struct buf first; /* sentence */
    struct str rest = str_from(help);
    size_t end = str_find(rest, ". ");
    buf_init(&first, WORDS_BYTES_MAX);
    buf_add(&first, end == SIZE_MAX ? rest : str_sub(rest, 0, end + 1));
    search->found++;
    help_add_row(search->out, name, first.ptr, HELP_VERB_COLUMN);
}

static bool is_called(const struct search *search, const struct verb *verb)
{
    for (size_t i = 0; i < ARRAY_LEN(synonyms); i++) {
        if (str_eq(str_from(synonyms[i][1]), str_from(verb->name)) &&
            has_word(search, synonyms[i][0])) {
            return true;
        }
    }
    return has_word(search, verb->name);
}

static void search_verbs(struct search *search)
{
    for (size_t i = 0; i < verb_count; i++) {
        const struct verb *verb = all_verbs[i];
        if (is_called(search, verb) || has_word(search, verb->summary) ||
            has_word(search, verb->description)) {
            add_match(search, verb->name, verb->summary);
        }
    }
}

static void search_options(struct search *search)
{
    for (size_t i = 0; i < verb_count; i++) {
        const struct verb *verb = all_verbs[i];
        for (size_t j = 0; j < verb->option_count; j++) {
            const struct option *option = &verb->options[j];
            bool is_match = has_word(search, option->name) || has_word(search, option->help);
            if (is_match && !option->is_hidden) {
                AUTO_BUF struct buf name;
                buf_init(&name, 256);
                buf_addf(&name, "%s --%s", verb->name, option->name);
                add_match(search, name.ptr, option->help);
            }
        }
    }
}

static void search_key(void *context, struct str path, const struct schema_key *key)
{
    struct search *search = context;
    if (has_word(search, path.ptr) || has_word(search, key->help) ||
        has_word(search, key->example)) {
        add_match(search, path.ptr, key->help);
    }
}

size_t help_search(struct buf *out, struct str word, bool is_whole)
{
    struct search search = {out, word, is_whole, 0, "Commands"};
    for (size_t i = 0; i < word.len; i++) {
        if (!is_letter(word.ptr[i]) && word.ptr[i] != '-') {
            return 0;
        }
    }
    if (word.len < 2) { /* a single letter matches everything */
        return 0;
    }
    search_verbs(&search);
    search.heading = "Options";
    search_options(&search);
    search.heading = "Keys of the cluster file";
    help_each_key(search_key, &search);
    return search.found;
}

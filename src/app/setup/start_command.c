/* start_command.c: finds, removes and inserts options in commands that start Ray. */
#include "app/setup/start_command.h"

#include "base/buf.h"

#include <string.h>

/* The position of an option, including its value if it has one. */
struct option_place {
    size_t from, to;
    struct str value;
};

static bool start_command_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

/* Ends a word, inside quotes (bash -c "...") or not. */
static bool ends_word(char c)
{
    return start_command_is_blank(c) || strchr(";&|()<>'\"`", c) != NULL;
}

/* The end of the value that begins at `at`: a quoted one ends with its quote. */
static size_t value_end(struct str text, size_t at)
{
    char quote = at < text.len ? text.ptr[at] : '\0';
    if (quote == '\'' || quote == '"') {
        size_t length = str_find_char(str_sub(text, at + 1, text.len), quote);
        return length == SIZE_MAX ? text.len : at + length + 2;
    }
    while (at < text.len && !ends_word(text.ptr[at])) {
        at++;
    }
    return at;
}

static struct str without_quotes(struct str value)
{
    bool is_quoted = value.len >= 2 && (value.ptr[0] == '\'' || value.ptr[0] == '"');
    return is_quoted ? str_sub(value, 1, value.len - 1) : value;
}

/* `at` is the position after the option's name. */
static struct option_place with_value(struct str text, size_t from, size_t at)
{
    size_t start = at;
    if (at < text.len && text.ptr[at] == '=') {
        start = at + 1;
    } else {
        while (start < text.len && (text.ptr[start] == ' ' || text.ptr[start] == '\t')) {
            start++;
        }
        /* No value: another option follows, or the enclosing quotes end here. */
        if (start == at || (start < text.len && text.ptr[start] == '-')) {
            return (struct option_place){from, at, {0}};
        }
    }
    size_t end = value_end(text, start);
    if (end == start && text.ptr[at] != '=') {
        end = at;
    }
    return (struct option_place){from, end, without_quotes(str_sub(text, start, end))};
}

static bool start_command_find_option(struct str text, const char *name, bool has_value,
                                      struct option_place *ret_place)
{
    size_t length = strlen(name);
    for (size_t at = 0; at < text.len;) {
        size_t found = str_find(str_sub(text, at, text.len), name);
        if (found == SIZE_MAX) {
            return false;
        }
        found += at;
        at = found + length;
        bool begins = found == 0 || ends_word(text.ptr[found - 1]);
        bool ends = at == text.len || text.ptr[at] == '=' || ends_word(text.ptr[at]);
        if (begins && ends) {
            *ret_place = has_value ? with_value(text, found, at)
                                   : (struct option_place){found, at, {0}};
            return true;
        }
    }
    return false;
}

bool start_command_option(struct str command, const char *name, struct str *ret_value)
{
    struct option_place place;
    if (!start_command_find_option(command, name, true, &place)) {
        return false;
    }
    *ret_value = place.value;
    return true;
}

bool start_command_is_ray(struct str command)
{
    return str_find(command, "ray start") != SIZE_MAX;
}

static bool has_option(struct str command, const char *name)
{
    struct option_place place;
    return start_command_find_option(command, name, false, &place);
}

static struct str replace(struct str text, const struct option_place *place, const char *with,
                          struct arena *arena)
{
    AUTO_BUF struct buf out;
    buf_init(&out, text.len + strlen(with) + 2);
    size_t from = place->from;
    /* Text may follow a quoted value without a blank. */
    bool is_stuck = with[0] != '\0' && place->to < text.len && !ends_word(text.ptr[place->to]);
    if (with[0] == '\0' && from > 0 && text.ptr[from - 1] == ' ') {
        from--;
    }
    buf_add(&out, str_sub(text, 0, from));
    buf_add_c(&out, with);
    buf_add_c(&out, is_stuck ? " " : "");
    buf_add(&out, str_sub(text, place->to, text.len));
    return arena_str(arena, buf_str(&out));
}

/* ---- the head's command ---- */

static bool is_loopback(struct str host)
{
    return str_is(host, "127.0.0.1") || str_is(host, "localhost") || str_is(host, "::1");
}

bool start_command_opens_dashboard(struct str command, struct str *ret_host)
{
    return start_command_option(command, "--dashboard-host", ret_host) && !is_loopback(*ret_host);
}

/* True if the option can be placed between braces without changing its meaning. */
static bool start_command_is_plain(struct str option)
{
    size_t quotes[2] = {0};
    for (size_t i = 0; i < option.len; i++) {
        char c = option.ptr[i];
        if (c == '}' || c == '\0') {
            return false;
        }
        quotes[0] += c == '\'';
        quotes[1] += c == '"';
    }
    return quotes[0] % 2 == 0 && quotes[1] % 2 == 0;
}

/* A shell expansion to START_MONITOR's value if set, else to the original option. */
static struct str monitor_words(struct str option, struct arena *arena)
{
    bool can_stay = start_command_is_plain(option);
    return can_stay ? arena_printf(arena, "${" START_MONITOR "-%.*s}", STR_ARG(option))
                    : STR("--no-monitor");
}

static bool has_monitor_words(struct str command)
{
    return has_option(command, "--no-monitor") ||
           str_find(command, "${" START_MONITOR "-") != SIZE_MAX;
}

static struct str without_monitor(struct str command, const char *asks, struct arena *arena)
{
    struct option_place place;
    bool must_ask = false;
    while (start_command_find_option(command, "--autoscaling-config", true, &place)) {
        struct str option = str_sub(command, place.from, place.to);
        struct str rest = replace(command, &place, "", arena);
        struct str words = has_monitor_words(rest) ? STR("")
                           : place.value.len > 0   ? monitor_words(option, arena)
                                                   : STR("--no-monitor");
        command = words.len > 0 ? replace(command, &place, words.ptr, arena) : rest;
        must_ask = must_ask || str_starts(words, "$");
    }
    if (start_command_is_ray(command) && !has_monitor_words(command) &&
        start_command_find_option(command, "--head", false, &place)) {
        command = replace(command, &place, "--head --no-monitor", arena);
    }
    if (!must_ask) {
        return command;
    }
    AUTO_BUF struct buf out; /* printf would stop at a zero byte */
    buf_init(&out, command.len + strlen(asks) + 32);
    buf_addf(&out, "eval \"$(%s)\"; ", asks);
    buf_add(&out, command);
    return arena_str(arena, buf_str(&out));
}

struct str start_command_for_head(struct str command, bool is_default, const char *asks,
                                  struct arena *arena)
{
    struct option_place place;
    command = without_monitor(command, asks, arena);
    if (is_default && start_command_find_option(command, "--dashboard-host", true, &place)) {
        command = replace(command, &place, "--dashboard-host=127.0.0.1", arena);
    }
    return command;
}

struct str start_command_with_quick_stop(struct str command, const char *calm, struct arena *arena)
{
    return str_is(str_trim(command), "ray stop") ? arena_printf(arena, "%s || ray stop", calm)
                                                 : command;
}

struct str start_command_with_store(struct str command, const char *asks, struct arena *arena)
{
    if (!start_command_is_ray(command)) {
        return command;
    }
    AUTO_BUF struct buf out; /* printf would stop at a zero byte */
    buf_init(&out, command.len + strlen(asks) + 128);
    buf_addf(&out, START_STORE "=$(%s) || exit 1; export " START_STORE "; ", asks);
    buf_add(&out, command);
    return arena_str(arena, buf_str(&out));
}

uint32_t start_command_port(const struct str *commands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct str value;
        uint32_t port;
        if (!start_command_is_ray(commands[i]) || !has_option(commands[i], "--head")) {
            continue;
        }
        if (!start_command_option(commands[i], "--port", &value)) {
            return RAY_GCS_PORT;
        }
        return str_to_u32(value, &port) && port <= 65535 ? port : 0;
    }
    return RAY_GCS_PORT;
}

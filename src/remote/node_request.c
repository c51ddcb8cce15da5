/* node_request.c: reads and writes greetings, requests and notices as JSON. */
#include "remote/node_request.h"

#include "base/encode.h"
#include "base/utf8.h"
#include "io/json_line.h"

#include <string.h>

enum { TEXT_MAX = 16 * 1024, MODE_MAX = 0777 };

static json_t *node_request_parse(struct str line)
{
    return json_loadb(line.ptr ? line.ptr : "", line.len, JSON_REJECT_DUPLICATES, NULL);
}

static struct str node_request_copy(const json_t *json, struct arena *arena)
{
    return arena_str(arena, (struct str){json_string_value(json), json_string_length(json)});
}

/* ---- writing the request ---- */

static bool is_run(struct str run)
{
    for (size_t i = 0; i < run.len; i++) {
        if (!strchr("0123456789abcdef", run.ptr[i]) || run.ptr[i] == '\0') {
            return false;
        }
    }
    return run.len == 0 || run.len == NODE_RUN_SIZE - 1;
}

static bool node_request_add_text(struct str text, struct buf *out)
{
    json_t *json = json_stringn(text.ptr ? text.ptr : "", text.len);
    bool ok = json && json_add(json, out);
    json_decref(json);
    return ok;
}

/* Written in pieces: a file may be large and must not be in memory three times. */
static bool add_file(const struct node_file *file, struct buf *out)
{
    bool ok = node_request_add_text(file->path, out);
    buf_addf(out, ",\"mode\":%u,\"bytes\":\"", file->mode);
    encode_base64(out, file->bytes);
    buf_add_c(out, "\"}");
    return ok;
}

bool node_request_write(const struct node_request *request, struct buf *out, struct err *err)
{
    AUTO_BUF struct buf bundle;
    buf_init(&bundle, BUNDLE_BYTES_MAX);
    if (request->file_count > NODE_FILES_MAX) {
        return err_set(err, ERR_CONFIG, "cannot send %zu files to a node: at most %d are possible",
                       request->file_count, NODE_FILES_MAX);
    }
    bool ok = is_run(request->run);
    buf_addf(out, "{\"protocol\":%d,\"run\":\"%.*s\",\"host_key\":", NODE_PROTOCOL,
             STR_ARG(request->run));
    ok = node_request_add_text(request->host_key, out) && ok;
    buf_add_c(out, ",\"files\":[");
    for (size_t i = 0; i < request->file_count; i++) {
        buf_add_c(out, i > 0 ? ",{\"path\":" : "{\"path\":");
        ok = add_file(&request->files[i], out) && ok;
    }
    buf_add_c(out, "],\"bundle\":");
    if (!bundle_write(&request->bundle, &bundle, err)) {
        return false;
    }
    buf_add(out, buf_str(&bundle));
    buf_add_c(out, "}\n");
    return (ok && !out->is_full) ||
           err_set(err, ERR_CONFIG,
                   "cannot send the files to a node: they are larger than %d MB, or a name is not "
                   "UTF-8",
                   NODE_REQUEST_BYTES_MAX >> 20);
}

/* ---- reading the request ---- */

static bool read_bytes(const json_t *json, struct arena *arena, struct str *ret_bytes)
{
    AUTO_BUF struct buf bytes;
    struct str text = {json_string_value(json), json_string_length(json)};
    size_t padding = str_ends(text, "==") ? 2 : str_ends(text, "=") ? 1 : 0;
    buf_init(&bytes, NODE_REQUEST_BYTES_MAX);
    decode_base64(&bytes, text);
    /* The decoder stops at the first invalid character; the result is then too short. */
    if (text.len % 4 != 0 || bytes.is_full || bytes.len != text.len / 4 * 3 - padding) {
        return false;
    }
    *ret_bytes = arena_str(arena, buf_str(&bytes));
    return true;
}

static bool is_place(struct str path)
{
    return (str_starts(path, "/") || str_starts(path, "~/")) && !str_ends(path, "/");
}

static bool node_request_read_file(json_t *json, struct arena *arena, struct node_file *file)
{
    json_t *path, *bytes;
    int mode;
    if (json_unpack(json, "{s:o, s:i, s:o!}", "path", &path, "mode", &mode, "bytes", &bytes) != 0 ||
        !json_is_string(path) || !json_is_string(bytes) || mode < 0 || mode > MODE_MAX) {
        return false;
    }
    file->path = node_request_copy(path, arena);
    file->mode = (unsigned)mode;
    return is_place(file->path) && read_bytes(bytes, arena, &file->bytes);
}

static bool read_files(json_t *list, struct arena *arena, struct node_request *request)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > NODE_FILES_MAX) {
        return false;
    }
    struct node_file *files = ARENA_ARRAY(arena, count, struct node_file);
    for (size_t i = 0; i < count; i++) {
        if (!node_request_read_file(json_array_get(list, i), arena, &files[i])) {
            return false;
        }
    }
    request->files = files;
    request->file_count = count;
    return true;
}

/* bundle_read() takes text, so the object is serialized again. */
static bool node_request_read_bundle(json_t *json, struct arena *arena, struct bundle *bundle,
                                     struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, BUNDLE_BYTES_MAX);
    return json_is_object(json) && json_add(json, &text) &&
           bundle_read(buf_str(&text), arena, bundle, err);
}

bool node_request_read(struct str line, struct arena *arena, struct node_request *ret_request,
                       struct err *err)
{
    struct node_request request = {0};
    int protocol = 0;
    json_t *run, *host_key, *files, *bundle;
    json_t *root = line.len <= NODE_REQUEST_BYTES_MAX ? node_request_parse(line) : NULL;
    bool ok = root &&
              json_unpack(root, "{s:i, s:o, s:o, s:o, s:o!}", "protocol", &protocol, "run", &run,
                          "host_key", &host_key, "files", &files, "bundle", &bundle) == 0 &&
              protocol == NODE_PROTOCOL && json_is_string(run) && json_is_string(host_key);
    if (ok) {
        request.run = node_request_copy(run, arena);
        request.host_key = node_request_copy(host_key, arena);
        ok = is_run(request.run) && read_files(files, arena, &request) &&
             node_request_read_bundle(bundle, arena, &request.bundle, err);
    }
    json_decref(root);
    if (ok) {
        *ret_request = request;
    }
    return ok || err_set(err, ERR_PROTOCOL, "cannot parse the request");
}

/* ---- greeting and notices ---- */

/* Names that the machine reports may be any bytes. */
static void node_request_set_text(json_t *json, const char *name, struct str value)
{
    AUTO_BUF struct buf visible;
    buf_init(&visible, TEXT_MAX);
    if (value.len > 0) {
        utf8_add_visible(&visible, str_sub(value, 0, TEXT_MAX / 4), false);
    }
    json_object_set_new(json, name, json_stringn(buf_str(&visible).ptr, visible.len));
}

void node_hello_write(const struct node_hello *hello, struct buf *out)
{
    json_t *json = json_object();
    json_object_set_new(json, "what", json_string("hello"));
    json_object_set_new(json, "protocol", json_integer(hello->protocol));
    node_request_set_text(json, "version", hello->version);
    node_request_set_text(json, "machine", hello->machine);
    node_request_set_text(json, "os", hello->os);
    node_request_set_text(json, "user", hello->user);
    node_request_set_text(json, "home", hello->home);
    node_request_set_text(json, "host_key", hello->host_key);
    node_request_set_text(json, "shown_key", hello->shown_key);
    json_object_set_new(json, "disk_free", json_integer(hello->disk_free));
    json_object_set_new(json, "disk_size", json_integer(hello->disk_size));
    json_object_set_new(json, "memory", json_integer(hello->memory));
    json_object_set_new(json, "processors", json_integer(hello->processors));
    json_object_set_new(json, "handover", json_integer(hello->handover));
    json_put_out(json, true, out);
}

/* The node is not trusted: this text is printed on terminals and written to files. */
static struct str node_request_text_of(const json_t *json, const char *name, struct arena *arena)
{
    const json_t *value = json_object_get(json, name);
    struct str text = {json_string_value(value), json_string_length(value)};
    AUTO_BUF struct buf visible;
    buf_init(&visible, TEXT_MAX);
    if (text.len > 0) {
        utf8_add_visible(&visible, str_sub(text, 0, TEXT_MAX / 4), false);
    }
    return arena_str(arena, buf_str(&visible));
}

/* Empty, or "ssh-ed25519 AAAA...". The result is written to known_hosts. */
static bool is_host_key(struct str key)
{
    static const char kind[] = "ssh-ed25519 ";
    if (key.len == 0) {
        return true;
    }
    if (!str_starts(key, kind) || key.len == sizeof(kind) - 1) {
        return false;
    }
    for (size_t i = sizeof(kind) - 1; i < key.len; i++) {
        char c = key.ptr[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_letter && c != '+' && c != '/' && c != '=') {
            return false;
        }
    }
    return true;
}

static int64_t node_request_number_of(const json_t *json, const char *name)
{
    int64_t value = json_integer_value(json_object_get(json, name));
    return value > 0 ? value : 0;
}

/* Ignores unknown fields: the node may run a newer Shoal for a while. */
bool node_hello_read(struct str line, struct arena *arena, struct node_hello *ret_hello,
                     struct err *err)
{
    json_t *json = node_request_parse(line);
    const char *what = json_string_value(json_object_get(json, "what"));
    struct str host_key = node_request_text_of(json, "host_key", arena);
    struct str shown_key = node_request_text_of(json, "shown_key", arena);
    bool ok = what && strcmp(what, "hello") == 0 && node_request_number_of(json, "protocol") > 0 &&
              is_host_key(host_key) && is_host_key(shown_key);
    if (ok) {
        *ret_hello = (struct node_hello){
            .protocol = node_request_number_of(json, "protocol"),
            .version = node_request_text_of(json, "version", arena),
            .machine = node_request_text_of(json, "machine", arena),
            .os = node_request_text_of(json, "os", arena),
            .user = node_request_text_of(json, "user", arena),
            .home = node_request_text_of(json, "home", arena),
            .host_key = host_key,
            .shown_key = shown_key,
            .disk_free = node_request_number_of(json, "disk_free"),
            .disk_size = node_request_number_of(json, "disk_size"),
            .memory = node_request_number_of(json, "memory"),
            .processors = node_request_number_of(json, "processors"),
            .handover = node_request_number_of(json, "handover"),
        };
    }
    json_decref(json);
    return ok || err_set(err, ERR_PROTOCOL, "unexpected first answer from the node");
}

static const char *const notices[NODE_NOTICE_KIND_COUNT] = {
    [NODE_WAITS] = "waits",
    [NODE_ROTATED] = "rotated",
    [NODE_NOT_ROTATED] = "not-rotated",
    [NODE_TROUBLE] = "trouble",
};

void node_notice_write(const struct node_notice *notice, struct buf *out)
{
    json_t *json = json_object();
    json_object_set_new(json, "what", json_string(notices[notice->kind]));
    node_request_set_text(json, "text", notice->text);
    json_put_out(json, true, out);
}

bool node_notice_read(struct str line, struct arena *arena, struct node_notice *ret_notice)
{
    json_t *json = node_request_parse(line);
    const char *what = json_string_value(json_object_get(json, "what"));
    size_t kind = 0;
    while (what && kind < NODE_NOTICE_KIND_COUNT && strcmp(what, notices[kind]) != 0) {
        kind++;
    }
    bool ok = what && kind < NODE_NOTICE_KIND_COUNT;
    if (ok) {
        *ret_notice = (struct node_notice){.kind = (enum node_notice_kind)kind,
                                           .text = node_request_text_of(json, "text", arena)};
    }
    json_decref(json);
    return ok;
}

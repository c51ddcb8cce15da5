/* bundle.c: reads and writes bundles as JSON and computes step keys. */
#include "remote/bundle.h"

#include "base/encode.h"
#include "io/json_line.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

enum { FORMAT = 1, VARIABLES_MAX = 1000 };

/* ---- writing ---- */

static json_t *bundle_text(struct str value)
{
    return json_stringn(value.ptr ? value.ptr : "", value.len);
}

static json_t *step_json(const struct step *step)
{
    json_t *variables = json_object();
    for (size_t i = 0; i < step->variable_count; i++) {
        const struct step_variable *variable = &step->variables[i];
        json_object_setn_new(variables, variable->name.ptr, variable->name.len,
                             bundle_text(variable->value));
    }
    json_t *json = json_object();
    json_object_set_new(json, "name", bundle_text(step->name));
    json_object_set_new(json, "command", bundle_text(step->command));
    json_object_set_new(json, "variables", variables);
    json_object_set_new(json, "deadline_ms", json_integer(step->deadline_ms));
    json_object_set_new(json, "always", json_boolean(step->is_always));
    if (step->attempts > 1) { /* older versions accept no new fields */
        json_object_set_new(json, "attempts", json_integer(step->attempts));
    }
    if (step->inside.len > 0) {
        json_object_set_new(json, "inside", bundle_text(step->inside));
    }
    return json;
}

bool bundle_write(const struct bundle *bundle, struct buf *out, struct err *err)
{
    json_t *root = json_object();
    json_t *steps = json_array();
    bool ok = json_object_set_new(root, "format", json_integer(FORMAT)) == 0;
    for (size_t i = 0; i < bundle->count; i++) {
        json_t *step = step_json(&bundle->steps[i]);
        /* JSON cannot hold text that is not UTF-8; jansson drops such fields. */
        size_t size = 5U + (bundle->steps[i].attempts > 1) + (bundle->steps[i].inside.len > 0);
        ok = ok && json_object_size(step) == size &&
             json_object_size(json_object_get(step, "variables")) ==
                 bundle->steps[i].variable_count;
        json_array_append_new(steps, step);
    }
    json_object_set_new(root, "steps", steps);
    ok = ok && json_add(root, out);
    json_decref(root);
    return ok || err_set(err, ERR_CONFIG,
                         "cannot send the commands to a node: they are not UTF-8, or larger than "
                         "4 MB");
}

/* ---- reading ---- */

static bool bundle_reject(struct err *err)
{
    return err_set(err, ERR_PROTOCOL, "cannot parse the bundle of steps");
}

static struct str bundle_copy(const json_t *json, struct arena *arena)
{
    return arena_str(arena, (struct str){json_string_value(json), json_string_length(json)});
}

static bool read_variables(json_t *json, struct step *step, struct arena *arena)
{
    size_t count = json_object_size(json);
    if (count > VARIABLES_MAX) {
        return false;
    }
    struct step_variable *variables = ARENA_ARRAY(arena, count, struct step_variable);
    size_t at = 0;
    const char *name;
    json_t *value;
    json_object_foreach(json, name, value)
    {
        if (!json_is_string(value)) {
            return false;
        }
        variables[at].name = arena_str(arena, str_from(name));
        variables[at++].value = bundle_copy(value, arena);
    }
    step->variables = variables;
    step->variable_count = count;
    return true;
}

static bool read_step(json_t *json, struct step *step, struct arena *arena)
{
    json_t *name, *command, *variables, *inside = NULL;
    json_int_t deadline, attempts = 1;
    int is_always;
    if (json_unpack(json, "{s:o, s:o, s:o, s:I, s:b, s?I, s?o!}", "name", &name, "command",
                    &command, "variables", &variables, "deadline_ms", &deadline, "always",
                    &is_always, "attempts", &attempts, "inside", &inside) != 0 ||
        !json_is_string(name) || !json_is_string(command) || !json_is_object(variables) ||
        (inside && !json_is_string(inside)) || deadline < 0 || attempts < 1 ||
        attempts > STEP_ATTEMPTS_MAX) {
        return false;
    }
    step->name = bundle_copy(name, arena);
    step->command = bundle_copy(command, arena);
    step->inside = inside ? bundle_copy(inside, arena) : (struct str){0};
    step->deadline_ms = deadline;
    step->is_always = is_always != 0;
    step->attempts = attempts;
    return read_variables(variables, step, arena);
}

static bool read_steps(json_t *root, struct arena *arena, struct bundle *bundle)
{
    json_t *list;
    int format;
    if (json_unpack(root, "{s:i, s:o!}", "format", &format, "steps", &list) != 0 ||
        format != FORMAT || !json_is_array(list) || json_array_size(list) > BUNDLE_STEPS_MAX) {
        return false;
    }
    struct step *steps = ARENA_ARRAY(arena, json_array_size(list), struct step);
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (!read_step(json_array_get(list, i), &steps[i], arena)) {
            return false;
        }
    }
    *bundle = (struct bundle){steps, json_array_size(list)};
    return true;
}

bool bundle_read(struct str bytes, struct arena *arena, struct bundle *ret_bundle, struct err *err)
{
    struct bundle bundle;
    if (bytes.len > BUNDLE_BYTES_MAX) {
        return bundle_reject(err);
    }
    json_t *root = json_loadb(bytes.ptr ? bytes.ptr : "", bytes.len, JSON_REJECT_DUPLICATES, NULL);
    bool ok = root && read_steps(root, arena, &bundle);
    json_decref(root);
    if (ok) {
        *ret_bundle = bundle;
    }
    return ok || bundle_reject(err);
}

/* ---- keys ---- */

/* Length-prefixed, so that different lists of texts never hash alike. */
static void hash_text(EVP_MD_CTX *hash, struct str value)
{
    char length[24];
    int size = snprintf(length, sizeof(length), "%zu:", value.len);
    EVP_DigestUpdate(hash, length, (size_t)size);
    EVP_DigestUpdate(hash, value.ptr ? value.ptr : "", value.len);
}

/* The name is excluded: "3 of 5" becomes "3 of 6" when a step is appended. */
static void hash_step(EVP_MD_CTX *hash, const struct step *step)
{
    hash_text(hash, step->command);
    for (size_t i = 0; i < step->variable_count; i++) {
        if (!str_is(step->variables[i].name, STEP_KEEP_VARIABLE)) {
            hash_text(hash, step->variables[i].name);
            hash_text(hash, step->variables[i].value);
        }
    }
    hash_text(hash, step->is_always ? STR("always") : STR("once"));
    if (step->attempts > 1) { /* omitted otherwise, so that all other keys stay unchanged */
        char text[24];
        int size = snprintf(text, sizeof(text), "%lld", (long long)step->attempts);
        hash_text(hash, (struct str){text, (size_t)size});
    }
    if (step->inside.len > 0) {
        hash_text(hash, step->inside);
    }
}

void bundle_keys(const struct bundle *bundle, char (*ret_keys)[STEP_KEY_SIZE])
{
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    for (size_t i = 0; i < bundle->count; i++) {
        unsigned char digest[SHA256_DIGEST_LENGTH] = {0};
        EVP_DigestInit_ex(hash, EVP_sha256(), NULL);
        hash_text(hash, i > 0 ? (struct str){ret_keys[i - 1], STEP_KEY_SIZE - 1} : STR(""));
        hash_step(hash, &bundle->steps[i]);
        EVP_DigestFinal_ex(hash, digest, NULL);
        encode_hex_to(ret_keys[i], digest, sizeof(digest));
    }
    EVP_MD_CTX_free(hash);
}

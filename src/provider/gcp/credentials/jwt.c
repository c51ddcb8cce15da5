/* jwt.c: encodes with jansson and signs with libcrypto. The bytes are those of google-auth. */
#include "provider/gcp/credentials/jwt.h"

#include "base/buf.h"
#include "base/encode.h"

#include <jansson.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

enum { JWT_BYTES_MAX = 64 * 1024, SIGNATURE_BYTES_MAX = 2048, KEY_BITS_MAX = 16384 };

/* ---- the key ---- */

/* A key with a password is refused: there is no terminal to ask on. */
static int jwt_no_password(char *text, int size, int is_write, void *context)
{
    (void)text, (void)size, (void)is_write, (void)context;
    return -1;
}

static EVP_PKEY *jwt_load_key(struct str pem, struct err *err)
{
    BIO *bio = pem.len > 0 && pem.len <= INT_MAX ? BIO_new_mem_buf(pem.ptr, (int)pem.len) : NULL;
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, jwt_no_password, NULL) : NULL;
    BIO_free(bio);
    ERR_clear_error(); /* the queue belongs to the thread: libcurl would report it */
    if (key &&
        (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA || EVP_PKEY_get_bits(key) > KEY_BITS_MAX)) {
        EVP_PKEY_free(key);
        key = NULL;
    }
    if (!key) {
        err_set(err, ERR_AUTH, "private_key is not a usable RSA key");
    }
    return key;
}

bool jwt_check_key(struct str pem, struct err *err)
{
    EVP_PKEY *key = jwt_load_key(pem, err);
    EVP_PKEY_free(key);
    return key != NULL;
}

static bool jwt_sign(struct str pem, struct str text, uint8_t ret_signature[SIGNATURE_BYTES_MAX],
                     size_t *ret_len, struct err *err)
{
    size_t len = SIGNATURE_BYTES_MAX;
    EVP_PKEY *key = jwt_load_key(pem, err);
    if (!key) {
        return false;
    }
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool ok = context && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
              EVP_DigestSign(context, ret_signature, &len, (const uint8_t *)text.ptr, text.len) ==
                  1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    ERR_clear_error();
    *ret_len = ok ? len : 0;
    return ok || err_set(err, ERR_AUTH, "private_key cannot sign");
}

/* ---- the token ---- */

/* Base64 for URLs, without padding. */
static void jwt_add_base64(struct buf *out, struct str bytes)
{
    size_t start = out->len;
    encode_base64(out, bytes);
    while (out->len > start && out->ptr[out->len - 1] == '=') {
        out->ptr[--out->len] = '\0';
    }
    for (size_t i = start; i < out->len; i++) {
        char c = out->ptr[i];
        out->ptr[i] = (char)(c == '+' ? '-' : c == '/' ? '_' : c);
    }
}

static int jwt_add_piece(const char *bytes, size_t count, void *context)
{
    buf_add(context, (struct str){bytes, count});
    return 0;
}

/* Takes the reference. */
static bool jwt_add_json(struct buf *out, json_t *json)
{
    AUTO_BUF struct buf text;
    buf_init(&text, JWT_BYTES_MAX / 2);
    bool ok = json && json_dump_callback(json, jwt_add_piece, &text, JSON_ENSURE_ASCII) == 0 &&
              !text.is_full;
    json_decref(json);
    if (ok) {
        jwt_add_base64(out, buf_str(&text));
    }
    return ok;
}

static json_t *jwt_text(struct str text)
{
    return json_stringn(text.ptr ? text.ptr : "", text.len);
}

/* Takes the reference to the claims. */
static bool jwt_make(const struct jwt_request *request, json_t *claims, struct arena *arena,
                     struct str *ret_jwt, struct err *err)
{
    uint8_t signature[SIGNATURE_BYTES_MAX];
    size_t len = 0;
    json_t *head = json_pack("{s:s, s:s}", "typ", "JWT", "alg", "RS256");
    struct buf out;
    buf_init(&out, JWT_BYTES_MAX);
    bool ok = head && (!request->has_key_id ||
                       json_object_set_new(head, "kid", jwt_text(request->key_id)) == 0);
    ok = jwt_add_json(&out, head) && ok;
    buf_add_char(&out, '.');
    ok = jwt_add_json(&out, claims) && ok;
    if (!ok || out.is_full) {
        ok = err_set(err, ERR_AUTH, "the key file cannot be encoded as a JSON web token");
    } else if ((ok = jwt_sign(request->pem, buf_str(&out), signature, &len, err))) {
        buf_add_char(&out, '.');
        jwt_add_base64(&out, (struct str){(const char *)signature, len});
        *ret_jwt = arena_str(arena, buf_str(&out));
    }
    buf_wipe(&out);
    return ok;
}

bool jwt_assertion(const struct jwt_request *request, struct arena *arena, struct str *ret_jwt,
                   struct err *err)
{
    json_t *claims = json_pack(
        "{s:I, s:I, s:o, s:s, s:o}", "iat", (json_int_t)request->now, "exp",
        (json_int_t)(request->now + JWT_LIFE_S), "iss", jwt_text(request->email), "aud",
        "https://oauth2.googleapis.com/token", "scope", jwt_text(request->scope));
    return jwt_make(request, claims, arena, ret_jwt, err);
}

bool jwt_self_signed(const struct jwt_request *request, struct arena *arena, struct str *ret_jwt,
                     struct err *err)
{
    json_t *claims = json_pack("{s:o, s:o, s:I, s:I, s:o}", "iss", jwt_text(request->email), "sub",
                               jwt_text(request->email), "iat", (json_int_t)request->now, "exp",
                               (json_int_t)(request->now + JWT_LIFE_S), "scope",
                               jwt_text(request->scope));
    return jwt_make(request, claims, arena, ret_jwt, err);
}

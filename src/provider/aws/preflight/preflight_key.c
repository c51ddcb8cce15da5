/* preflight_key.c: reads OpenSSH's private key format; PEM is read by OpenSSL. */
#include "provider/aws/preflight/preflight_key.h"

#include "base/attr.h"
#include "base/buf.h"
#include "base/encode.h"

#include <limits.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <string.h>

enum { RSA_BYTES_MAX = 2048, ED25519_BYTES = 32 };

/* ---- ssh wire format ---- */

/* Reads a four-byte length and that many bytes. */
static bool preflight_key_take(struct str *rest, struct str *ret_bytes)
{
    if (rest->len < 4) {
        return false;
    }
    const unsigned char *at = (const unsigned char *)rest->ptr;
    size_t len = (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
    if (len > rest->len - 4) {
        return false;
    }
    *ret_bytes = str_sub(*rest, 4, 4 + len);
    *rest = str_sub(*rest, 4 + len, rest->len);
    return true;
}

static void put(struct buf *out, struct str bytes)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        buf_add_char(out, (char)(unsigned char)(bytes.len >> shift & 0xff));
    }
    buf_add(out, bytes);
}

static struct str base64(struct str bytes, struct arena *arena)
{
    AUTO_BUF struct buf text;
    buf_init(&text, (size_t)PREFLIGHT_KEY_BYTES_MAX * 2);
    encode_base64(&text, bytes);
    return arena_str(arena, buf_str(&text));
}

/* ---- OpenSSH format: its public half is not encrypted ---- */

#define OPENSSH_BEGIN "-----BEGIN OPENSSH PRIVATE KEY-----"
#define OPENSSH_END "-----END OPENSSH PRIVATE KEY-----"
#define OPENSSH_MAGIC "openssh-key-v1"

static bool preflight_key_decode(struct str text, unsigned char *bytes, size_t *ret_len)
{
    EVP_ENCODE_CTX *context = EVP_ENCODE_CTX_new();
    int len = 0;
    int more = 0;
    EVP_DecodeInit(context);
    bool ok = EVP_DecodeUpdate(context, bytes, &len, (const unsigned char *)text.ptr,
                               (int)text.len) >= 0 &&
              EVP_DecodeFinal(context, bytes + len, &more) >= 0;
    EVP_ENCODE_CTX_free(context);
    *ret_len = ok ? (size_t)len + (size_t)more : 0;
    return ok;
}

static bool blob_in(struct str bytes, struct str *ret_blob)
{
    struct str skipped;
    if (bytes.len < sizeof(OPENSSH_MAGIC) + 4 ||
        memcmp(bytes.ptr, OPENSSH_MAGIC, sizeof(OPENSSH_MAGIC)) != 0) {
        return false;
    }
    bytes = str_sub(bytes, sizeof(OPENSSH_MAGIC), bytes.len);
    /* cipher, KDF, KDF options, number of keys, first public key */
    if (!preflight_key_take(&bytes, &skipped) || !preflight_key_take(&bytes, &skipped) ||
        !preflight_key_take(&bytes, &skipped) || bytes.len < 4) {
        return false;
    }
    bytes = str_sub(bytes, 4, bytes.len);
    return preflight_key_take(&bytes, ret_blob) && ret_blob->len > 0;
}

static enum preflight_key read_openssh(struct str text, struct arena *arena, struct str *ret_half)
{
    unsigned char *bytes = arena_alloc(arena, text.len + 4);
    size_t len;
    struct str blob;
    bool ok = preflight_key_decode(text, bytes, &len) &&
              blob_in((struct str){(const char *)bytes, len}, &blob);
    if (ok) {
        *ret_half = base64(blob, arena);
    }
    OPENSSL_cleanse(bytes, text.len + 4);
    return ok ? PREFLIGHT_KEY_READ : PREFLIGHT_KEY_UNREAD;
}

/* ---- PEM ---- */

/* Records that a passphrase is needed, and returns none. */
static int no_passphrase(char *text, int size, int is_writing, void *context)
{
    bool *was_asked = context;
    (void)text;
    (void)size;
    (void)is_writing;
    *was_asked = true;
    return -1;
}

static void put_number(struct buf *out, const EVP_PKEY *key, const char *name)
{
    unsigned char bytes[RSA_BYTES_MAX + 1] = {0};
    BIGNUM *number = NULL;
    if (EVP_PKEY_get_bn_param(key, name, &number) == 1 && BN_num_bytes(number) <= RSA_BYTES_MAX) {
        /* With a leading zero byte if the number would otherwise be negative. */
        int len = BN_num_bytes(number);
        int from = len > 0 && BN_num_bits(number) % CHAR_BIT == 0 ? 0 : 1;
        BN_bn2bin(number, bytes + 1);
        put(out, (struct str){(const char *)bytes + from, (size_t)(len + 1 - from)});
    } else {
        out->is_full = true;
    }
    BN_free(number);
}

static bool put_public(struct buf *out, const EVP_PKEY *key)
{
    unsigned char raw[ED25519_BYTES];
    size_t len = sizeof(raw);
    if (EVP_PKEY_is_a(key, "RSA")) {
        put(out, STR("ssh-rsa"));
        put_number(out, key, OSSL_PKEY_PARAM_RSA_E);
        put_number(out, key, OSSL_PKEY_PARAM_RSA_N);
        return !out->is_full;
    }
    if (!EVP_PKEY_is_a(key, "ED25519") || EVP_PKEY_get_raw_public_key(key, raw, &len) != 1) {
        return false;
    }
    put(out, STR("ssh-ed25519"));
    put(out, (struct str){(const char *)raw, len});
    return true;
}

static enum preflight_key read_pem(struct str text, struct arena *arena, struct str *ret_half)
{
    AUTO_BUF struct buf blob;
    bool was_asked = false;
    buf_init(&blob, RSA_BYTES_MAX * 2);
    BIO *source = BIO_new_mem_buf(text.ptr, (int)text.len);
    EVP_PKEY *key = PEM_read_bio_PrivateKey(source, NULL, no_passphrase, &was_asked);
    bool ok = key && put_public(&blob, key);
    if (ok) {
        *ret_half = base64(buf_str(&blob), arena);
    }
    EVP_PKEY_free(key);
    BIO_free(source);
    if (ok) {
        return PREFLIGHT_KEY_READ;
    }
    return was_asked ? PREFLIGHT_KEY_LOCKED : PREFLIGHT_KEY_UNREAD;
}

enum preflight_key preflight_key_public(struct str text, struct arena *arena, struct str *ret_half)
{
    size_t begin = str_find(text, OPENSSH_BEGIN);
    size_t end = str_find(text, OPENSSH_END);
    if (text.len == 0 || text.len > PREFLIGHT_KEY_BYTES_MAX) {
        return PREFLIGHT_KEY_UNREAD;
    }
    if (begin == SIZE_MAX) {
        return read_pem(text, arena, ret_half);
    }
    begin += sizeof(OPENSSH_BEGIN) - 1;
    return end == SIZE_MAX || end < begin
               ? PREFLIGHT_KEY_UNREAD
               : read_openssh(str_sub(text, begin, end), arena, ret_half);
}

bool preflight_key_fits(struct str public_key, struct str half)
{
    struct str rest = str_trim(public_key);
    str_cut(&rest, ' ');
    return half.len > 0 && str_eq(str_cut(&rest, ' '), half);
}

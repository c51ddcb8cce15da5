/* sha256.c: a thin layer over libcrypto. */
#include "io/sha256.h"

#include "base/panic.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

void sha256(struct str bytes, uint8_t ret_digest[SHA256_BYTES])
{
    if (!EVP_Digest(bytes.ptr, bytes.len, ret_digest, NULL, EVP_sha256(), NULL)) {
        panic("SHA-256 failed");
    }
}

void sha256_mac(struct str key, struct str text, uint8_t ret_mac[SHA256_BYTES])
{
    if (key.len > INT_MAX || !HMAC(EVP_sha256(), key.ptr, (int)key.len, (const uint8_t *)text.ptr,
                                   text.len, ret_mac, NULL)) {
        panic("HMAC-SHA-256 failed");
    }
}

bool sha256_equal(const uint8_t a[SHA256_BYTES], const uint8_t b[SHA256_BYTES])
{
    return CRYPTO_memcmp(a, b, SHA256_BYTES) == 0;
}

/* The state is libcrypto's. */
struct sha256_state *sha256_begin(void)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (!context || !EVP_DigestInit_ex(context, EVP_sha256(), NULL)) {
        panic("SHA-256 failed");
    }
    return (struct sha256_state *)context;
}

void sha256_add(struct sha256_state *state, struct str bytes)
{
    if (!EVP_DigestUpdate((EVP_MD_CTX *)state, bytes.ptr, bytes.len)) {
        panic("SHA-256 failed");
    }
}

void sha256_end(struct sha256_state *state, uint8_t ret_digest[SHA256_BYTES])
{
    if (ret_digest && !EVP_DigestFinal_ex((EVP_MD_CTX *)state, ret_digest, NULL)) {
        panic("SHA-256 failed");
    }
    EVP_MD_CTX_free((EVP_MD_CTX *)state);
}

/* mac.c: message authentication codes as text. */
#include "io/mac.h"

#include "base/encode.h"
#include "base/panic.h"
#include "io/sha256.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

void mac_sha256(struct str key, struct str text, char ret_mac[MAC_TEXT_SIZE])
{
    uint8_t mac[SHA256_BYTES];
    sha256_mac(key, text, mac);
    encode_hex_to(ret_mac, mac, sizeof(mac));
}

void mac_random(char ret_text[MAC_TEXT_SIZE])
{
    uint8_t bytes[SHA256_BYTES];
    if (RAND_bytes(bytes, sizeof(bytes)) != 1) {
        panic("the system has no random numbers");
    }
    encode_hex_to(ret_text, bytes, sizeof(bytes));
}

bool mac_is_equal(struct str a, struct str b)
{
    return a.len == b.len && CRYPTO_memcmp(a.ptr, b.ptr, a.len) == 0;
}

/* cidr.c: reads addresses and ranges of addresses. */
#include "provider/cidr.h"

#include <arpa/inet.h>

bool cidr_read(struct str text, struct arena *arena, struct str *ret_cidr)
{
    unsigned char bytes[sizeof(struct in6_addr)];
    uint32_t length;
    struct str prefix = str_trim(text);
    bool has_length = str_find_char(prefix, '/') != SIZE_MAX;
    struct str address = arena_str(arena, str_cut(&prefix, '/'));
    bool is_6 = str_find_char(address, ':') != SIZE_MAX;
    uint32_t most = is_6 ? 128 : 32;
    if (inet_pton(is_6 ? AF_INET6 : AF_INET, address.ptr, bytes) != 1) {
        return false;
    }
    if (!has_length) {
        length = most;
    } else if (!str_to_u32(prefix, &length) || length > most) {
        return false;
    }
    *ret_cidr = arena_printf(arena, "%.*s/%u", STR_ARG(address), length);
    return true;
}

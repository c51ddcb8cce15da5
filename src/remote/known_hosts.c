/* known_hosts.c: one line per machine. */
#include "remote/known_hosts.h"

/* ssh gives a meaning to "*?!,|[]@#" and to blanks; clouds name machines without them. */
static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == ':';
}

bool known_hosts_is_name(struct str name)
{
    bool is_name = name.len > 0 && name.len <= KNOWN_HOSTS_NAME_BYTES_MAX;
    for (size_t i = 0; is_name && i < name.len; i++) {
        is_name = is_name_char(name.ptr[i]);
    }
    return is_name;
}

bool known_hosts_add(struct buf *out, struct str name, const uint8_t public[SSH_PUBLIC_BYTES],
                     struct err *err)
{
    if (name.len == 0 || name.len > KNOWN_HOSTS_NAME_BYTES_MAX) {
        return err_set(err, ERR_PROTOCOL, "a machine's name of %zu bytes", name.len);
    }
    for (size_t i = 0; i < name.len; i++) {
        if (!is_name_char(name.ptr[i])) {
            return err_set(err, ERR_PROTOCOL, "a machine's name with byte 0x%02x in it",
                           (unsigned)(unsigned char)name.ptr[i]);
        }
    }
    buf_add(out, name);
    buf_add_char(out, ' ');
    ssh_key_add_public(out, public, STR(""));
    buf_add_char(out, '\n');
    return true;
}

/* known_hosts.c: writes known_hosts lines, one per machine. */
#include "remote/known_hosts.h"

/* Excludes blanks and "*?!,|[]@#", which are special in known_hosts. Instance ids never have
 * them. */
static bool known_hosts_is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == ':';
}

bool known_hosts_is_name(struct str name)
{
    bool is_name = name.len > 0 && name.len <= KNOWN_HOSTS_NAME_BYTES_MAX;
    for (size_t i = 0; is_name && i < name.len; i++) {
        is_name = known_hosts_is_name_char(name.ptr[i]);
    }
    return is_name;
}

bool known_hosts_add(struct buf *out, struct str name, const uint8_t public[SSH_PUBLIC_BYTES],
                     struct err *err)
{
    if (name.len == 0 || name.len > KNOWN_HOSTS_NAME_BYTES_MAX) {
        return err_set(err, ERR_PROTOCOL, "invalid length of a host name: %zu bytes", name.len);
    }
    for (size_t i = 0; i < name.len; i++) {
        if (!known_hosts_is_name_char(name.ptr[i])) {
            return err_set(err, ERR_PROTOCOL, "invalid byte 0x%02x in a host name",
                           (unsigned)(unsigned char)name.ptr[i]);
        }
    }
    buf_add(out, name);
    buf_add_char(out, ' ');
    ssh_key_add_public(out, public, STR(""));
    buf_add_char(out, '\n');
    return true;
}

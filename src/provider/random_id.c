/* random_id.c: an id of random bytes from the system. */
#include "provider/random_id.h"

#include "base/encode.h"

#include <sys/random.h>
#include <unistd.h>

enum { ID_BYTES = 16 };

bool random_id(struct arena *arena, struct str *ret_id, struct err *err)
{
    uint8_t bytes[ID_BYTES];
    char hex[2 * ID_BYTES + 1];
    if (getentropy(bytes, sizeof(bytes)) != 0) {
        return err_set(err, ERR_IO, "cannot read random bytes from the system");
    }
    encode_hex_to(hex, bytes, sizeof(bytes));
    *ret_id = arena_str(arena, str_from(hex));
    return true;
}

/* script_text.c: finds a script in the embedded files and strips it. */
#include "app/script_text.h"

#include "config/embedded_data.h"

#include <string.h>

extern const struct embedded_file setup_scripts[];

void script_text_add(struct buf *out, const char *name)
{
    const struct embedded_file *file = &setup_scripts[0];
    while (strcmp(file->name, name) != 0) {
        file++;
    }
    for (struct str rest = {(const char *)file->bytes, file->size}; rest.len > 0;) {
        struct str line = str_trim(str_cut(&rest, '\n'));
        if (line.len > 0 && line.ptr[0] != '#') {
            buf_add(out, line);
            buf_add_char(out, '\n');
        }
    }
}

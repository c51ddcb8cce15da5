/* completion.h: shell completion scripts from the verb table. */
#pragma once

#include "base/buf.h"

void completion_bash(struct buf *out);
void completion_zsh(struct buf *out);
void completion_fish(struct buf *out);

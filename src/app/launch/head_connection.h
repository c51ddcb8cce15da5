/*
 * head_connection.h: a shared ssh connection to the head, for commands on the laptop.
 *
 * The first command finds the head with a listing, stores its id and addresses in the cluster's
 * folder, and opens an ssh connection in the background. Later commands share it and send no API
 * request; it closes 60 seconds after the last of them. When it is closed, they connect to the
 * stored address. The host key is pinned under the instance id, so another machine that has this
 * address now is refused. Only if that fails, or if the address does not answer, is the cloud asked
 * again.
 *
 * Only for AWS: own machines read the head's record, and a plug-in is always asked.
 */
#pragma once

#include "app/launch/launcher.h"

/* True if the connection to the stored head is open, or could be opened again. The head has no
 * worker addresses, and `is_up_to_date` is set. */
bool head_connection_resume(const struct launcher_setup *setup, struct arena *arena,
                            struct launcher_head *ret_head, struct ssh_target *ret_place);

/* Stores a head that was found with a listing, and opens the connection. If that fails, `place` is
 * unchanged: ssh itself reports what is wrong. */
void head_connection_start(const struct launcher_setup *setup, const struct launcher_head *head,
                           struct arena *arena, struct ssh_target *place);

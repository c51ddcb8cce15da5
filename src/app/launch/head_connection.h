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
 * A command of a script has a connection of its own (cli/command.h): it only uses the stored head.
 *
 * Only for AWS: own machines read the head's record, and a plug-in is always asked.
 */
#pragma once

#include "app/launch/launcher.h"

/* True if the connection to the stored head is open, or could be opened again. The head has no
 * worker addresses, and `is_up_to_date` is set. */
bool head_connection_resume(const struct launcher_setup *setup, struct arena *arena,
                            struct launcher_head *ret_head, struct ssh_target *ret_place);

/* The stored head and how to reach it. Sends nothing: it may have another address now. */
bool head_connection_recall(const struct launcher_setup *setup, struct arena *arena,
                            struct launcher_head *ret_head, struct ssh_target *ret_place);

/* An empty file for the messages of an ssh to it; the caller removes it. NULL: not writable. */
const char *head_connection_log(const struct launcher_setup *setup, struct arena *arena);

/* Stores a head that was found with a listing. */
void head_connection_store(const struct launcher_setup *setup, const struct launcher_head *head,
                           struct arena *arena);

/* The same, and opens the connection; the head is stored if that works. If that fails, `place` is
 * unchanged: ssh itself reports what is wrong. */
void head_connection_start(const struct launcher_setup *setup, const struct launcher_head *head,
                           struct arena *arena, struct ssh_target *place);

/*
 * attend.h: runs a command on the head and terminates it when its ssh client disconnects.
 *
 * When a connection without a terminal breaks, sshd kills nothing: it only closes the pipes to the
 * command, which runs until it writes. An interrupted `shoal exec` would leave its program running.
 */
#pragma once

/* Runs `argv` (NULL-terminated) in a new process group and returns its exit status. Terminates the
 * group when standard output and standard error have both lost their reader. */
int node_attend(const char *const *argv);

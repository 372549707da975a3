/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The listening unix socket of an agent: it takes no other's place, and removes only its own file. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/compiler.h"
#include "base/err_text.h"

struct node_unix_socket {
	const char *path; /* borrowed until the end */
	bool has_group;	  /* users of `group` may connect, too */
	gid_t group;
	/* Set by open. */
	int fd;
	dev_t device;
	ino_t inode;
};

/* Listens at `path`: a socket at which nobody listens any more is replaced, one at which somebody answers is an
 * error (-EADDRINUSE), as is a file of another kind. */
MUST_CHECK int node_unix_socket_open(struct node_unix_socket *sock, struct err_text err);

/* Removes the file, unless another socket has taken its place, and closes the descriptor. */
void node_unix_socket_close(const struct node_unix_socket *sock);

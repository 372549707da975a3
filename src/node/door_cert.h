/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The certificate of the door for other nodes: read again when its files change, as the kubelet does with those
 * of a Secret. One thread. */
#pragma once

#include <time.h>

#include <sys/types.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "net/tls.h"

enum { NODE_DOOR_CERT_FILES = 3 };

struct node_door_cert {
	struct net_tls_files files; /* borrowed */
	struct {
		ino_t inode;
		struct timespec changed;
	} seen[NODE_DOOR_CERT_FILES];
};

/* 1: the files are others than with the last call, and *ret is made from them. 0: they are the same. Negative: a
 * sentence; what was read before stays good, and the next call tries again. */
MUST_CHECK int node_door_cert_read(struct node_door_cert *cert, struct net_tls_cred **ret,
				   struct err_text err);

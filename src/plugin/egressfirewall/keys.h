/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The TSIG keys that open the zone of learnt addresses, from a file that may change at any time: a
 * mounted Secret. Each line is a key, `[ALGORITHM:]NAME:SECRET`, as `dig -y` takes it; empty lines and
 * those that begin with # do not count. While keys are rotated, the file has the old and the new
 * one. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "dns/tsig/key.h"

enum { EGRESSFIREWALL_KEYS_MAX = 8, EGRESSFIREWALL_KEYS_BYTES_MAX = 16384 };

/* Keys of one reading; never changed. */
struct egressfirewall_keys {
	size_t n;
	struct dns_tsig_key v[EGRESSFIREWALL_KEYS_MAX];
};

/* The file as it was read last. */
struct egressfirewall_keyfile;
struct task_owner;
/* Reads it. A file that does not exist has no keys, yet; what is wrong with another is in `reterr`.
 * It is read again every five seconds; keys that cannot be read leave those before in use. */
MUST_CHECK int egressfirewall_keyfile_new(const char *path, struct egressfirewall_keyfile **ret,
					  struct err_text reterr);
/* When nobody holds keys of it. NULL is fine. */
void egressfirewall_keyfile_free(struct egressfirewall_keyfile *file);
/* Starts reading it again; without, for dry checks, it is read once. The tasks end before the file is freed. */
void egressfirewall_keyfile_watch(struct egressfirewall_keyfile *file, struct task_owner *tasks);

/* Its keys now, held until they are put: they may be replaced meanwhile. Inside a read section. */
const struct egressfirewall_keys *egressfirewall_keyfile_hold(
	const struct egressfirewall_keyfile *file);
/* Any thread. NULL is fine. */
void egressfirewall_keys_put(const struct egressfirewall_keys *keys);

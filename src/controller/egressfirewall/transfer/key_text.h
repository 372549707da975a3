/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The TSIG keys of the zone of learnt addresses, as the Secret and the servers' key file have them: one
 * per line, `hmac-sha256:NAME:SECRET`, the newest first. The name of a key that the controller made has
 * the time at which it did so: `egress-1794854460`. No I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "dns/tsig/key.h"

enum {
	EGRESSFIREWALL_TRANSFER_KEYS_MAX = 8,		/* in use */
	EGRESSFIREWALL_TRANSFER_KEYS_BYTES = 16384,	/* of the text; a longer one has no keys */
	EGRESSFIREWALL_TRANSFER_KEY_AGE_S = 30 * 86400, /* then another one is made */
	EGRESSFIREWALL_TRANSFER_OVERLAP_S = 86400,	/* for so long the one before counts, too */
};

/* Appends the text that should take the place of `text` now: a first key, a new one and the last one
 * beside it, or the newest alone. False: `text` may stay as it is. One that has other keys than the
 * controller's is the administrator's, and stays. For secret_wipe_strbuf. */
bool egressfirewall_transfer_keys_renew(struct slice text, uint64_t now_s, struct strbuf *out);

/* How many keys there are. */
size_t egressfirewall_transfer_keys_count(struct slice text);
/* Key number `index`, counted from 0, into `ret`, which is empty. ERR_NOTFOUND, or an error of
 * dns_tsig_key_parse. */
MUST_CHECK int egressfirewall_transfer_keys_pick(struct slice text, size_t index,
						 struct dns_tsig_key *ret, struct err_text reterr);

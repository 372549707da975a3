/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NOTIFY (RFC 1996): informs other servers that a zone changed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "net/addr.h"

struct transfer_notify {
	const uint8_t *zone;
	const char *zone_text;
	const union net_addr *to; /* with ports */
	size_t n_to;
	union net_addr source; /* AF_UNSPEC: the kernel's choice */
};

/* Everything is copied. Sends from a thread of its own, at most three times to each address until
 * it answers NOERROR; failures are logged. */
void transfer_notify(const struct transfer_notify *notify);

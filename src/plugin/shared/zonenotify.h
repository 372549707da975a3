/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NOTIFY (RFC 1996): informs other servers that a zone changed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "net/addr.h"

struct zonenotify {
	const uint8_t *zone;
	const char *zone_text;
	const char *area;	  /* for the log; borrowed for ever */
	const union net_addr *to; /* with ports */
	size_t n_to;
	union net_addr source; /* AF_UNSPEC: the kernel's choice */
};

/* Everything else is copied. Sends from a thread of its own, at most three times to each address until
 * it answers NOERROR; failures are logged. */
void zonenotify_send(const struct zonenotify *notify);

/* For a zone that changes often: at most one round of messages at a time. Changes during a round
 * cause one more. */
struct zonenotify_rounds;
/* As above; nothing is sent yet. */
struct zonenotify_rounds *zonenotify_rounds_new(const struct zonenotify *notify);
/* A round that has begun goes on. NULL is fine. */
void zonenotify_rounds_free(struct zonenotify_rounds *rounds);
/* The zone changed. Any thread. A server that does not answer is logged once, until it does. */
void zonenotify_rounds_send(struct zonenotify_rounds *rounds);

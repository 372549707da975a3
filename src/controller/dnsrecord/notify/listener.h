/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The socket at which name servers send NOTIFYs (RFC 1996), over UDP and TCP. Anybody may send to it: what it reads
 * in a second is limited, and so are its connections.
 *
 * Everything on the loop's thread. */
#pragma once

#include <stdbool.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "controller/dnsrecord/notify/message.h"
#include "net/addr.h"
#include "net/loop.h"

enum {
	DNSRECORD_NOTIFY_PER_S = 2000,	   /* messages that are read; others are lost */
	DNSRECORD_NOTIFY_CONNECTIONS = 32, /* at a time; a further one ends the oldest */
	DNSRECORD_NOTIFY_KEYS = 8,	   /* of one zone, all different */
};

struct dnsrecord_notify_listener;

struct dnsrecord_notify_listener_conf {
	struct loop *loop; /* borrowed */
	union net_addr addr;
	/* Are there record sets of ours in this zone? Names are in lower case, without the final dot. */
	bool (*has_zone)(void *ctx, const char *zone);
	/* Does this account, by which a key was learnt, still have record sets in its zone? */
	bool (*has_account)(void *ctx, const char *account);
	/* A server says that the zone has changed. */
	void (*changed)(void *ctx, const char *zone);
	/* Each message that was answered; for metrics. */
	void (*count)(enum dnsrecord_notify_result result);
	void *ctx;
};

/* -errno with a sentence. */
MUST_CHECK int dnsrecord_notify_listener_open(const struct dnsrecord_notify_listener_conf *conf,
					      struct dnsrecord_notify_listener **ret,
					      struct err_text err);
void dnsrecord_notify_listener_close(struct dnsrecord_notify_listener *listener);

/* The account's server may sign NOTIFYs for the zone with this key, which is copied and replaces the account's one
 * before; NULL: it has none any more. Accounts may have different secrets of one name: each will do. Beyond
 * DNSRECORD_NOTIFY_KEYS keys are not known. Those of accounts that are gone are dropped within a minute. */
void dnsrecord_notify_listener_learn(struct dnsrecord_notify_listener *listener, const char *zone,
				     const char *account, const struct dns_tsig_key *key);

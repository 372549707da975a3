/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One signed message and its verified answer. Servers that cannot be reached are passed over: a query
 * is asked of the next one, an UPDATE only while nothing of it was sent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/provider.h"
#include "provider/rfc2136/account_priv.h"
#include "resolve/signed.h"

/* Zero it, fill the first part, start it. It stays where it is until `done` or a cancel. */
struct rfc2136_ask {
	struct rfc2136_account *account;
	uint8_t *msg; /* whole; borrowed to the end */
	size_t msg_n;
	size_t msg_cap; /* DNS_TSIG_RECORD_MAX more than that is enough */
	bool is_update;
	uint64_t end_by_ns;
	void (*done)(struct rfc2136_ask *ask); /* never from inside rfc2136_ask_start() */

	/* The result. PROVIDER_OK: there is an answer, see `rcode`. Otherwise `error` says why not. */
	enum provider_code code;
	char error[PROVIDER_ERROR_BYTES];
	uint8_t rcode;
	bool is_unsigned; /* an error that the server did not sign, although we did */
	uint8_t *reply;	  /* until `done` returns */
	size_t reply_n;
	const char *server; /* which one answered, for people */

	/* Its own: */
	struct resolve_signed query;
	size_t index; /* of the address */
	size_t tried;
	bool is_running;
	bool is_waiting; /* for addresses of servers; nothing was sent */
	unsigned round;	 /* of the lookups that it waits for */
	struct rfc2136_ask *next_waiting;
};

void rfc2136_ask_start(struct rfc2136_ask *ask);
/* It waits no longer: the servers have addresses, or `error` says why not. */
void rfc2136_ask_resume(struct rfc2136_ask *ask, const char *error);
void rfc2136_ask_cancel(struct rfc2136_ask *ask); /* fine for one that is not running */

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An exchange that is signed with a TSIG key: the query or UPDATE leaves signed, and the answer is
 * verified before its owner sees it. On the resolver's loop, like any exchange; nothing blocks.
 *
 *	struct resolve_signed s = { .exchange = { .up = up, .msg = msg, .msg_n = n, .tcp = true,
 *						  .deadline_ns = ... },
 *				    .msg_cap = sizeof(msg), .key = &key, .done = on_answer };
 *	r = resolve_signed_start(resolver, &s);
 *	...
 *	static void on_answer(struct resolve_signed *s)
 *	{
 *		r = resolve_signed_result(s, ERR_TEXT(why));
 *
 * Use TCP: over UDP the first message with our id and question ends the exchange, and if a stranger
 * sent it, that is an answer which fails. An answer that is cut (exchange.reply_tc, or TC) is to be
 * asked for again over TCP. */
#pragma once

#include "base/compiler.h"
#include "base/err_text.h"
#include "dns/tsig/tsig.h"
#include "resolve/types.h"

struct resolver;

/* Zero it, fill the first part, start it. It must stay where it is until done is called or it
 * was cancelled. */
struct resolve_signed {
	/* As for resolve_start; done and random_case are set here. */
	struct resolve_exchange exchange;
	size_t msg_cap; /* room of exchange.msg: DNS_TSIG_RECORD_MAX beyond the message is enough */
	const struct dns_tsig_key *key; /* borrowed to the end; NULL: neither is signed */
	void (*done)(struct resolve_signed *query);

	/* For done, besides what the exchange has. exchange.msg is as it was before;
	 * exchange.reply has its TSIG record taken off. */
	struct dns_tsig_report report; /* with a key and RESOLVE_OK */

	/* ---- below: its own ---- */
	struct dns_tsig tsig;
	size_t unsigned_n; /* of exchange.msg */
	uint64_t verified_s;
};

/* Signs and starts it; done comes later, never from inside. ERR_SPACE: no room for the
 * signature, nothing was started. */
MUST_CHECK int resolve_signed_start(struct resolver *resolver, struct resolve_signed *query);
/* Forgets it; done is not called. Fine for one that is not running. */
void resolve_signed_cancel(struct resolver *resolver, struct resolve_signed *query);

/* In done: 0 if exchange.reply may be used, whatever its rcode; otherwise an error with a
 * sentence that names the server: -ETIMEDOUT, -errno or another code for no answer, ERR_PARSE
 * for one that is malformed, ERR_DENIED for one that the key did not sign, or that says why the
 * server does not accept our signature (see report). */
MUST_CHECK int resolve_signed_result(const struct resolve_signed *query, struct err_text reterr);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signed messages, server after server. */
#include "provider/rfc2136/ask_priv.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

#include "base/clock.h"
#include "dns/types.h"
#include "provider/rfc2136/server_names_priv.h"
#include "resolve/resolver.h"
#include "resolve/upstream.h"

/* For one server. The publisher's own limit is as precise as a clock; ours comes first. */
#define TRY_NS	  (10 * NS_PER_S)
#define MARGIN_NS (200 * NS_PER_MS)

static void end_ask(struct rfc2136_ask *ask)
{
	assert(ask->is_running && !ask->is_waiting);
	ask->is_running = false;
	ask->done(ask);
}

/* Its last message is answered, or given up. */
static void end_sent(struct rfc2136_ask *ask)
{
	assert(ask->account->n_sent != 0);
	ask->account->n_sent--;
	end_ask(ask);
}

static void PRINTF_LIKE(3, 4)
	fail_ask(struct rfc2136_ask *ask, enum provider_code code, const char *fmt, ...)
{
	va_list args;
	ask->code = code;
	va_start(args, fmt);
	err_text_vset(ERR_TEXT(ask->error), fmt, args);
	va_end(args);
}

/* ---- what an answer is worth ---- */

/* Servers that reject a request before they look at its signature do not sign that answer. It can
 * only tell what did not happen. */
static bool is_plain_refusal(uint8_t rcode)
{
	return rcode == DNS_RCODE_FORMERR || rcode == DNS_RCODE_NOTIMP ||
	       rcode == DNS_RCODE_REFUSED || rcode == DNS_RCODE_NOTAUTH ||
	       rcode == DNS_RCODE_NOTZONE;
}

static enum provider_code judge_signature(const struct rfc2136_ask *ask)
{
	const struct dns_tsig_report *report = &ask->query.report;
	switch (report->result) {
	case DNS_TSIG_REJECTED:
		return report->error == DNS_TSIG_ERROR_BADTIME ? PROVIDER_TRANSIENT
							       : PROVIDER_UNAUTHENTICATED;
	case DNS_TSIG_UNSIGNED:
	case DNS_TSIG_BADKEY:
		return ask->is_update ? PROVIDER_UNSURE : PROVIDER_UNAUTHENTICATED;
	case DNS_TSIG_OK:
	case DNS_TSIG_PENDING:
	case DNS_TSIG_MALFORMED:
	case DNS_TSIG_BADSIG:
	case DNS_TSIG_BADTIME:
	case DNS_TSIG_BADTRUNC:
		break;
	}
	return ask->is_update ? PROVIDER_UNSURE : PROVIDER_TRANSIENT;
}

static void take_answer(struct rfc2136_ask *ask)
{
	const struct resolve_exchange *exchange = &ask->query.exchange;
	char why[PROVIDER_ERROR_BYTES];
	ask->reply = exchange->reply;
	ask->reply_n = exchange->reply_n;
	ask->rcode = exchange->reply[3] & 0xf;
	ask->code = PROVIDER_OK;
	if (resolve_signed_result(&ask->query, ERR_TEXT(why)) == 0)
		return;
	ask->is_unsigned =
		ask->query.report.result == DNS_TSIG_UNSIGNED && is_plain_refusal(ask->rcode);
	if (!ask->is_unsigned)
		fail_ask(ask, judge_signature(ask), "%s", why);
}

/* ---- servers ---- */

static void try_server(struct rfc2136_ask *ask);

/* False: all were tried, or the time is over. */
static bool try_next(struct rfc2136_ask *ask)
{
	struct rfc2136_account *account = ask->account;
	uint64_t now = loop_now(account->account.loop);
	rfc2136_account_leave(account, ask->index);
	if (ask->tried >= account->n_upstreams || now + MARGIN_NS >= ask->end_by_ns)
		return false;
	ask->index = (ask->index + 1) % account->n_upstreams;
	try_server(ask);
	return true;
}

static void fail_unreached(struct rfc2136_ask *ask, bool was_sent, const char *why)
{
	if (ask->is_update && was_sent)
		fail_ask(ask, PROVIDER_UNSURE,
			 "the update was sent, but its answer did not come: %s", why);
	else if (ask->account->n_upstreams > 1)
		fail_ask(ask, PROVIDER_TRANSIENT, "none of the %zu servers answers; the last: %s",
			 ask->account->n_upstreams, why);
	else
		fail_ask(ask, PROVIDER_TRANSIENT, "%s", why);
}

static void on_answer(struct resolve_signed *query)
{
	struct rfc2136_ask *ask = CONTAINER_OF(query, struct rfc2136_ask, query);
	const struct resolve_exchange *exchange = &query->exchange;
	char why[PROVIDER_ERROR_BYTES];
	ask->server = exchange->up->text;
	if (exchange->result == RESOLVE_OK) {
		take_answer(ask);
		bool is_ill = ask->code == PROVIDER_OK && ask->rcode == DNS_RCODE_SERVFAIL;
		if (!is_ill || ask->is_update || !try_next(ask))
			end_sent(ask);
		return;
	}
	bool was_sent =
		exchange->local.family != AF_UNSPEC ||
		(exchange->result != RESOLVE_NETWORK && exchange->result != RESOLVE_TIMEOUT);
	if (!(ask->is_update && was_sent) && try_next(ask))
		return;
	IGNORE(resolve_signed_result(query, ERR_TEXT(why))); /* for its sentence */
	fail_unreached(ask, was_sent, why);
	end_sent(ask);
}

static uint64_t choose_deadline(const struct rfc2136_ask *ask)
{
	uint64_t now = loop_now(ask->account->account.loop);
	uint64_t left = ask->end_by_ns > now + MARGIN_NS ? ask->end_by_ns - MARGIN_NS - now : 0;
	size_t n = ask->account->n_upstreams, servers = n > ask->tried ? n - ask->tried : 1;
	return now + MIN(left / servers, TRY_NS);
}

static void try_server(struct rfc2136_ask *ask)
{
	struct rfc2136_account *account = ask->account;
	/* A connection that was there before may be closed by the server just now, and nobody would
	 * know whether it had read the update. */
	ask->query = (struct resolve_signed){
		.exchange = { .up = account->upstreams[ask->index],
			      .msg = ask->msg,
			      .msg_n = (uint16_t)ask->msg_n,
			      .tcp = true,
			      .fresh = ask->is_update,
			      .deadline_ns = choose_deadline(ask) },
		.msg_cap = ask->msg_cap,
		.key = rfc2136_account_key(account),
		.done = on_answer,
	};
	ask->tried++;
	int r = resolve_signed_start(account->resolver, &ask->query);
	assert(r == 0); /* there is room for the signature */
}

static void begin_tries(struct rfc2136_ask *ask)
{
	ask->index = ask->account->current;
	ask->account->n_sent++;
	try_server(ask);
}

void rfc2136_ask_resume(struct rfc2136_ask *ask, const char *error)
{
	if (error == NULL) {
		begin_tries(ask);
		return;
	}
	fail_ask(ask, PROVIDER_TRANSIENT, "%s", error);
	end_ask(ask);
}

void rfc2136_ask_start(struct rfc2136_ask *ask)
{
	assert(!ask->is_running && ask->msg_n + DNS_TSIG_RECORD_MAX <= ask->msg_cap);
	ask->is_running = true;
	ask->is_unsigned = false;
	ask->tried = 0;
	ask->server = "the server";
	if (!rfc2136_names_wait(ask))
		begin_tries(ask);
}

void rfc2136_ask_cancel(struct rfc2136_ask *ask)
{
	if (!ask->is_running)
		return;
	if (ask->is_waiting) {
		rfc2136_names_forget(ask);
	} else {
		resolve_signed_cancel(ask->account->resolver, &ask->query);
		ask->account->n_sent--;
	}
	ask->is_running = false;
}

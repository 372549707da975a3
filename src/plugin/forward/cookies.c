/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNS cookies towards upstreams (RFC 7873, RFC 9018): our client cookie, which an attacker cannot
 * know, and the server's cookie, which proves that we own our address. */
#include "plugin/forward/cookies.h"

#include <string.h>

#include "base/err.h"

enum { COOKIE = 10, BADCOOKIE = 23, SERVER_MIN = 8 };

/* RFC 9018 section 3: one for each server. This one lasts as long as the worker's configuration. */
void forward_cookie_init(struct forward_up *up)
{
	rng_secure(up->cookie_local, sizeof(up->cookie_local));
	up->cookie_n = 0;
}

/* Drops options of this code from TLVs; their new length. A broken tail goes, too. */
static uint16_t drop_option(uint8_t *pos, uint16_t number, uint16_t code)
{
	size_t to = 0;
	for (size_t at = 0; at + 4 <= number;) {
		size_t len = 4 + (size_t)dns_get16(pos + at + 2);
		if (at + len > number)
			break;
		if (dns_get16(pos + at) != code) {
			memmove(pos + to, pos + at, len);
			to += len;
		}
		at += len;
	}
	return (uint16_t)to;
}

int forward_cookie_message(struct forward_query *query, const struct forward_up *up,
			   struct resolve_exchange *exchange)
{
	enum { OPTION_MAX = 4 + FORWARD_COOKIE_CLIENT + FORWARD_COOKIE_SERVER_MAX };
	uint8_t *m = arena_alloc(&query->q->arena, (size_t)query->msg_n + OPTION_MAX);
	if (m == NULL)
		return ERR_SPACE;
	memcpy(m, query->msg, query->msg_n);
	uint8_t *options = m + query->msg_n - query->options_n;
	/* A client's cookie is between it and us. */
	uint16_t n = drop_option(options, query->options_n, COOKIE);
	uint8_t *p = options + n;
	if ((size_t)(p - m) + OPTION_MAX > UINT16_MAX)
		return ERR_LIMIT;
	dns_put16(p, COOKIE);
	dns_put16(p + 2, (uint16_t)(FORWARD_COOKIE_CLIENT + up->cookie_n));
	memcpy(p + 4, up->cookie_local, FORWARD_COOKIE_CLIENT);
	memcpy(p + 4 + FORWARD_COOKIE_CLIENT, up->cookie_server, up->cookie_n);
	n = (uint16_t)(n + 4 + FORWARD_COOKIE_CLIENT + up->cookie_n);
	dns_put16(options - 2, n);
	exchange->msg = m;
	exchange->msg_n = (uint16_t)(options + n - m);
	return 0;
}

static bool find_cookie(const struct dns_resp *resp, struct dns_option *ret)
{
	struct dns_opt o = { .options = resp->options, .options_len = resp->options_len };
	size_t pos = 0;
	while (resp->has_opt && dns_option_next(&o, &pos, ret)) {
		if (ret->code == COOKIE)
			return true;
	}
	return false;
}

/* Is the cookie ours, and whole? */
static bool is_ours(const struct forward_up *up, const struct dns_option *option)
{
	size_t server =
		option->len < FORWARD_COOKIE_CLIENT ? 0 : option->len - FORWARD_COOKIE_CLIENT;
	return option->len >= FORWARD_COOKIE_CLIENT &&
	       memcmp(option->data, up->cookie_local, FORWARD_COOKIE_CLIENT) == 0 &&
	       (server == 0 || (server >= SERVER_MIN && server <= FORWARD_COOKIE_SERVER_MAX));
}

enum forward_cookie forward_cookie_check(struct forward_query *query, struct forward_up *up,
					 const struct resolve_exchange *exchange)
{
	struct dns_resp *resp = &query->q->resp;
	struct dns_option o;
	bool tcp = exchange->proto != RESOLVE_UDP;
	bool found = find_cookie(resp, &o);
	if (found && !is_ours(up, &o))
		return FORWARD_COOKIE_FORGED;
	if (!found && up->cookie_n != 0 && !tcp)
		return FORWARD_COOKIE_TCP; /* it gave cookies before: this may be somebody else */
	if (found && o.len > FORWARD_COOKIE_CLIENT) {
		up->cookie_n = (uint8_t)(o.len - FORWARD_COOKIE_CLIENT);
		memcpy(up->cookie_server, o.data + FORWARD_COOKIE_CLIENT, up->cookie_n);
	}
	if (found)
		resp->options_len = drop_option(resp->options, resp->options_len, COOKIE);
	if (resp->rcode == BADCOOKIE && !tcp) {
		bool again = found && !query->cookie_again;
		query->cookie_again = true;
		return again ? FORWARD_COOKIE_AGAIN : FORWARD_COOKIE_TCP;
	}
	if (query->own_opt) {
		resp->has_opt = false;
		if (resp->rcode > 15) /* needs an OPT */
			resp->rcode = DNS_RCODE_SERVFAIL;
	}
	return FORWARD_COOKIE_FINE;
}

/* DNS cookies towards upstreams (RFC 7873, RFC 9018): a number of ours that a forger cannot know,
 * and what the server gave us to prove that we are where we say we are. */
#include <string.h>

#include "base/err.h"
#include "plugin/forward/serve.h"

enum { COOKIE = 10, BADCOOKIE = 23, SERVER_MIN = 8 };

/* RFC 9018 section 3: one for each server. This one lasts as long as the worker's configuration. */
void forward_cookie_init(struct forward_up *up)
{
	rng_secure(up->cookie_local, sizeof(up->cookie_local));
	up->cookie_n = 0;
}

/* Drops options of this code from TLVs; their new length. A broken tail goes, too. */
static uint16_t drop_option(uint8_t *p, uint16_t n, uint16_t code)
{
	size_t to = 0;
	for (size_t at = 0; at + 4 <= n;) {
		size_t len = 4 + (size_t)dns_get16(p + at + 2);
		if (at + len > n)
			break;
		if (dns_get16(p + at) != code) {
			memmove(p + to, p + at, len);
			to += len;
		}
		at += len;
	}
	return (uint16_t)to;
}

int forward_cookie_message(struct forward_query *f, const struct forward_up *up,
			   struct resolve_exchange *x)
{
	enum { OPTION_MAX = 4 + FORWARD_COOKIE_CLIENT + FORWARD_COOKIE_SERVER_MAX };
	uint8_t *m = arena_alloc(&f->q->arena, (size_t)f->msg_n + OPTION_MAX);
	if (m == NULL)
		return ERR_SPACE;
	memcpy(m, f->msg, f->msg_n);
	uint8_t *options = m + f->msg_n - f->options_n;
	/* A client's cookie is between it and us. */
	uint16_t n = drop_option(options, f->options_n, COOKIE);
	uint8_t *p = options + n;
	if ((size_t)(p - m) + OPTION_MAX > UINT16_MAX)
		return ERR_LIMIT;
	dns_put16(p, COOKIE);
	dns_put16(p + 2, (uint16_t)(FORWARD_COOKIE_CLIENT + up->cookie_n));
	memcpy(p + 4, up->cookie_local, FORWARD_COOKIE_CLIENT);
	memcpy(p + 4 + FORWARD_COOKIE_CLIENT, up->cookie_server, up->cookie_n);
	n = (uint16_t)(n + 4 + FORWARD_COOKIE_CLIENT + up->cookie_n);
	dns_put16(options - 2, n);
	x->msg = m;
	x->msg_n = (uint16_t)(options + n - m);
	return 0;
}

static bool find_cookie(const struct dns_resp *r, struct dns_option *ret)
{
	struct dns_opt o = { .options = r->options, .options_len = r->options_len };
	size_t pos = 0;
	while (r->has_opt && dns_option_next(&o, &pos, ret)) {
		if (ret->code == COOKIE)
			return true;
	}
	return false;
}

/* Is the cookie ours, and whole? */
static bool is_ours(const struct forward_up *up, const struct dns_option *o)
{
	size_t server = o->len < FORWARD_COOKIE_CLIENT ? 0 : o->len - FORWARD_COOKIE_CLIENT;
	return o->len >= FORWARD_COOKIE_CLIENT &&
	       memcmp(o->data, up->cookie_local, FORWARD_COOKIE_CLIENT) == 0 &&
	       (server == 0 || (server >= SERVER_MIN && server <= FORWARD_COOKIE_SERVER_MAX));
}

enum forward_cookie forward_cookie_take(struct forward_query *f, struct forward_up *up,
					const struct resolve_exchange *x)
{
	struct dns_resp *r = &f->q->resp;
	struct dns_option o;
	bool tcp = x->proto != RESOLVE_UDP;
	bool found = find_cookie(r, &o);
	if (found && !is_ours(up, &o))
		return FORWARD_COOKIE_FORGED;
	if (!found && up->cookie_n != 0 && !tcp)
		return FORWARD_COOKIE_TCP; /* it gave cookies before: this may be somebody else */
	if (found && o.len > FORWARD_COOKIE_CLIENT) {
		up->cookie_n = (uint8_t)(o.len - FORWARD_COOKIE_CLIENT);
		memcpy(up->cookie_server, o.data + FORWARD_COOKIE_CLIENT, up->cookie_n);
	}
	if (found)
		r->options_len = drop_option(r->options, r->options_len, COOKIE);
	if (r->rcode == BADCOOKIE && !tcp) {
		bool again = found && !f->cookie_again;
		f->cookie_again = true;
		return again ? FORWARD_COOKIE_AGAIN : FORWARD_COOKIE_TCP;
	}
	if (f->own_opt) {
		r->has_opt = false;
		if (r->rcode > 15) /* cannot be told without an OPT */
			r->rcode = DNS_RCODE_SERVFAIL;
	}
	return FORWARD_COOKIE_FINE;
}

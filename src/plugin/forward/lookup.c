/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resolves host names of upstreams at load: A, then AAAA records, from the resolvers of the stanza
 * or by the system's resolver. */
#include "plugin/forward/lookup.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "dns/message.h"
#include "dns/resp.h"
#include "resolve/blocking_query.h"
#include "resolve/types.h"

enum { ASK_SECONDS = 2 };

static int system_lookup(const char *name, union net_addr addr[FORWARD_LOOKUP_MAX],
			 char err[FORWARD_ERR_MAX])
{
	char absolute[FORWARD_ADDRESS_TEXT_MAX + 2];
	size_t len = strlen(name);
	struct addrinfo hints = { .ai_socktype = SOCK_DGRAM }, *found = NULL;
	bool dotted = len > 0 && name[len - 1] == '.';
	snprintf(absolute, sizeof(absolute), "%s%s", name, dotted ? "" : ".");
	int r = getaddrinfo(absolute, NULL, &hints, &found);
	if (r != 0) {
		snprintf(err, FORWARD_ERR_MAX, "%s", gai_strerror(r));
		return ERR_NOTFOUND;
	}
	int n = 0;
	for (const struct addrinfo *a = found; a != NULL && n < FORWARD_LOOKUP_MAX;
	     a = a->ai_next) {
		if (a->ai_addrlen <= sizeof(addr[n])) {
			memset(&addr[n], 0, sizeof(addr[n]));
			memcpy(&addr[n++], a->ai_addr, a->ai_addrlen);
		}
	}
	freeaddrinfo(found);
	return n;
}

static size_t build_question(const char *name, uint16_t type, uint8_t *msg)
{
	uint8_t wire[DNS_NAME_MAX];
	uint16_t id;
	if (dns_name_from_text(slice_of(name), wire) < 0)
		return 0;
	rng_secure(&id, sizeof(id));
	return dns_message_query(msg, id, DNS_FLAG_RD, wire, type);
}

static void add_addresses(const struct dns_resp *resp, uint16_t type, union net_addr *addr,
			  int *count)
{
	DNS_RR_FOREACH(rr, resp, DNS_ANSWER)
	{
		if (rr->type != type || *count == FORWARD_LOOKUP_MAX)
			continue;
		union net_addr a = { 0 };
		if (type == DNS_TYPE_A && rr->rdlen == sizeof(a.v4.sin_addr)) {
			a.v4.sin_family = AF_INET;
			memcpy(&a.v4.sin_addr, rr->rdata, rr->rdlen);
		} else if (type == DNS_TYPE_AAAA && rr->rdlen == sizeof(a.v6.sin6_addr)) {
			a.v6.sin6_family = AF_INET6;
			memcpy(&a.v6.sin6_addr, rr->rdata, rr->rdlen);
		} else {
			continue;
		}
		addr[(*count)++] = a;
	}
}

/* 0, or the error of the exchange. */
static int ask_resolver(const char *name, uint16_t type, const union net_addr *resolver,
			union net_addr *addr, int *count)
{
	enum { REPLY_MAX = 65535 };
	uint8_t msg[DNS_QUERY_MAX];
	CLEANUP(freep) uint8_t *reply = xmalloc(REPLY_MAX);
	struct resolve_conf conf = { .transport = RESOLVE_PLAIN, .addr = *resolver };
	struct dns_resp resp;
	struct arena arena;
	size_t len = build_question(name, type, msg);
	int r = resolve_query_blocking(&conf, msg, (uint16_t)len, ASK_SECONDS * NS_PER_S, reply,
				       REPLY_MAX);
	if (r < 0)
		return r;
	arena_init(&arena);
	r = dns_resp_from_wire(&resp, &arena, reply, (size_t)r);
	if (r >= 0)
		r = dns_resp_thaw(&resp, &arena);
	if (r >= 0)
		add_addresses(&resp, type, addr, count);
	arena_done(&arena);
	return r;
}

static int ask_all(const char *name, const union net_addr *resolver, size_t n_resolver,
		   union net_addr *addr, char err[FORWARD_ERR_MAX])
{
	int last = 0;
	for (size_t i = 0; i < n_resolver; i++) {
		int n = 0;
		int r = ask_resolver(name, DNS_TYPE_A, &resolver[i], addr, &n);
		if (r >= 0)
			r = ask_resolver(name, DNS_TYPE_AAAA, &resolver[i], addr, &n);
		if (n > 0) /* one family is enough */
			return n;
		if (r < 0)
			last = r;
	}
	snprintf(err, FORWARD_ERR_MAX, "no addresses found for \"%.80s\"%s%s", name,
		 last < 0 ? ": " : "", last < 0 ? err_str(last) : "");
	return ERR_NOTFOUND;
}

int forward_lookup(const char *name, const union net_addr *resolver, size_t n_resolver,
		   union net_addr addr[FORWARD_LOOKUP_MAX], char err[FORWARD_ERR_MAX])
{
	if (n_resolver != 0)
		return ask_all(name, resolver, n_resolver, addr, err);
	return system_lookup(name, addr, err);
}

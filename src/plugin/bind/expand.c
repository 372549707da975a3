/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expands the interface names of `bind` to their addresses, less the excepted ones. */
#include "plugin/bind/expand.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "net/addr.h"

static int add_address(struct bind_addrs *ret, const char *text, const struct word *word,
		       struct srcerr *reterr)
{
	if (ret->n == BIND_MAX_ADDRESSES)
		return srcerr_set(reterr, word->pos, "bind: more than %d addresses",
				  BIND_MAX_ADDRESSES);
	ret->v[ret->n++] = text;
	return 0;
}

/* The text of an interface's address, or NULL when it is not an IP address. */
static const char *address_text(const struct ifaddrs *iface, struct arena *arena)
{
	char text[INET6_ADDRSTRLEN];
	if (iface->ifa_addr == NULL)
		return NULL;
	if (iface->ifa_addr->sa_family == AF_INET) {
		struct sockaddr_in v4;
		memcpy(&v4, iface->ifa_addr, sizeof(v4));
		inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text));
		return arena_strdup(arena, text);
	}
	if (iface->ifa_addr->sa_family != AF_INET6)
		return NULL;
	struct sockaddr_in6 v6;
	memcpy(&v6, iface->ifa_addr, sizeof(v6));
	inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text));
	if (IN6_IS_ADDR_LINKLOCAL(&v6.sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&v6.sin6_addr))
		return arena_printf(arena, "%s%%%s", text, iface->ifa_name);
	return arena_strdup(arena, text);
}

/* 1 when there is an interface of that name, even one without addresses. */
static int add_interface(const struct word *word, const struct ifaddrs *ifs, struct arena *arena,
			 struct bind_addrs *ret, struct srcerr *reterr)
{
	int found = 0;
	for (const struct ifaddrs *i = ifs; i != NULL; i = i->ifa_next) {
		if (strcmp(i->ifa_name, word->s) != 0)
			continue;
		found = 1;
		const char *text = address_text(i, arena);
		int r = text != NULL ? add_address(ret, text, word, reterr) : 0;
		if (r < 0)
			return r;
	}
	return found;
}

int bind_expand(const struct opt_list *words, const struct ifaddrs *ifs, struct arena *arena,
		struct bind_addrs *ret, struct srcerr *reterr)
{
	for (size_t i = 0; i < words->n; i++) {
		const struct word *w = words->v[i];
		union net_addr ip;
		int r = add_interface(w, ifs, arena, ret, reterr);
		if (r > 0)
			continue;
		if (r == 0 &&
		    (strchr(w->s, '%') != NULL || net_addr_parse_ip(slice_of(w->s), &ip) < 0))
			r = srcerr_set(reterr, w->pos,
				       "bind: expected an IP address or the name of an interface, "
				       "got '%s'",
				       w->s);
		if (r == 0)
			r = add_address(ret, w->s, w, reterr);
		if (r < 0)
			return r;
	}
	return 0;
}

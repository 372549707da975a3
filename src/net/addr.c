/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses and networks of IPv4 and IPv6: parsing, printing, comparing, membership. */
#include "net/addr.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

socklen_t net_addr_len(const union net_addr *addr)
{
	return addr->family == AF_INET	  ? sizeof(addr->v4)
	       : addr->family == AF_INET6 ? sizeof(addr->v6)
					  : 0;
}

uint16_t net_addr_port(const union net_addr *addr)
{
	return ntohs(addr->family == AF_INET6 ? addr->v6.sin6_port : addr->v4.sin_port);
}

void net_addr_set_port(union net_addr *addr, uint16_t port)
{
	if (addr->family == AF_INET6)
		addr->v6.sin6_port = htons(port);
	else
		addr->v4.sin_port = htons(port);
}

void net_addr_avoid_wildcard(union net_addr *addr)
{
	if (addr->family == AF_INET && addr->v4.sin_addr.s_addr == htonl(INADDR_ANY))
		addr->v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else if (addr->family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&addr->v6.sin6_addr))
		addr->v6.sin6_addr = in6addr_loopback;
}

const uint8_t *net_addr_bytes(const union net_addr *addr, size_t *ret_n)
{
	if (addr->family == AF_INET6) {
		*ret_n = 16;
		return addr->v6.sin6_addr.s6_addr;
	}
	*ret_n = 4;
	return (const uint8_t *)&addr->v4.sin_addr.s_addr;
}

void net_addr_unmap(union net_addr *addr)
{
	if (addr->family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&addr->v6.sin6_addr))
		return;
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = addr->v6.sin6_port };
	memcpy(&v4.sin_addr, addr->v6.sin6_addr.s6_addr + 12, 4);
	addr->v4 = v4;
}

bool net_addr_same_ip(const union net_addr *left, const union net_addr *right)
{
	size_t na, nb;
	const uint8_t *pa = net_addr_bytes(left, &na);
	const uint8_t *pb = net_addr_bytes(right, &nb);
	if (left->family != right->family || memcmp(pa, pb, na) != 0)
		return false;
	return left->family != AF_INET6 || left->v6.sin6_scope_id == right->v6.sin6_scope_id;
}

size_t net_addr_ip_str(const union net_addr *addr, char out[NET_ADDR_TEXT_MAX])
{
	size_t n;
	if (inet_ntop(addr->family, net_addr_bytes(addr, &n), out, NET_ADDR_TEXT_MAX) == NULL) {
		out[0] = '\0';
		return 0;
	}
	size_t len = strlen(out);
	char name[IF_NAMESIZE];
	if (addr->family == AF_INET6 && addr->v6.sin6_scope_id != 0 &&
	    if_indextoname(addr->v6.sin6_scope_id, name) != NULL)
		len += (size_t)snprintf(out + len, NET_ADDR_TEXT_MAX - len, "%%%s", name);
	return len;
}

size_t net_addr_str(const union net_addr *addr, char out[NET_ADDR_TEXT_MAX])
{
	char ip[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(addr, ip);
	const char *fmt = addr->family == AF_INET6 ? "[%.70s]:%u" : "%.70s:%u";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	int n = snprintf(out, NET_ADDR_TEXT_MAX, fmt, ip, net_addr_port(addr));
#pragma GCC diagnostic pop
	return n > 0 ? (size_t)n : 0;
}

int net_addr_parse_ip(struct slice word, union net_addr *ret)
{
	char text[NET_ADDR_TEXT_MAX];
	union net_addr a = { 0 };
	if (word.n == 0 || word.n >= sizeof(text) || memchr(word.p, '\0', word.n) != NULL)
		return ERR_PARSE;
	memcpy(text, word.p, word.n);
	text[word.n] = '\0';
	if (inet_pton(AF_INET, text, &a.v4.sin_addr) == 1) {
		a.family = AF_INET;
		*ret = a;
		return 0;
	}
	char *scope = strchr(text, '%');
	if (scope != NULL) {
		*scope++ = '\0';
		uint64_t number;
		a.v6.sin6_scope_id = if_nametoindex(scope);
		if (a.v6.sin6_scope_id == 0) {
			if (slice_u64(slice_of(scope), &number) < 0 || number > UINT32_MAX)
				return ERR_PARSE;
			a.v6.sin6_scope_id = (uint32_t)number;
		}
	}
	if (inet_pton(AF_INET6, text, &a.v6.sin6_addr) != 1)
		return ERR_PARSE;
	a.family = AF_INET6;
	*ret = a;
	return 0;
}

int net_addr_parse(struct slice text, union net_addr *ret)
{
	ptrdiff_t colon = -1;
	for (size_t i = text.n; i > 0 && colon < 0; i--) {
		if (text.p[i - 1] == ':')
			colon = (ptrdiff_t)i - 1;
	}
	uint64_t port;
	if (colon < 0 || slice_u64(slice_from(text, (size_t)colon + 1), &port) < 0 || port > 65535)
		return ERR_PARSE;
	struct slice host = { text.p, (size_t)colon };
	union net_addr a = { 0 };
	if (host.n == 0) {
		a.family = AF_INET6;
	} else if (slice_is(host, "localhost")) {
		IGNORE(net_addr_parse_ip(SLICE("127.0.0.1"), &a)); /* a literal cannot fail */
	} else {
		if (host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
			host = (struct slice){ host.p + 1, host.n - 2 };
		else if (slice_find(host, ':') >= 0)
			return ERR_PARSE;
		int r = net_addr_parse_ip(host, &a);
		if (r < 0)
			return r;
	}
	net_addr_set_port(&a, (uint16_t)port);
	*ret = a;
	return 0;
}

int net_cidr_parse(struct slice text, struct net_cidr *ret)
{
	struct slice rest = text;
	struct slice ip = slice_cut(&rest, '/');
	union net_addr a;
	uint64_t bits;
	size_t n;
	if (net_addr_parse_ip(ip, &a) < 0)
		return ERR_PARSE;
	const uint8_t *bytes = net_addr_bytes(&a, &n);
	if (rest.p == NULL)
		bits = n * 8;
	else if (slice_u64(rest, &bits) < 0 || bits > n * 8)
		return ERR_PARSE;
	*ret = (struct net_cidr){ .family = a.family, .bits = (uint8_t)bits };
	for (size_t i = 0; i < n; i++) {
		size_t left = bits > i * 8 ? bits - i * 8 : 0;
		unsigned mask = left >= 8 ? 0xff : 0xff00U >> left & 0xff;
		ret->ip[i] = (uint8_t)(bytes[i] & mask);
	}
	return 0;
}

bool net_cidr_has(const struct net_cidr *cidr, const union net_addr *addr)
{
	size_t n;
	if (addr->family != cidr->family)
		return false;
	const uint8_t *p = net_addr_bytes(addr, &n);
	size_t whole = cidr->bits / 8;
	unsigned part = cidr->bits % 8;
	if (memcmp(p, cidr->ip, whole) != 0)
		return false;
	return part == 0 || ((p[whole] ^ cidr->ip[whole]) & (uint8_t)(0xff00U >> part)) == 0;
}

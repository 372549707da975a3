/* Address parsing, printing and network membership. */
#include "net/addr.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

socklen_t net_addr_len(const union net_addr *a)
{
	return a->family == AF_INET ? sizeof(a->v4) : a->family == AF_INET6 ? sizeof(a->v6) : 0;
}

uint16_t net_addr_port(const union net_addr *a)
{
	return ntohs(a->family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
}

void net_addr_set_port(union net_addr *a, uint16_t port)
{
	if (a->family == AF_INET6)
		a->v6.sin6_port = htons(port);
	else
		a->v4.sin_port = htons(port);
}

const uint8_t *net_addr_bytes(const union net_addr *a, size_t *ret_n)
{
	if (a->family == AF_INET6) {
		*ret_n = 16;
		return a->v6.sin6_addr.s6_addr;
	}
	*ret_n = 4;
	return (const uint8_t *)&a->v4.sin_addr.s_addr;
}

void net_addr_unmap(union net_addr *a)
{
	if (a->family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&a->v6.sin6_addr))
		return;
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = a->v6.sin6_port };
	memcpy(&v4.sin_addr, a->v6.sin6_addr.s6_addr + 12, 4);
	a->v4 = v4;
}

bool net_addr_same_ip(const union net_addr *a, const union net_addr *b)
{
	size_t na, nb;
	const uint8_t *pa = net_addr_bytes(a, &na);
	const uint8_t *pb = net_addr_bytes(b, &nb);
	if (a->family != b->family || memcmp(pa, pb, na) != 0)
		return false;
	return a->family != AF_INET6 || a->v6.sin6_scope_id == b->v6.sin6_scope_id;
}

size_t net_addr_ip_str(const union net_addr *a, char out[NET_ADDR_TEXT_MAX])
{
	size_t n;
	if (inet_ntop(a->family, net_addr_bytes(a, &n), out, NET_ADDR_TEXT_MAX) == NULL) {
		out[0] = '\0';
		return 0;
	}
	size_t len = strlen(out);
	char name[IF_NAMESIZE];
	if (a->family == AF_INET6 && a->v6.sin6_scope_id != 0 &&
	    if_indextoname(a->v6.sin6_scope_id, name) != NULL)
		len += (size_t)snprintf(out + len, NET_ADDR_TEXT_MAX - len, "%%%s", name);
	return len;
}

size_t net_addr_str(const union net_addr *a, char out[NET_ADDR_TEXT_MAX])
{
	char ip[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(a, ip);
	const char *fmt = a->family == AF_INET6 ? "[%.70s]:%u" : "%.70s:%u";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	int n = snprintf(out, NET_ADDR_TEXT_MAX, fmt, ip, net_addr_port(a));
#pragma GCC diagnostic pop
	return n > 0 ? (size_t)n : 0;
}

int net_addr_parse_ip(struct slice s, union net_addr *ret)
{
	char text[NET_ADDR_TEXT_MAX];
	union net_addr a = { 0 };
	if (s.n == 0 || s.n >= sizeof(text) || memchr(s.p, '\0', s.n) != NULL)
		return ERR_PARSE;
	memcpy(text, s.p, s.n);
	text[s.n] = '\0';
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

int net_addr_parse(struct slice s, union net_addr *ret)
{
	ptrdiff_t colon = -1;
	for (size_t i = s.n; i > 0 && colon < 0; i--) {
		if (s.p[i - 1] == ':')
			colon = (ptrdiff_t)i - 1;
	}
	uint64_t port;
	if (colon < 0 || slice_u64(slice_from(s, (size_t)colon + 1), &port) < 0 || port > 65535)
		return ERR_PARSE;
	struct slice host = { s.p, (size_t)colon };
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

int net_cidr_parse(struct slice s, struct net_cidr *ret)
{
	struct slice rest = s;
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

bool net_cidr_has(const struct net_cidr *c, const union net_addr *a)
{
	size_t n;
	if (a->family != c->family)
		return false;
	const uint8_t *p = net_addr_bytes(a, &n);
	size_t whole = c->bits / 8;
	unsigned part = c->bits % 8;
	if (memcmp(p, c->ip, whole) != 0)
		return false;
	return part == 0 || ((p[whole] ^ c->ip[whole]) & (uint8_t)(0xff00U >> part)) == 0;
}

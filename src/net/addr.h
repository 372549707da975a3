/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Socket addresses and networks, IPv4 and IPv6, with their text. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/compiler.h"
#include "base/slice.h"

union net_addr {
	sa_family_t family; /* AF_UNSPEC: none */
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

enum { NET_ADDR_TEXT_MAX = 80 };

socklen_t net_addr_len(const union net_addr *addr);
uint16_t net_addr_port(const union net_addr *addr);
void net_addr_set_port(union net_addr *addr, uint16_t port);
/* A server that listens on the wildcard address is reached by loopback: replaces the one by the other. */
void net_addr_avoid_wildcard(union net_addr *addr);
/* The address bytes (4 or 16) and their number. */
const uint8_t *net_addr_bytes(const union net_addr *addr, size_t *ret_n);
/* An IPv4-mapped IPv6 address becomes IPv4. */
void net_addr_unmap(union net_addr *addr);
/* Same family, address and scope; ports ignored. */
bool net_addr_same_ip(const union net_addr *left, const union net_addr *right);

/* Text without port and brackets (`%scope` kept); returns the length, `out` is terminated. */
size_t net_addr_ip_str(const union net_addr *addr, char out[NET_ADDR_TEXT_MAX]);
/* `ip:port` or `[ip]:port`. */
size_t net_addr_str(const union net_addr *addr, char out[NET_ADDR_TEXT_MAX]);

/* An IP literal, IPv6 with or without %scope, no brackets. Port 0. ERR_PARSE. */
MUST_CHECK int net_addr_parse_ip(struct slice word, union net_addr *ret);
/* `ip:port`, `[v6]:port`, `:port` (any address: IPv6 wildcard, dual stack) or `localhost:port`.
 * ERR_PARSE. */
MUST_CHECK int net_addr_parse(struct slice text, union net_addr *ret);

struct net_cidr {
	sa_family_t family;
	uint8_t bits;
	uint8_t ip[16];
};

/* `ip/len`, or a bare IP (all bits). Host bits are cleared. ERR_PARSE. */
MUST_CHECK int net_cidr_parse(struct slice text, struct net_cidr *ret);
bool net_cidr_has(const struct net_cidr *cidr, const union net_addr *addr);

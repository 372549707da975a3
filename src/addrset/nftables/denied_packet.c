/* SPDX-License-Identifier: GPL-3.0-or-later */
/* RFC 791 and RFC 8200, as far as addresses and ports are concerned. */
#include "addrset/nftables/denied_packet.h"

#include <netinet/in.h>
#include <string.h>

enum {
	IPV4_BYTES = 20,
	IPV6_BYTES = 40,
	PORTS_BYTES = 4,
	EXTENSIONS_MAX = 8, /* of IPv6; a packet with more has no port for us */
};

static bool has_ports(uint8_t protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP;
}

/* Both have the destination's port in the same place. */
static void read_port(const uint8_t *bytes, size_t n, struct nftables_connection *ret)
{
	if (has_ports(ret->protocol) && n >= PORTS_BYTES)
		ret->port = (uint16_t)(bytes[2] << 8 | bytes[3]);
}

static bool read_ipv4(const uint8_t *bytes, size_t n, struct nftables_connection *ret)
{
	size_t head = (size_t)(bytes[0] & 0x0f) * 4;
	if (n < IPV4_BYTES || head < IPV4_BYTES)
		return false;
	ret->from.n = ret->to.n = 4;
	memcpy(ret->from.bytes, bytes + 12, 4);
	memcpy(ret->to.bytes, bytes + 16, 4);
	ret->protocol = bytes[9];
	bool is_first = ((bytes[6] & 0x1f) | bytes[7]) == 0; /* of its fragments */
	if (is_first && head <= n)
		read_port(bytes + head, n - head, ret);
	return true;
}

/* Past extension headers, which say themselves how long they are. */
static void read_next_headers(const uint8_t *bytes, size_t n, uint8_t next,
			      struct nftables_connection *ret)
{
	for (int i = 0; i < EXTENSIONS_MAX; i++) {
		ret->protocol = next;
		bool is_extension = next == IPPROTO_HOPOPTS || next == IPPROTO_ROUTING ||
				    next == IPPROTO_DSTOPTS;
		if (!is_extension && next != IPPROTO_FRAGMENT) {
			read_port(bytes, n, ret);
			return;
		}
		size_t length = is_extension && n >= 2 ? ((size_t)bytes[1] + 1) * 8 : 8;
		if (n < length)
			return;
		if (next == IPPROTO_FRAGMENT && ((bytes[2] << 8 | bytes[3]) & 0xfff8) != 0)
			return; /* not the first one */
		next = bytes[0];
		bytes += length;
		n -= length;
	}
}

static bool read_ipv6(const uint8_t *bytes, size_t n, struct nftables_connection *ret)
{
	if (n < IPV6_BYTES)
		return false;
	ret->from.n = ret->to.n = 16;
	memcpy(ret->from.bytes, bytes + 8, 16);
	memcpy(ret->to.bytes, bytes + 24, 16);
	read_next_headers(bytes + IPV6_BYTES, n - IPV6_BYTES, bytes[6], ret);
	return true;
}

bool nftables_denied_packet_read(const uint8_t *bytes, size_t n, struct nftables_connection *ret)
{
	struct nftables_connection connection = { .port = 0 };
	if (n == 0)
		return false;
	bool is_read = bytes[0] >> 4 == 4   ? read_ipv4(bytes, n, &connection)
		       : bytes[0] >> 4 == 6 ? read_ipv6(bytes, n, &connection)
					    : false;
	if (is_read)
		*ret = connection;
	return is_read;
}

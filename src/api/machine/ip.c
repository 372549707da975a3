/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads IP addresses, and recognizes those that no host on a network has. */
#include "api/machine/ip.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

static const struct machine_ip_block blocks[] = {
	{ AF_INET, "0.0.0.0", 8, false, "stands for no host (0.0.0.0/8)" },
	{ AF_INET, "127.0.0.0", 8, true, "is a loopback address" },
	{ AF_INET, "224.0.0.0", 4, false, "is a multicast address" },
	{ AF_INET, "255.255.255.255", 32, false, "is the broadcast address" },
	{ AF_INET6, "::", 128, false, "stands for no host" },
	{ AF_INET6, "::1", 128, true, "is the loopback address" },
	{ AF_INET6, "ff00::", 8, false, "is a multicast address" },
};

int machine_ip_parse(const char *text, char ret[MACHINE_IP_TEXT_MAX])
{
	struct in_addr v4;
	struct in6_addr v6;
	if (inet_pton(AF_INET, text, &v4) == 1) {
		inet_ntop(AF_INET, &v4, ret, MACHINE_IP_TEXT_MAX);
		return AF_INET;
	}
	if (inet_pton(AF_INET6, text, &v6) != 1 || IN6_IS_ADDR_V4MAPPED(&v6))
		return 0;
	inet_ntop(AF_INET6, &v6, ret, MACHINE_IP_TEXT_MAX);
	return AF_INET6;
}

const char *machine_ip_refusal(const char *text, const char *otherwise, struct arena *arena)
{
	char copy[2 * MACHINE_IP_TEXT_MAX], ip[MACHINE_IP_TEXT_MAX];
	size_t n = strcspn(text, "/");
	struct in6_addr v6;
	if (n >= sizeof(copy))
		return otherwise;
	memcpy(copy, text, n);
	copy[n] = '\0';
	char *zone = strchr(copy, '%');
	if (zone != NULL)
		*zone = '\0';
	if (zone != NULL && machine_ip_parse(copy, ip) != 0)
		return arena_printf(arena, "has a zone (%%%s): zones are not allowed", zone + 1);
	if (inet_pton(AF_INET6, copy, &v6) != 1 || !IN6_IS_ADDR_V4MAPPED(&v6))
		return otherwise;
	inet_ntop(AF_INET, &v6.s6_addr[12], ip, sizeof(ip));
	return arena_printf(
		arena, "is an IPv4 address in the form of IPv6, which is not accepted: write %s",
		ip);
}

bool machine_ip_share_bits(int family, const char *left, const char *right, int bits)
{
	uint8_t one[16] = { 0 }, other[16] = { 0 };
	if (inet_pton(family, left, one) != 1 || inet_pton(family, right, other) != 1)
		return false;
	size_t whole = (size_t)bits / 8;
	unsigned rest = (unsigned)bits % 8;
	return memcmp(one, other, whole) == 0 &&
	       (rest == 0 || ((unsigned)(one[whole] ^ other[whole]) >> (8 - rest)) == 0);
}

const struct machine_ip_block *machine_ip_find_block(int family, const char *ip)
{
	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		if (blocks[i].family == family &&
		    machine_ip_share_bits(family, ip, blocks[i].network, blocks[i].prefix))
			return &blocks[i];
	}
	return NULL;
}

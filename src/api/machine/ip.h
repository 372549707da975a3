/* SPDX-License-Identifier: GPL-3.0-or-later */
/* IP addresses of a machine's objects, as texts: their canonical form, and those that no host on a
 * network has. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/compiler.h"

enum { MACHINE_IP_TEXT_MAX = 46 };

/* Addresses that no host on a network has, by their first bits. */
struct machine_ip_block {
	int family;
	const char *network;
	int prefix;
	bool is_loopback; /* the guest itself has them */
	const char *what; /* "is a multicast address" */
};

/* An IP address in canonical form; its family, or 0 for any other text. IPv4 addresses inside of
 * IPv6 ones (::ffff:10.0.0.1) are refused, since guests differ in what they make of them. */
int machine_ip_parse(const char *text, char ret[MACHINE_IP_TEXT_MAX]);
/* What is wrong with a text that is not such an address, to stand after it: how it must be written, or
 * else `otherwise`. What follows a '/' is left aside. */
const char *machine_ip_refusal(const char *text, const char *otherwise, struct arena *arena);
/* Both are of the family. */
bool machine_ip_share_bits(int family, const char *left, const char *right, int bits);
/* NULL for an address that a host can have. */
const struct machine_ip_block *machine_ip_find_block(int family, const char *ip);

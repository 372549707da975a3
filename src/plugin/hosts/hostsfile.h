/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hosts file as a table: names to addresses, addresses to names. Lines are `ADDRESS NAME...`,
 * with comments from `#` on; what cannot be used is passed over, as every reader of such files
 * does. Built once, then read by many threads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "dns/request.h"

enum {
	HOSTSFILE_BYTES_MAX = 256 << 20, /* of the text */
	HOSTSFILE_FIELD_MAX = 1024,	 /* of an address or a name; longer ones are dropped */
};

struct hostsfile;

struct hostsfile_opts {
	bool reverse; /* addresses to names, too */
	/* Returns whether a name (in lower case) is kept; NULL: all are. */
	bool (*keep)(void *ctx, const uint8_t *name);
	/* Told of each field that is too long: an address drops its line. May be NULL. */
	void (*too_long)(void *ctx, unsigned line, bool is_address);
	void *ctx;
};

/* `text` is not needed afterwards. ERR_LIMIT beyond HOSTSFILE_BYTES_MAX. */
MUST_CHECK int hostsfile_parse(struct slice text, const struct hostsfile_opts *opts,
			       struct hostsfile **ret);
/* NULL is fine. */
void hostsfile_free(struct hostsfile *hostsfile);
static inline void hostsfile_freep(struct hostsfile **hostsfile)
{
	hostsfile_free(*hostsfile);
}

/* Addresses of all names and names of all addresses, repeats included. */
size_t hostsfile_entries(const struct hostsfile *hostsfile);

enum hostsfile_family { HOSTSFILE_V4, HOSTSFILE_V6 };

/* One address; those of a name follow each other in the order of the file. */
struct hostsfile_addr {
	uint32_t next;	/* index + 1 */
	uint8_t ip[16]; /* IPv4 in the last four bytes, mapped */
};

/* The first address of the name, or of the wildcard one label above it; NULL: none. */
const struct hostsfile_addr *hostsfile_find(const struct hostsfile *hostsfile,
					    const struct dns_qname *qname,
					    enum hostsfile_family family);
const struct hostsfile_addr *hostsfile_next(const struct hostsfile *hostsfile,
					    const struct hostsfile_addr *addr);

/* One name of an address. */
struct hostsfile_name {
	uint32_t next; /* index + 1 */
	const uint8_t *wire;
};
/* The first name of an address (16 bytes, IPv4 mapped); NULL: none. */
const struct hostsfile_name *hostsfile_reverse(const struct hostsfile *hostsfile,
					       const uint8_t ip[16]);
const struct hostsfile_name *hostsfile_next_name(const struct hostsfile *hostsfile,
						 const struct hostsfile_name *name);

/* The address that a name of in-addr.arpa or ip6.arpa stands for; false when it is none. As in
 * CoreDNS up to three labels in front of a whole ip6.arpa name are overlooked. */
bool hostsfile_reverse_ip(const struct dns_qname *qname, uint8_t ret_ip[16]);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a resolv.conf for its addresses. */
#include "cmd/name_servers.h"

#include <string.h>

#include "base/arena.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "dns/resolvconf.h"

enum { PIPE_WAIT_MS = 1000 };

static struct net_cidr range_of(const union net_addr *addr)
{
	size_t n;
	const uint8_t *bytes = net_addr_bytes(addr, &n);
	struct net_cidr range = { .family = addr->family, .bits = (uint8_t)(8 * n) };
	memcpy(range.ip, bytes, n);
	return range;
}

size_t name_servers_read(const char *path, struct net_cidr *out, size_t most)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct dns_resolvconf conf;
	struct arena arena;
	size_t n = 0;
	arena_init(&arena);
	if (readfile_path(path, DNS_RESOLVCONF_BYTES_MAX, PIPE_WAIT_MS, &text) == 0 &&
	    dns_resolvconf_parse(strbuf_slice(&text), &arena, &conf) == 0) {
		for (size_t i = 0; i < conf.n_nameserver && n < most; i++) {
			union net_addr addr;
			if (net_addr_parse_ip(slice_of(conf.nameserver[i]), &addr) == 0)
				out[n++] = range_of(&addr);
		}
	}
	arena_done(&arena);
	return n;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a resolv.conf for its addresses. */
#include "cmd/name_servers.h"

#include <string.h>

#include "base/arena.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "dns/resolvconf.h"
#include "resolve/lookup.h"

enum { PIPE_WAIT_MS = 1000, DNS_PORT = 53, SERVERS_MAX = 64 };

static struct net_cidr range_of(const union net_addr *addr)
{
	size_t n;
	const uint8_t *bytes = net_addr_bytes(addr, &n);
	struct net_cidr range = { .family = addr->family, .bits = (uint8_t)(8 * n) };
	memcpy(range.ip, bytes, n);
	return range;
}

static size_t read_addresses(const char *path, union net_addr *out, size_t most)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct dns_resolvconf conf;
	struct arena arena;
	size_t n = 0;
	arena_init(&arena);
	if (readfile_path(path, DNS_RESOLVCONF_BYTES_MAX, PIPE_WAIT_MS, &text) == 0 &&
	    dns_resolvconf_parse(strbuf_slice(&text), &arena, &conf) == 0) {
		for (size_t i = 0; i < conf.n_nameserver && n < most; i++) {
			if (net_addr_parse_ip(slice_of(conf.nameserver[i]), &out[n]) == 0)
				n++;
		}
	}
	arena_done(&arena);
	return n;
}

size_t name_servers_read(const char *path, struct net_cidr *out, size_t most)
{
	union net_addr found[SERVERS_MAX];
	size_t n = read_addresses(path, found, MIN(most, (size_t)SERVERS_MAX));
	for (size_t i = 0; i < n; i++)
		out[i] = range_of(&found[i]);
	return n;
}

struct lookup_client *name_servers_lookups(struct loop *loop)
{
	union net_addr servers[LOOKUP_SERVERS_MAX];
	size_t n = read_addresses(NAME_SERVERS_FILE, servers, LOOKUP_SERVERS_MAX);
	for (size_t i = 0; i < n; i++)
		net_addr_set_port(&servers[i], DNS_PORT);
	return n != 0 ? lookup_client_new(&(struct lookup_conf){
				.loop = loop, .servers = servers, .n_servers = n })
		      : NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses the DNS servers that controllers ask. */
#include "controller/lookup_servers_priv.h"

#include "base/arena.h"
#include "base/compiler.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "controller/controller.h"
#include "dns/resolvconf.h"

enum { DNS_PORT = 53, PIPE_WAIT_MS = 1000 };

static size_t read_resolvconf(union net_addr ret[LOOKUP_SERVERS_MAX])
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct dns_resolvconf conf;
	struct arena arena;
	size_t n = 0;
	arena_init(&arena);
	if (readfile_path("/etc/resolv.conf", DNS_RESOLVCONF_BYTES_MAX, PIPE_WAIT_MS, &text) == 0 &&
	    dns_resolvconf_parse(strbuf_slice(&text), &arena, &conf) == 0) {
		for (size_t i = 0; i < conf.n_nameserver && n < LOOKUP_SERVERS_MAX; i++) {
			if (net_addr_parse_ip(slice_of(conf.nameserver[i]), &ret[n]) < 0)
				continue;
			net_addr_set_port(&ret[n++], DNS_PORT);
		}
	}
	arena_done(&arena);
	return n;
}

static size_t use_machine(const struct controller_machine *machine,
			  union net_addr ret[LOOKUP_SERVERS_MAX])
{
	if (net_addr_parse_ip(slice_of(machine->bind), &ret[0]) < 0)
		return 0;
	net_addr_set_port(&ret[0], machine->port);
	net_addr_avoid_wildcard(&ret[0]);
	return 1;
}

size_t lookup_servers_choose(const struct controller_options *options,
			     union net_addr ret[LOOKUP_SERVERS_MAX])
{
	size_t given = options != NULL ? options->n_lookup_servers : 0;
	if (given == 0 && options != NULL && options->machine != NULL &&
	    !options->machine->own_corefile)
		return use_machine(options->machine, ret);
	if (given == 0)
		return read_resolvconf(ret);
	for (size_t i = 0; i < MIN(given, (size_t)LOOKUP_SERVERS_MAX); i++)
		ret[i] = options->lookup_servers[i];
	return MIN(given, (size_t)LOOKUP_SERVERS_MAX);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's command line. Name servers stay reachable: without them no name of a rule could be asked for. */
#include "cmd/up/up_egress.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/readfile.h"
#include "base/strbuf.h"
#include "dns/resolvconf.h"

enum { PIPE_WAIT_MS = 1000 };

static void add_open(struct strbuf *out, const union net_addr *addr)
{
	char text[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(addr, text);
	strbuf_addf(out, "%s%s/%d", out->n != 0 ? "," : "", text,
		    addr->family == AF_INET ? 32 : 128);
}

static void list_always_open(const union net_addr *dns, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct dns_resolvconf conf;
	struct arena arena;
	arena_init(&arena);
	add_open(out, dns);
	if (readfile_path("/etc/resolv.conf", DNS_RESOLVCONF_BYTES_MAX, PIPE_WAIT_MS, &text) == 0 &&
	    dns_resolvconf_parse(strbuf_slice(&text), &arena, &conf) == 0) {
		for (size_t i = 0; i < conf.n_nameserver; i++) {
			union net_addr addr;
			if (net_addr_parse_ip(slice_of(conf.nameserver[i]), &addr) == 0)
				add_open(out, &addr);
		}
	}
	arena_done(&arena);
}

int up_egress_add_child(const struct up_egress_conf *conf, struct up_children *children,
			struct err_text why)
{
	CLEANUP(strbuf_done) struct strbuf open = STRBUF_INIT, socket = STRBUF_INIT;
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (n < 0) {
		err_text_set(why, "cannot find the program itself: %s", err_str(-errno));
		return -1;
	}
	program[n] = '\0';
	list_always_open(conf->dns, &open);
	strbuf_addf(&socket, "%s/egress.sock", conf->data);
	const char *const words[] = { program,		"node",
				      "--machine",	"--name",
				      "machine",	"--kubeconfig",
				      conf->kubeconfig, "--namespace",
				      conf->ns,		"--report-namespace",
				      conf->ns,		"--socket",
				      socket.s,		"--always-open",
				      open.s,		NULL };
	return up_children_add(children, UP_EGRESS_CHILD, words, why);
}

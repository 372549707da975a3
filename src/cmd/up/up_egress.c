/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's command line. The DNS server stays reachable: without it no name of a rule could be asked for. */
#include "cmd/up/up_egress.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "addrset/nftables/link.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "node/machine.h"

#define AGENT_WAIT_NS (3 * NS_PER_S)
#define AGENT_STEP_NS (20 * NS_PER_MS)

static void add_open(struct strbuf *out, const union net_addr *addr)
{
	char text[NET_ADDR_TEXT_MAX];
	net_addr_ip_str(addr, text);
	strbuf_addf(out, "%s/%d", text, addr->family == AF_INET ? 32 : 128);
}

char *up_egress_socket(const char *data)
{
	return xasprintf("%s/egress.sock", data);
}

int up_egress_check(struct err_text why)
{
	struct nftables_link *link = NULL;
	int r = nftables_link_open(&link, why);
	if (r == 0)
		nftables_link_close(link);
	return r;
}

void up_egress_warn(bool has_controller, bool has_own_corefile)
{
	if (!has_controller)
		log_warn("up", "--egress enforce without the controller egressfirewall: nobody "
			       "looks up the names of rules, so that these open no address");
	else if (has_own_corefile)
		log_warn("up", "--egress enforce with --conf: the DNS server does not report which "
			       "addresses it answers; names below wildcards of rules open none, "
			       "exact names only what the controller finds");
}

int up_egress_add_child(const struct up_egress_conf *conf, struct up_children *children,
			struct err_text why)
{
	CLEANUP(strbuf_done) struct strbuf open = STRBUF_INIT;
	CLEANUP(freep) char *socket = up_egress_socket(conf->data);
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	if (n < 0) {
		err_text_set(why, "cannot find the program itself: %s", err_str(-errno));
		return -1;
	}
	program[n] = '\0';
	add_open(&open, conf->dns);
	const char *const words[] = { program,
				      "node",
				      "--machine",
				      "--name",
				      NODE_MACHINE_NAME,
				      "--kubeconfig",
				      conf->kubeconfig,
				      "--namespace",
				      conf->ns,
				      "--report-namespace",
				      conf->ns,
				      "--socket",
				      socket,
				      "--always-open",
				      open.s,
				      NULL };
	return up_children_add(children, UP_EGRESS_CHILD, words, why);
}

static bool accepts(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	bool is_there =
		connect(fd, (const struct sockaddr *)(const void *)address, sizeof(*address)) == 0;
	close(fd);
	return is_there;
}

bool up_egress_wait(const char *data)
{
	CLEANUP(freep) char *path = up_egress_socket(data);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const struct timespec step = { .tv_nsec = AGENT_STEP_NS };
	uint64_t end_ns = clock_mono_ns() + AGENT_WAIT_NS;
	if (strlen(path) >= sizeof(address.sun_path))
		return false; /* the agent says so */
	memcpy(address.sun_path, path, strlen(path));
	while (!accepts(&address)) {
		if (clock_mono_ns() >= end_ns)
			return false;
		nanosleep(&step, NULL);
	}
	return true;
}

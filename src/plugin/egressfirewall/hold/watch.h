/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watches of Pods and EgressFirewalls, and on one machine of Namespaces and of the agent's report, which feed the clients. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"

struct egressfirewall_clients;
struct egressfirewall_watch;
struct kube_config;

struct egressfirewall_watch_conf {
	bool is_machine;
	const char *report_ns; /* on one machine; NULL: the namespace of the credentials */
};

/* Takes `config` over, also when it fails. */
MUST_CHECK int egressfirewall_watch_start(struct kube_config *config,
					  struct egressfirewall_clients *clients,
					  const struct egressfirewall_watch_conf *conf,
					  struct egressfirewall_watch **ret, struct err_text err);
/* Waits until all is known, for at most that long. -EINTR: the process is to end. */
MUST_CHECK int egressfirewall_watch_wait(struct egressfirewall_watch *watch, uint64_t timeout_ns);
bool egressfirewall_watch_is_filled(const struct egressfirewall_watch *watch);
/* NULL is fine. */
void egressfirewall_watch_stop(struct egressfirewall_watch *watch);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration of an `egressfirewall` instance, and what prepare made of it. */
#pragma once

#include <stdint.h>

#include "plugin/egressfirewall/store.h"
#include "server/setup.h"

#define EGRESSFIREWALL_AREA "plugin/egressfirewall"

struct egressfirewall_hold;
struct egressfirewall_keyfile;
struct plugin_inst;
struct resource;
struct zonenotify_rounds;
struct zonesender;

struct egressfirewall_conf {
	const char *kubeconfig, *context;
	const char *endpoint, *cert, *key, *ca;
	const char *ns; /* NULL: that of the credentials */
	uint64_t max_pairs, max_names, max_ips, max_per_client;
	struct egressfirewall_networks never, learn;
	struct word keys; /* path; s NULL: the zone is not offered */
	const char *keys_path;
	const union net_addr *notify; /* with ports */
	size_t n_notify;

	/* Holding answers; 0: off. How long at most. */
	int64_t hold_ns;
	struct srcpos hold_pos;
	bool is_machine;
	const char *node;
	const char *agent_socket, *agent_cert, *agent_key, *agent_ca, *agent_tls_name;
	uint64_t agent_port, max_held, max_held_per_client;

	/* prepare: */
	struct resource *hold_held;
	struct egressfirewall_hold *hold; /* NULL: answers are not held */
	struct resource *held;
	struct egressfirewall_store *store;
	const struct egressfirewall_rules_now *now; /* the store's rules */
	struct egressfirewall_keyfile *keyfile;	    /* NULL: the zone is not offered */
	/* commit: */
	struct zonesender *sender;
	struct egressfirewall_listener listener;
	struct zonenotify_rounds *rounds; /* the listener's; NULL: nobody is notified */
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The node and its cluster, from the flags of `fairlead resolvconf`. */
#pragma once

#include "base/arena.h"
#include "dns/podresolv/podresolv.h"

struct node_settings {
	/* Flags; NULL: not given. */
	const char *host_file, *cluster_dns, *cluster_domain, *node_ips;
	bool use_domain;
	/* After node_settings_init: */
	struct arena arena;
	struct podresolv_config host;
	struct slice *cluster_servers, *addresses;
	size_t n_cluster_servers, n_addresses;
	/* After the first pod that needs the host file: */
	bool was_read, has_host;
	char problem[512]; /* why there is no host file */
};

extern const char node_settings_host_file[]; /* defaults of flags */
extern const char node_settings_cluster_domain[];

/* False if the cluster's domain was given, and is none. */
bool node_settings_has_domain(const struct node_settings *node);
/* Sets defaults and splits lists; the host file is not read yet. After node_settings_done it may be
 * called again, for the file as it is then. */
void node_settings_init(struct node_settings *node);
void node_settings_done(struct node_settings *node);
/* Sets the node's and the cluster's part of the input, whose policy is set; texts are borrowed from
 * `node`. The first pod that needs the host file has it read: that it cannot be read is the matter of
 * such pods only. Then kubelet's Event about its limits is printed, too. */
void node_settings_fill(struct node_settings *node, struct podresolv_input *ret);

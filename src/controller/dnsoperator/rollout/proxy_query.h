/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries pods for the Corefile that they run through the API server (pods/proxy): for an operator that
 * cannot reach the pods' addresses, beside a hosted control plane. `fairlead dns` serves the hash of its
 * configuration at /config of the port of `ready`; CoreDNS has no such page. That hash differs from the
 * marker's, so the operator remembers both hashes of each Corefile. */
#pragma once

#include <stddef.h>

#include "base/slice.h"
#include "controller/dnsoperator/rollout/marker_query.h"

struct kube_conn;
struct kube_status;

enum {
	DNSOPERATOR_PROXY_PORT = 8181,	   /* of `ready` in rendered Corefiles */
	DNSOPERATOR_PROXY_HASH_MAX = 129,  /* with its NUL */
	DNSOPERATOR_PROXY_BODY_MAX = 1024, /* of an answer; longer ones are none of ours */
};

/* The newest Corefiles that servers may run: their hash at /config, and that of their marker. */
enum { DNSOPERATOR_COREFILES_MAX = 8 };
struct dnsoperator_known_corefiles {
	struct dnsoperator_corefile_hashes {
		char running[DNSOPERATOR_PROXY_HASH_MAX]; /* "": unused */
		char hash[DNSOPERATOR_MARKER_HASH_MAX];	  /* "": without the marker */
	} v[DNSOPERATOR_COREFILES_MAX];
	size_t next;
};

void dnsoperator_corefiles_add(struct dnsoperator_known_corefiles *texts, struct slice text,
			       const char *hash);

/* Replaces the hash at /config by that of the marker; that of an unknown Corefile stays as it is, and
 * so differs from all others. */
void dnsoperator_corefiles_translate(const struct dnsoperator_known_corefiles *texts,
				     const char *running, struct dnsoperator_marker_answer *ack);

struct dnsoperator_proxy_answer {
	struct dnsoperator_marker_answer ack;
	char running[DNSOPERATOR_PROXY_HASH_MAX];
};

/* Queries pods of a namespace, eight at a time, each for two seconds at most. When `conn` is cancelled
 * the rest counts as unreachable. */
void dnsoperator_proxy_query(struct kube_conn *conn, const char *ns, const char *const *names,
			     size_t len, struct dnsoperator_proxy_answer *ret);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration of one `kubernetes` instance: the options of its stanzas, and what prepare made
 * of them. Every file of the plugin reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/map.h"
#include "plugin/kubernetes/objects/index.h"
#include "plugin/kubernetes/qparse.h"
#include "plugin/shared/byteset.h"
#include "server/query.h"
#include "server/setup.h"

#define KUBERNETES_AREA "plugin/kubernetes"

enum kubernetes_pods {
	KUBERNETES_PODS_DISABLED,
	KUBERNETES_PODS_INSECURE,
	KUBERNETES_PODS_VERIFIED
};

struct kubernetes_source;
struct resource;

struct kubernetes_conf {
	struct zone_list zones;
	size_t primary;	      /* the first zone that is not a reverse one: where PTR records lead */
	uint8_t *zone_labels; /* of each */
	bool *is_reverse;     /* each: below in-addr.arpa or ip6.arpa, or these themselves */
	bool *is_multicluster; /* each */
	struct zone_list multicluster;

	/* Where the API is. */
	const char *endpoint;
	const char *cert, *key, *ca;
	const char *kubeconfig, *context;

	struct opt_list namespaces;
	const char *namespace_labels, *labels; /* selectors as written; NULL: none */
	int pods;			       /* enum kubernetes_pods */
	bool endpoint_pod_names, noendpoints, ignore_empty, zonal;
	struct fallthrough fall;
	uint64_t ttl_s;
	int64_t startup_ns;
	const char *snapshot; /* path; NULL: none */
	int64_t snapshot_ns;  /* between two */

	/* prepare: */
	struct map listed; /* names of `namespaces` */
	struct resource *held;
	struct kubernetes_source *source;
	struct kubernetes_index *index;	  /* the source's */
	struct kubernetes_index *imports; /* of other clusters: the source's; NULL without these */
	struct kube_ip *local;		  /* listened on, less loopback */
	size_t n_local;
	uint8_t **host_search; /* of the host's resolv.conf, lower-case wire names */
	size_t n_host_search;
};

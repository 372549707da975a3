/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds that the operator watches, and which of their objects start a pass. */
#pragma once

#include "controller/controller.h"

#define DNSOPERATOR_DNS_NAME "default" /* of the one DNS object that is acted on */
#define DNSOPERATOR_SERVERS_KEY \
	"/servers" /* the key that polls the DNS servers; no object has it */
#define DNSOPERATOR_CRD_NAME	 "dnses.operator.openshift.io"
#define DNSOPERATOR_OPENSHIFT_NS "openshift-dns"

enum {
	DNSOPERATOR_WATCH_DNS,
	DNSOPERATOR_WATCH_NETWORK,
	DNSOPERATOR_WATCH_FEATURE_GATE,
	DNSOPERATOR_WATCH_SERVICE_CIDRS,
	DNSOPERATOR_WATCH_NODES,
	DNSOPERATOR_WATCH_API_SERVICE, /* Service default/kubernetes */
	DNSOPERATOR_WATCH_CRD,
	DNSOPERATOR_WATCH_PODS_OPENSHIFT,
	DNSOPERATOR_WATCH_PODS_KUBERNETES,
	DNSOPERATOR_WATCH_CONFIGMAPS_OPENSHIFT,
	DNSOPERATOR_WATCH_COREFILE_KUBERNETES, /* ConfigMap kube-system/coredns */
	DNSOPERATOR_WATCH_ACCEPTED_KUBERNETES, /* ConfigMap kube-system/coredns-accepted */
	DNSOPERATOR_WATCH_CLUSTEROPERATOR,
	DNSOPERATOR_WATCH_OPERAND_DAEMONSETS,
	DNSOPERATOR_WATCH_OPERAND_SERVICES,
	DNSOPERATOR_WATCH_OPERAND_POLICIES,
	DNSOPERATOR_WATCH_CA_SOURCES,
};
enum { DNSOPERATOR_WATCH_COUNT = DNSOPERATOR_WATCH_CA_SOURCES + 1 };

extern const struct controller_watch dnsoperator_watches[DNSOPERATOR_WATCH_COUNT];

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The watched kinds, and the keys of the work queue:
 *
 *	policies	the ConfigMap
 *	ns/NAME		a Namespace
 *	pod/NS/NAME	a pod that has not started yet
 *	listed/NS/NAME	a pod with the id of a search list */
#pragma once

#include "controller/controller.h"

#define PODDNS_KEY_POLICIES  "policies"
#define PODDNS_KEY_NAMESPACE "ns/"
#define PODDNS_KEY_POD	     "pod/"
#define PODDNS_KEY_LISTED    "listed/"

enum poddns_watch {
	PODDNS_WATCH_NAMESPACES,
	PODDNS_WATCH_POLICIES,
	PODDNS_WATCH_SERVICE_KUBERNETES,
	PODDNS_WATCH_SERVICE_OPENSHIFT,
	PODDNS_WATCH_DNS,
	PODDNS_WATCH_COREFILE_KUBERNETES,
	PODDNS_WATCH_COREFILE_OPENSHIFT,
	PODDNS_WATCH_PENDING, /* pods that have not started */
	PODDNS_WATCH_LISTED,  /* pods with the id of a search list */
	PODDNS_WATCH_COUNT,
};

/* Index of PODDNS_WATCH_LISTED: by namespace. */
enum { PODDNS_LISTED_BY_NAMESPACE };

extern const struct controller_watch poddns_watches[PODDNS_WATCH_COUNT];

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Labels and annotations besides those of policies (policy.h). docs/reference/names.md lists all. */
#pragma once

#define PODDNS_LOG_AREA "poddns"

/* Label of Namespaces and pods: with the value `off` their pods are not changed. */
#define PODDNS_OPT_OUT_LABEL "dns.fairlead.dev/pod-dns"
#define PODDNS_OPT_OUT	     "off"
/* Annotation of pods that were changed: the fields of the policy that were applied. */
#define PODDNS_APPLIED_KEY "dns.fairlead.dev/pod-dns-applied"
/* Label of pods whose virtual suffix has the id of a search list: that id. */
#define PODDNS_LIST_LABEL "dns.fairlead.dev/search-list"
/* Annotation of such pods: the names of that list, as dns/search_list.h writes them. */
#define PODDNS_LIST_TEXT_KEY "dns.fairlead.dev/search-list-names"
/* Annotation of Namespaces: the user's own search list, and those that policies make. The plugin
 * searchpath reads both. */
#define PODDNS_SEARCH_KEY	"dns.fairlead.dev/search"
#define PODDNS_SEARCH_LISTS_KEY "dns.fairlead.dev/search-lists"

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy of a namespace for the DNS settings of its pods: what its annotations say, and for
 * fields that they leave open, the first entry of the ConfigMap that matches. Pure.
 *
 * Glossary
 *   field     one setting of a policy: ndots, searches to add or remove, profile, virtual suffix
 *   entry     an item of the ConfigMap's list: namespaces by name or label, and fields
 *   problem   a field or entry that is invalid, and so has no effect */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/tree.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "dns/podresolv/podresolv.h"

#define PODDNS_NDOTS_KEY	  "dns.fairlead.dev/ndots"
#define PODDNS_ADD_KEY		  "dns.fairlead.dev/add-searches"
#define PODDNS_REMOVE_KEY	  "dns.fairlead.dev/remove-searches"
#define PODDNS_PROFILE_KEY	  "dns.fairlead.dev/profile"
#define PODDNS_VIRTUAL_SUFFIX_KEY "dns.fairlead.dev/virtual-suffix"

#define PODDNS_CONFIGMAP_NAME	  "fairlead-poddns"
#define PODDNS_CONFIGMAP_KEY	  "policies.yaml"

enum {
	PODDNS_ENTRIES_MAX = 1000, /* of the ConfigMap */
	PODDNS_PROBLEMS_MAX = 20,  /* that are reported; the rest are counted */
	PODDNS_NDOTS_MAX = 15,	   /* glibc's */
};

enum poddns_field {
	PODDNS_NDOTS = 1,
	PODDNS_ADD = 2,
	PODDNS_REMOVE = 4,
	PODDNS_PROFILE = 8,
	PODDNS_VIRTUAL_SUFFIX = 16,
};

struct poddns_policy {
	unsigned set; /* the fields that it has */
	unsigned ndots;
	const char *const *add, *const *remove; /* lower case, no final dot; without "node" */
	size_t n_add, n_remove;
	bool remove_node; /* the node's own search domains */
	bool virtual_suffix;
	enum podresolv_profile profile; /* PODRESOLV_KUBELET where it is not set */
};

/* Sentences, "FIELD: what is invalid"; texts lie in the arena that was given. */
struct poddns_problems {
	const char *v[PODDNS_PROBLEMS_MAX];
	size_t n; /* may be more than there are texts */
};

/* The ConfigMap's list. */
struct poddns_entries;
/* Reads the text of the ConfigMap's key; entries with a problem are left out. Never NULL; the first
 * reference. */
struct poddns_entries *poddns_entries_parse(struct slice text);
/* Any thread; NULL is none. */
struct poddns_entries *poddns_entries_ref(struct poddns_entries *entries);
void poddns_entries_unref(struct poddns_entries *entries);
const struct poddns_problems *poddns_entries_problems(const struct poddns_entries *entries);

/* The policy of a Namespace (its tree); `entries` may be NULL. Texts lie in the growing arena, in
 * the entries or in the tree. An invalid annotation leaves its field unset, whatever the entries
 * say, and is a problem. */
void poddns_policy_of(const json_t *ns, const struct poddns_entries *entries, struct arena *arena,
		      struct poddns_policy *ret, struct poddns_problems *ret_problems);

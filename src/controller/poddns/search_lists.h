/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search list behind a virtual suffix, and the lists that a Namespace publishes to DNS servers in
 * its annotation dns.fairlead.dev/search-lists: lists as in dns/search_list.h, separated by
 * semicolons, the one for new pods first, then those of pods that were created with another one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/arena.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "dns/search_list.h"

struct poddns_policy;

enum {
	PODDNS_SEARCH_LISTS_MAX = 8, /* of a Namespace; the plugin kubernetes has the same limit */
	PODDNS_UNUSED_LIST_S = 300,  /* for which a list stays that nobody uses */
	PODDNS_SPEC_LIST_S = 3600,   /* for which one stays that was found in a pod's spec */
};

/* The searches that a policy gives pods of the namespace: the cluster's three, less those that are
 * removed, then those that are added. Names lie in the arena; at most DNS_SEARCH_LIST_NAMES. Returns
 * their number. */
size_t poddns_searches(const char *ns, const char *domain, const struct poddns_policy *policy,
		       struct arena *arena, const char *ret[DNS_SEARCH_LIST_NAMES]);

/* Whether pods of this policy need a list of their own; if so, *ret is it, without any name if nothing
 * is left of it or it is too long. Otherwise the suffix is that of the namespace, whose list also has
 * the search domains of the DNS server's node. */
bool poddns_own_list(const char *ns, const char *domain, const struct poddns_policy *policy,
		     struct arena *arena, struct dns_search_list *ret);

/* Whether the Namespace publishes the list. */
bool poddns_list_is_published(const json_t *ns, const char *id);

/* The lists of a namespace: those that its Namespace publishes, and those that its pods carry the text
 * of (PODDNS_LIST_TEXT_KEY). The latter are what makes a list that was lost come back: by its id alone
 * nobody knows what it has. */
struct poddns_lists {
	struct dns_search_list published[PODDNS_SEARCH_LISTS_MAX];
	bool is_used[PODDNS_SEARCH_LISTS_MAX]; /* a pod has the id */
	size_t n_published;
	struct dns_search_list carried[PODDNS_SEARCH_LISTS_MAX]; /* and not published */
	size_t n_carried;
	struct arena *arena;
};

/* Those that the Namespace publishes; the arena is kept and grows. */
void poddns_lists_read(const json_t *ns, struct arena *arena, struct poddns_lists *ret);
/* A pod has the id, and carries the text (may be NULL). Text that has another id is ignored. */
void poddns_lists_use(struct poddns_lists *lists, const char *id, const char *text);

/* Ids of lists, each with a time of the monotonic clock. Zeroes: none. */
struct poddns_list_times {
	struct {
		char id[DNS_SEARCH_LIST_ID + 1];
		uint64_t since_ns;
	} v[PODDNS_SEARCH_LISTS_MAX];
	size_t n;
};

/* What is remembered of a namespace's lists between two passes. */
struct poddns_list_memory {
	/* Lists that no new pod gets and no pod has: they stay published for a while, since a hook
	 * with an older copy of the Namespace may hand them out. */
	struct poddns_list_times unused;
	/* Lists that only the spec of a pod names: it has lost its label (spec_lists.h). */
	struct poddns_list_times in_specs;
};

/* What the Namespace should publish at a time of the monotonic clock: `current` (may be NULL) first,
 * those that pods use, those of in_specs whose time has not come, and if there is room unused ones of
 * the last minutes, PODDNS_SEARCH_LISTS_MAX at most. *memory is brought up to date; *ret_again_ns is
 * when the next of its times ends, 0 if there is none. False: pods use so many that `current` is left
 * out. */
bool poddns_lists_choose(const struct poddns_lists *lists, const struct dns_search_list *current,
			 uint64_t now_ns, struct poddns_list_memory *memory, uint64_t *ret_again_ns,
			 struct strbuf *out);
/* Whether a published list is missing in a text of poddns_lists_choose. */
bool poddns_lists_drops(const struct poddns_lists *lists, const char *text);
/* Remembers the lists that are used in `found` and not in `before`, two readings of one Namespace, the
 * latter with pods' specs. */
void poddns_lists_remember(const struct poddns_lists *before, const struct poddns_lists *found,
			   uint64_t now_ns, struct poddns_list_memory *memory);
/* Whether a text of poddns_lists_choose has the list. */
bool poddns_lists_text_has(const char *text, const char *id);

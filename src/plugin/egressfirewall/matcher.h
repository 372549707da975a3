/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which DNSName objects cover a name. A matcher never changes after it was built: workers read it
 * under RCU. Its cost does not depend on the number of objects.
 *
 * Glossary
 *   rule      a DNSName object as the plugin needs it: its name and how it is used
 *   regular   the rule covers the name of the object itself
 *   wildcard  the rule covers names with one more label than PARENT, or any number of them, where
 *             the object is called wildcard.PARENT */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/rcu/rcu.h"
#include "base/slice.h"
#include "dns/learnt/learnt_record.h"
#include "dns/request.h"

struct egressfirewall_matcher_sets;

struct egressfirewall_rule {
	bool regular, wildcard;
	bool any_depth; /* the wildcard covers any number of labels */
	char object[DNS_LEARNT_TEXT_MAX + 1];
};

/* Fills `ret` from an object's name. ERR_PARSE: no rule that matches any name can come of it (not
 * a domain name in lower case; a wildcard that is not called wildcard.PARENT). */
MUST_CHECK int egressfirewall_rule_set(struct egressfirewall_rule *ret, struct slice object,
				       bool regular, bool wildcard, bool any_depth);

/* A matcher of copies of the rules. */
struct egressfirewall_matcher *egressfirewall_matcher_new(
	const struct egressfirewall_rule *const *rules, size_t count);
/* NULL is fine. */
void egressfirewall_matcher_free(struct egressfirewall_matcher *matcher);
/* Frees it when all readers of this moment have left. NULL is fine. */
void egressfirewall_matcher_retire(struct egressfirewall_matcher *matcher);

/* What workers read. It has a bit for the hash of each name, so that nearly all names that no rule covers are
 * told apart by two look-ups. */
struct egressfirewall_matcher {
	uint64_t mask; /* of a hash: which word */
	/* No two matchers of one process have the same numbers, but those without rules: theirs are
	 * 0. `note` is what replies of a cache are noted with; it changes when they have to be inspected
	 * anew. */
	uint32_t number;
	_Atomic uint32_t note;
	/* How many labels parents of wildcards over any number of labels have: bit 1 for one label
	 * and so on, the highest for as many and more. 0: there are no such wildcards. */
	uint64_t deep;
	struct egressfirewall_matcher_sets *sets; /* the names themselves */
	struct rcu_item item;
	uint64_t words[]; /* of names and of parents, in turn */
};

/* Who sees a new one also sees what was done before it was given. */
static ALWAYS_INLINE uint32_t
egressfirewall_matcher_note(const struct egressfirewall_matcher *matcher)
{
	return atomic_load_explicit(&matcher->note, memory_order_acquire);
}
/* Gives it a new one. The control thread only. */
void egressfirewall_matcher_renew_note(struct egressfirewall_matcher *matcher);

enum egressfirewall_filter_part { EGRESSFIREWALL_OF_NAMES, EGRESSFIREWALL_OF_PARENTS };

/* The number of the hash's word, and of its bit there: the lowest six of the hash. */
static ALWAYS_INLINE size_t egressfirewall_filter_word(const struct egressfirewall_matcher *matcher,
						       enum egressfirewall_filter_part part,
						       uint32_t hash)
{
	return ((hash & matcher->mask) >> 5) + part;
}

static ALWAYS_INLINE bool egressfirewall_filter_has(const struct egressfirewall_matcher *matcher,
						    enum egressfirewall_filter_part part,
						    uint32_t hash)
{
	size_t word = egressfirewall_filter_word(matcher, part, hash);
	return (matcher->words[word] >> (hash & 63) & 1) != 0;
}

/* By which parents of wildcards over any number of labels are told apart from others. */
enum { EGRESSFIREWALL_DEEP_BITS = 0x2d2d2d2d };

/* False: no such wildcard covers the name. A look-up for each number of labels that a parent has. */
static ALWAYS_INLINE bool egressfirewall_may_match_deep(
	const struct egressfirewall_matcher *matcher, const struct dns_qname *qname)
{
	unsigned n_labels = qname->n_labels;
	if (UNLIKELY(n_labels >= 63))
		return matcher->deep != 0;
	for (uint64_t left = matcher->deep & ((UINT64_C(1) << n_labels) - 1); left != 0;
	     left &= left - 1) {
		unsigned parent = n_labels - (unsigned)__builtin_ctzll(left);
		if (egressfirewall_filter_has(matcher, EGRESSFIREWALL_OF_PARENTS,
					      qname->hash[parent] ^ EGRESSFIREWALL_DEEP_BITS))
			return true;
	}
	return false;
}

/* False: no other rule covers the name. Any thread, inside a read section. */
static ALWAYS_INLINE bool egressfirewall_may_match_shallow(
	const struct egressfirewall_matcher *matcher, const struct dns_qname *qname)
{
	return egressfirewall_filter_has(matcher, EGRESSFIREWALL_OF_NAMES, qname->hash[0]) ||
	       egressfirewall_filter_has(matcher, EGRESSFIREWALL_OF_PARENTS, qname->hash[1]);
}

/* Is there a rule that covers the name? Any thread, inside a read section. */
bool egressfirewall_matches(const struct egressfirewall_matcher *matcher,
			    const struct dns_qname *qname);
/* All of them, each once, up to `max`; their number. They live as long as the matcher. */
enum { EGRESSFIREWALL_MATCH_MAX = 16 };
size_t egressfirewall_match(const struct egressfirewall_matcher *matcher,
			    const struct dns_qname *qname, const struct egressfirewall_rule **out,
			    size_t max);

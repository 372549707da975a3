/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules that apply now: kept up to date by a watch of DNSName objects, published to workers as a
 * matcher. The watch's thread changes rules, a control thread publishes. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/compiler.h"
#include "base/rcu/rcu.h"
#include "base/slice.h"
#include "plugin/egressfirewall/matcher.h"

/* On a DNSName: `any` makes its wildcard cover names of any depth (EF-S3). */
#define EGRESSFIREWALL_DEPTH_KEY "egress.fairlead.dev/wildcard-depth"

struct egressfirewall_rules;

struct egressfirewall_rules *egressfirewall_rules_new(void);
/* When no worker reads any more. */
void egressfirewall_rules_free(struct egressfirewall_rules *rules);

/* ---- any thread ---- */

/* An object was added or changed; `tree` has its spec and annotations. False: it is no rule, and the
 * one that it was, if it was one, is gone. */
bool egressfirewall_rules_set(struct egressfirewall_rules *rules, struct slice object,
			      const json_t *tree);
void egressfirewall_rules_remove(struct egressfirewall_rules *rules, struct slice object);

/* ---- workers, inside a read section ---- */

/* The beginning of the rules, for workers. */
struct egressfirewall_rules_now {
	struct egressfirewall_matcher *_Atomic matcher; /* never NULL */
};

static ALWAYS_INLINE const struct egressfirewall_rules_now *egressfirewall_rules_now(
	const struct egressfirewall_rules *rules)
{
	return (const void *)rules;
}

static ALWAYS_INLINE const struct egressfirewall_matcher *egressfirewall_rules_get(
	const struct egressfirewall_rules *rules)
{
	return rcu_get(&egressfirewall_rules_now(rules)->matcher);
}

/* ---- one control thread ---- */

/* Publishes what has changed, unless the last time was too short ago for so many rules. Calls `gone`
 * for each object that is no rule any more. True: it did, or nothing had changed. */
bool egressfirewall_rules_publish(struct egressfirewall_rules *rules, uint64_t now_ns,
				  void (*gone)(void *ctx, struct slice object), void *ctx);
/* Replies that a cache has noted are inspected once more. */
void egressfirewall_rules_renew_note(struct egressfirewall_rules *rules);
size_t egressfirewall_rules_count(struct egressfirewall_rules *rules);

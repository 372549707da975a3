/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DNSName objects as rules, and the matcher that is made of them. A matcher is built anew for each
 * change; where that takes long, since there are many rules, changes wait and are published
 * together. */
#include "plugin/egressfirewall/rules.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "base/vec.h"

/* Building takes at most this share of the control thread's time. */
enum { SHARE_OF_TIME = 20 };

struct egressfirewall_rules {
	struct egressfirewall_rules_now now; /* first: workers look there */
	pthread_mutex_t lock;		     /* guards the members below */
	struct map by_object;		     /* struct egressfirewall_rule */
	struct map gone; /* objects that were rules when they were published last */
	bool changed;
	/* The control thread's own. */
	uint64_t not_before_ns;
};

struct egressfirewall_rules *egressfirewall_rules_new(void)
{
	struct egressfirewall_rules *r = xcalloc(1, sizeof(*r));
	pthread_mutex_init(&r->lock, NULL);
	map_init(&r->by_object);
	map_init(&r->gone);
	rcu_publish(&r->now.matcher, egressfirewall_matcher_new(NULL, 0));
	return r;
}

void egressfirewall_rules_free(struct egressfirewall_rules *rules)
{
	const struct map_entry *e;
	size_t pos = 0;
	if (rules == NULL)
		return;
	while ((e = map_next(&rules->by_object, &pos)) != NULL)
		free(e->value);
	map_done(&rules->by_object);
	map_done(&rules->gone);
	egressfirewall_matcher_free(rcu_get(&rules->now.matcher));
	pthread_mutex_destroy(&rules->lock);
	free(rules);
}

/* ---- changes ---- */

static bool is_same_use(const struct egressfirewall_rule *left,
			const struct egressfirewall_rule *right)
{
	return left->regular == right->regular && left->wildcard == right->wildcard &&
	       left->any_depth == right->any_depth;
}

static void remove_locked(struct egressfirewall_rules *rules, struct slice object)
{
	struct egressfirewall_rule *old = map_del(&rules->by_object, object);
	if (old == NULL)
		return;
	free(old);
	map_set(&rules->gone, object, rules);
	rules->changed = true;
}

static void set_locked(struct egressfirewall_rules *rules, const struct egressfirewall_rule *rule)
{
	struct slice object = slice_of(rule->object);
	struct egressfirewall_rule *old = map_get(&rules->by_object, object);
	map_del(&rules->gone, object);
	if (old != NULL && is_same_use(old, rule))
		return; /* its status changed: the common case */
	free(map_set(&rules->by_object, object, xmemdup(rule, sizeof(*rule))));
	rules->changed = true;
}

bool egressfirewall_rules_set(struct egressfirewall_rules *rules, struct slice object,
			      const json_t *tree)
{
	const json_t *spec = json_object_get(tree, "spec");
	const json_t *notes = json_object_get(json_object_get(tree, "metadata"), "annotations");
	struct egressfirewall_rule rule;
	int r = egressfirewall_rule_set(
		&rule, object, json_is_true(json_object_get(spec, "isregular")),
		json_is_true(json_object_get(spec, "iswildcard")),
		strcmp(api_text(json_object_get(notes, EGRESSFIREWALL_DEPTH_KEY)), "any") == 0);
	pthread_mutex_lock(&rules->lock);
	if (r == 0)
		set_locked(rules, &rule);
	else
		remove_locked(rules, object);
	pthread_mutex_unlock(&rules->lock);
	return r == 0;
}

void egressfirewall_rules_remove(struct egressfirewall_rules *rules, struct slice object)
{
	pthread_mutex_lock(&rules->lock);
	remove_locked(rules, object);
	pthread_mutex_unlock(&rules->lock);
}

/* ---- publishing ---- */

static struct egressfirewall_matcher *build_matcher(const struct egressfirewall_rules *rules)
{
	VEC(const struct egressfirewall_rule *) list = { 0 };
	const struct map_entry *e;
	size_t pos = 0;
	while ((e = map_next(&rules->by_object, &pos)) != NULL)
		vec_push(&list, e->value);
	struct egressfirewall_matcher *m = egressfirewall_matcher_new(list.v, list.n);
	vec_done(&list);
	return m;
}

static void report_gone(const struct map *gone, void (*fn)(void *ctx, struct slice object),
			void *ctx)
{
	const struct map_entry *e;
	size_t pos = 0;
	while ((e = map_next(gone, &pos)) != NULL)
		fn(ctx, (struct slice){ e->key, e->key_n });
}

bool egressfirewall_rules_publish(struct egressfirewall_rules *rules, uint64_t now_ns,
				  void (*gone)(void *ctx, struct slice object), void *ctx)
{
	struct egressfirewall_matcher *old = rcu_get(&rules->now.matcher);
	struct map left = { 0 };
	pthread_mutex_lock(&rules->lock);
	bool wanted = rules->changed, now = wanted && now_ns >= rules->not_before_ns;
	uint64_t begun_ns = clock_mono_ns();
	if (now) {
		rcu_publish(&rules->now.matcher, build_matcher(rules));
		left = rules->gone;
		map_init(&rules->gone);
		rules->changed = false;
	}
	pthread_mutex_unlock(&rules->lock);
	if (!now)
		return !wanted;
	rules->not_before_ns = now_ns + SHARE_OF_TIME * (clock_mono_ns() - begun_ns);
	egressfirewall_matcher_retire(old);
	report_gone(&left, gone, ctx);
	map_done(&left);
	return true;
}

void egressfirewall_rules_renew_note(struct egressfirewall_rules *rules)
{
	egressfirewall_matcher_renew_note(rcu_get(&rules->now.matcher));
}

size_t egressfirewall_rules_count(struct egressfirewall_rules *rules)
{
	pthread_mutex_lock(&rules->lock);
	size_t n = rules->by_object.n;
	pthread_mutex_unlock(&rules->lock);
	return n;
}

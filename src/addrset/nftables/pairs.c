/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The addresses of names in the kernel's sets. The time of a known pair is set only after the kernel has
 * acknowledged the element, whose own time-out is a little longer: a pair that is held here is in force
 * there. */
#include "addrset/nftables/pairs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "addrset/nftables/apply.h"
#include "addrset/nftables/element_check.h"
#include "addrset/nftables/elements.h"
#include "addrset/nftables/pairs_test.h"
#include "addrset/nftables/rule_expr.h"
#include "addrset/shared/known_pairs.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "net/loop.h"

enum {
	SWEEP_MS = 1000,
	TIGHT_SWEEP_MS = 10, /* while a limit is met: what has expired makes room soon */
	PROBE_MS = 60 * 1000,
	REMOVAL_SLICE = 1024, /* pairs: some 30 ms of the kernel's time */
};

struct nftables_pairs {
	struct addrset set;
	struct loop *loop;
	struct nftables_link *link;
	struct addrset_known_table table;
	bool adding_renews; /* adding an element again changes its time; kernels before 6.12 ignore it */
	VEC(struct addrset_known *) queue;
	VEC(struct addrset_known *) leaving;  /* are to be removed */
	struct addrset_request *first, **end; /* that wait for the queue */
	struct loop_timer commit_timer, sweep_timer;
	struct nftables_pairs_counts counts;
	struct nftables_quota quota;
	uint64_t tight_until_ns;
	void (*on_refused)(void *ctx, enum nftables_limit limit, struct slice tenant,
			   const struct addrset_id *name);
	void *on_refused_ctx;
	struct map denied; /* ids of names that rules deny */
	void (*on_denied)(void *ctx);
	void *on_denied_ctx;
};

static struct slice name_key(const struct addrset_id *name)
{
	return (struct slice){ (const char *)name->bytes, sizeof(name->bytes) };
}

static struct nftables_pairs *pairs_of(struct addrset *set)
{
	return CONTAINER_OF(set, struct nftables_pairs, set);
}

/* ---- the table of pairs ---- */

static bool holds_pair(const struct addrset *set, const struct addrset_pair *wanted)
{
	const struct nftables_pairs *pairs = (const struct nftables_pairs *)(const void *)set;
	return addrset_known_holds(&pairs->table, wanted);
}

static void sweep_pairs(struct loop_timer *timer)
{
	struct nftables_pairs *pairs = CONTAINER_OF(timer, struct nftables_pairs, sweep_timer);
	uint64_t now = clock_mono_ns();
	bool is_tight = now < pairs->tight_until_ns;
	addrset_known_sweep(&pairs->table, now);
	loop_timer_set(pairs->loop, timer,
		       now + (is_tight ? TIGHT_SWEEP_MS : SWEEP_MS) * NS_PER_MS);
}

static void release_pair(struct addrset_known_table *table, struct addrset_known *pair)
{
	struct nftables_pairs *pairs = CONTAINER_OF(table, struct nftables_pairs, table);
	nftables_quota_release(&pairs->quota, pair);
}

/* ---- to the kernel ---- */

static const char *set_of(const struct addrset_known *pair)
{
	return pair->address.n == 4 ? NFTABLES_SET_NAMES4 : NFTABLES_SET_NAMES6;
}

static struct nftables_element element_of(const struct addrset_known *pair, uint64_t now)
{
	struct nftables_element element = nftables_element_of(pair);
	element.timeout_ms = NFTABLES_SLACK_MS;
	if (pair->wanted_ns > now)
		element.timeout_ms += (pair->wanted_ns - now) / NS_PER_MS;
	return element;
}

/* The pairs that have addresses of `n_address` bytes, in one message or several. */
static void put_elements(struct nftables_pairs *pairs, struct addrset_known *const *list, size_t n,
			 uint8_t n_address, bool removes)
{
	struct nftables_elements elements;
	uint64_t now = clock_mono_ns();
	nftables_elements_begin(&elements, pairs->link,
				n_address == 4 ? NFTABLES_SET_NAMES4 : NFTABLES_SET_NAMES6,
				removes);
	for (size_t i = 0; i < n; i++) {
		if (list[i]->address.n != n_address)
			continue;
		struct nftables_element element = element_of(list[i], now);
		nftables_elements_add(&elements, &element);
		assert(strcmp(set_of(list[i]), elements.set) == 0);
	}
	nftables_elements_end(&elements);
}

/* Is one of the pairs new, and of a name that a rule denies? Before they are known to be in force. */
static bool has_new_denial(const struct nftables_pairs *pairs, struct addrset_known *const *list,
			   size_t n)
{
	uint64_t now = clock_mono_ns();
	for (size_t i = 0; pairs->denied.n != 0 && i < n; i++) {
		if (map_has(&pairs->denied, name_key(&list[i]->name)) &&
		    !addrset_known_is_in_force(&pairs->table, list[i], now))
			return true;
	}
	return false;
}

/* Old kernels ignore a second adding. There the element is removed and added in one batch; adding it
 * first lets the removal find it even if it expired a moment ago. */
static int commit_pairs(struct nftables_pairs *pairs, struct addrset_known *const *list, size_t n,
			struct err_text err)
{
	static const uint8_t lengths[] = { 4, 16 };
	for (size_t k = 0; k < ARRAY_LEN(lengths); k++) {
		put_elements(pairs, list, n, lengths[k], false);
		if (!pairs->adding_renews) {
			put_elements(pairs, list, n, lengths[k], true);
			put_elements(pairs, list, n, lengths[k], false);
		}
	}
	pairs->counts.commits++;
	pairs->counts.elements += n;
	int r = nftables_batch_commit(pairs->link, err);
	bool has_denial = r == 0 && has_new_denial(pairs, list, n);
	for (size_t i = 0; r == 0 && i < n; i++)
		addrset_known_set(list[i], list[i]->wanted_ns);
	if (has_denial && pairs->on_denied != NULL)
		pairs->on_denied(pairs->on_denied_ctx);
	return r;
}

/* All at once; if the kernel refuses that, one by one, so that each fails for itself. */
static int commit_queue(struct nftables_pairs *pairs)
{
	int result = commit_pairs(pairs, pairs->queue.v, pairs->queue.n, (struct err_text){ 0 });
	if (result < 0 && pairs->queue.n > 1) {
		for (size_t i = 0; i < pairs->queue.n; i++) {
			int r = commit_pairs(pairs, &pairs->queue.v[i], 1, (struct err_text){ 0 });
			result = r < 0 ? r : result;
		}
	}
	for (size_t i = 0; i < pairs->queue.n; i++) {
		struct addrset_known *pair = pairs->queue.v[i];
		pair->is_queued = false;
		pair->wanted_ns = addrset_known_until(pair);
	}
	pairs->queue.n = 0;
	return result;
}

static void answer_requests(struct nftables_pairs *pairs, int result)
{
	struct addrset_request *request = pairs->first;
	pairs->first = NULL;
	pairs->end = &pairs->first;
	while (request != NULL) {
		struct addrset_request *next = request->next;
		bool held = addrset_holds(&pairs->set, request->pairs, request->n_pairs);
		pairs->counts.failures += !held;
		request->done(request, held ? 0 : result);
		request = next;
	}
}

static void commit_turn(struct loop_timer *timer)
{
	struct nftables_pairs *pairs = CONTAINER_OF(timer, struct nftables_pairs, commit_timer);
	int result = commit_queue(pairs);
	answer_requests(pairs, result < 0 ? result : ERR_INTERNAL);
}

/* ---- limits ---- */

static int refuse_pair(struct nftables_pairs *pairs, enum nftables_limit limit, struct slice tenant,
		       const struct addrset_id *name)
{
	uint64_t now = clock_mono_ns();
	if (now >= pairs->tight_until_ns)
		loop_timer_set(pairs->loop, &pairs->sweep_timer, now);
	pairs->tight_until_ns = now + SWEEP_MS * NS_PER_MS;
	if (pairs->on_refused != NULL)
		pairs->on_refused(pairs->on_refused_ctx, limit, tenant, name);
	return limit == NFTABLES_LIMIT_NODE ? ERR_LIMIT : ERR_QUOTA;
}

/* A pair that is in force is never refused: a limit keeps out what is new. */
static int admit_pair(struct nftables_pairs *pairs, struct slice tenant,
		      const struct addrset_pair *wanted)
{
	struct addrset_known *pair =
		addrset_known_find(&pairs->table, &wanted->name, &wanted->address);
	if (pair == NULL && pairs->table.pairs.n >= NFTABLES_PAIRS_MAX)
		return refuse_pair(pairs, NFTABLES_LIMIT_NODE, tenant, &wanted->name);
	if (tenant.n == 0 || (pair != NULL && nftables_quota_is_paid_by(pair, tenant)))
		return 0;
	enum nftables_limit limit = nftables_quota_check(&pairs->quota, tenant, &wanted->name);
	if (limit == NFTABLES_LIMIT_NONE) {
		pair = addrset_known_get(&pairs->table, &wanted->name, &wanted->address);
		nftables_quota_charge(&pairs->quota, tenant, pair);
		return 0;
	}
	bool is_in_force =
		pair != NULL && (pair->is_queued ||
				 addrset_known_is_in_force(&pairs->table, pair, clock_mono_ns()));
	return is_in_force ? 0 : refuse_pair(pairs, limit, tenant, &wanted->name);
}

/* ---- requests ---- */

static void queue_pair(struct nftables_pairs *pairs, const struct addrset_pair *wanted)
{
	struct addrset_known *pair =
		addrset_known_get(&pairs->table, &wanted->name, &wanted->address);
	if (pair->wanted_ns >= wanted->until_ns)
		return;
	pair->wanted_ns = wanted->until_ns;
	if (!pair->is_queued)
		vec_push(&pairs->queue, pair);
	pair->is_queued = true;
}

static void add_request(struct addrset *set, struct addrset_request *request)
{
	struct nftables_pairs *pairs = pairs_of(set);
	if (addrset_holds(set, request->pairs, request->n_pairs)) {
		request->done(request, 0);
		return;
	}
	int r = 0;
	for (size_t i = 0; r == 0 && i < request->n_pairs; i++) {
		assert(request->pairs[i].address.n == 4 || request->pairs[i].address.n == 16);
		r = admit_pair(pairs, request->tenant, &request->pairs[i]);
		if (r == 0)
			queue_pair(pairs, &request->pairs[i]);
	}
	/* What it had before the pair that failed is in force soon, and of use to nobody until it expires. */
	if (pairs->queue.n != 0)
		loop_timer_set(pairs->loop, &pairs->commit_timer, loop_now(pairs->loop));
	if (r < 0) {
		pairs->counts.failures++;
		request->done(request, r);
		return;
	}
	request->next = NULL;
	*pairs->end = request;
	pairs->end = &request->next;
	loop_timer_set(pairs->loop, &pairs->commit_timer, loop_now(pairs->loop));
}

static const struct addrset_ops pairs_ops = { .holds = holds_pair, .add = add_request };

/* ---- begin and end ---- */

struct read_back {
	struct nftables_pairs *pairs;
	uint64_t now;
	uint64_t longest_ms; /* of the probe */
};

static void restart_reading(void *ctx UNUSED)
{
}

static void take_back(void *ctx, const struct nftables_element *element)
{
	struct read_back *back = ctx;
	if (element->n_key != ADDRSET_ID_BYTES + 4 && element->n_key != ADDRSET_ID_BYTES + 16)
		return;
	if (nftables_element_is_probe(element)) {
		back->longest_ms = MAX(back->longest_ms, element->timeout_ms);
		return;
	}
	struct addrset_id name;
	struct addrset_address address = { .n = (uint8_t)(element->n_key - ADDRSET_ID_BYTES) };
	if (element->timeout_ms <= NFTABLES_SLACK_MS)
		return;
	memcpy(name.bytes, element->key, sizeof(name.bytes));
	memcpy(address.bytes, element->key + ADDRSET_ID_BYTES, address.n);
	struct addrset_known *pair = addrset_known_get(&back->pairs->table, &name, &address);
	pair->wanted_ns = back->now + (element->timeout_ms - NFTABLES_SLACK_MS) * NS_PER_MS;
	addrset_known_set(pair, pair->wanted_ns);
}

static int add_probe(struct nftables_pairs *pairs, uint64_t timeout_ms, struct err_text err)
{
	struct nftables_elements elements;
	struct nftables_element probe = { .n_key = ADDRSET_ID_BYTES + 4, .timeout_ms = timeout_ms };
	nftables_elements_begin(&elements, pairs->link, NFTABLES_SET_NAMES4, false);
	nftables_elements_add(&elements, &probe);
	nftables_elements_end(&elements);
	return nftables_batch_commit(pairs->link, err);
}

/* Also finds out whether adding an element again renews it, with one that no rule asks for. */
static int read_pairs(struct nftables_pairs *pairs, struct err_text err)
{
	struct read_back back = { .pairs = pairs };
	int r = add_probe(pairs, PROBE_MS, err);
	if (r == 0)
		r = add_probe(pairs, 3 * (uint64_t)PROBE_MS, err);
	if (r < 0)
		return r;
	back.now = clock_mono_ns(); /* early: times come out too short, never too long */
	r = nftables_elements_read(pairs->link, NFTABLES_SET_NAMES4, restart_reading, take_back,
				   &back);
	if (r >= 0)
		r = nftables_elements_read(pairs->link, NFTABLES_SET_NAMES6, restart_reading,
					   take_back, &back);
	if (r < 0)
		err_text_set(err, "cannot read the addresses in nftables: %s", err_str(r));
	pairs->adding_renews = back.longest_ms > 2 * (uint64_t)PROBE_MS;
	return r;
}

int nftables_pairs_new(struct loop *loop, struct nftables_link *link, struct nftables_pairs **ret,
		       struct err_text err)
{
	int r = nftables_ensure_sets(link, err);
	if (r < 0)
		return r;
	struct nftables_pairs *pairs = xcalloc(1, sizeof(*pairs));
	pairs->set.ops = &pairs_ops;
	pairs->loop = loop;
	pairs->link = link;
	pairs->end = &pairs->first;
	pairs->commit_timer.cb = commit_turn;
	pairs->sweep_timer.cb = sweep_pairs;
	addrset_known_init(&pairs->table);
	pairs->table.on_removed = release_pair;
	nftables_quota_init(&pairs->quota);
	map_init(&pairs->denied);
	r = read_pairs(pairs, err);
	if (r < 0) {
		nftables_pairs_free(pairs);
		return r;
	}
	loop_timer_set(loop, &pairs->sweep_timer, clock_mono_ns() + SWEEP_MS * NS_PER_MS);
	*ret = pairs;
	return 0;
}

void nftables_pairs_free(struct nftables_pairs *pairs)
{
	if (pairs == NULL)
		return;
	loop_timer_stop(pairs->loop, &pairs->commit_timer);
	loop_timer_stop(pairs->loop, &pairs->sweep_timer);
	answer_requests(pairs, ERR_CLOSED);
	addrset_known_done(&pairs->table);
	nftables_quota_done(&pairs->quota);
	map_done(&pairs->denied);
	vec_done(&pairs->queue);
	vec_done(&pairs->leaving);
	free(pairs);
}

/* ---- mending ---- */

/* Adding an element first lets its removal find it even if it expired a moment ago. */
static void put_removals(struct nftables_pairs *pairs, const char *set,
			 const struct nftables_element_faults *faults)
{
	static const bool removes[] = { false, true };
	for (size_t k = 0; k < ARRAY_LEN(removes); k++) {
		struct nftables_elements elements;
		nftables_elements_begin(&elements, pairs->link, set, removes[k]);
		for (size_t i = 0; i < faults->surplus.n; i++)
			nftables_elements_add(&elements, &faults->surplus.v[i]);
		nftables_elements_end(&elements);
	}
}

static int mend_set(struct nftables_pairs *pairs, const char *set, uint8_t n_address,
		    size_t *mended, struct err_text err)
{
	struct nftables_element_faults faults;
	int r = nftables_element_check(pairs->link, set, &pairs->table, n_address, &faults);
	if (r < 0)
		err_text_set(err, "cannot read the addresses in nftables: %s", err_str(r));
	put_removals(pairs, set, &faults);
	if (r == 0)
		r = commit_pairs(pairs, faults.missing.v, faults.missing.n, err);
	*mended += faults.missing.n + faults.surplus.n;
	nftables_element_faults_done(&faults);
	return r;
}

int nftables_pairs_mend(struct nftables_pairs *pairs, size_t *ret_mended, struct err_text err)
{
	size_t mended = 0;
	int r = nftables_ensure_sets(pairs->link, err);
	if (r == 0)
		r = mend_set(pairs, NFTABLES_SET_NAMES4, 4, &mended, err);
	if (r == 0)
		r = mend_set(pairs, NFTABLES_SET_NAMES6, 16, &mended, err);
	if (r < 0)
		addrset_known_forget_all(&pairs->table);
	else
		*ret_mended = mended;
	return r;
}

/* ---- removing ---- */

struct name_call {
	void (*fn)(void *ctx, const struct addrset_id *name);
	void *ctx;
};

static void call_with_name(void *arg, struct addrset_known *pair)
{
	const struct name_call *call = arg;
	call->fn(call->ctx, &pair->name);
}

void nftables_pairs_each_name(const struct nftables_pairs *pairs,
			      void (*fn)(void *ctx, const struct addrset_id *name), void *ctx)
{
	addrset_known_each(&pairs->table, call_with_name, &(struct name_call){ fn, ctx });
}

struct removal {
	struct nftables_pairs *pairs;
	bool (*is_unwanted)(void *ctx, const struct addrset_id *name);
	void *ctx;
};

/* One that was never in force, or was removed a moment ago, has no time. */
static void note_unwanted(void *arg, struct addrset_known *pair)
{
	const struct removal *removal = arg;
	if (pair->is_queued || addrset_known_until(pair) == 0 ||
	    !removal->is_unwanted(removal->ctx, &pair->name))
		return;
	pair->is_leaving = true;
	vec_push(&removal->pairs->leaving, pair);
}

void nftables_pairs_begin_removal(struct nftables_pairs *pairs,
				  bool (*is_unwanted)(void *ctx, const struct addrset_id *name),
				  void *ctx)
{
	for (size_t i = 0; i < pairs->leaving.n; i++)
		pairs->leaving.v[i]->is_leaving = false;
	pairs->leaving.n = 0;
	addrset_known_each(&pairs->table, note_unwanted,
			   &(struct removal){ pairs, is_unwanted, ctx });
}

/* Adding an element first lets its removal find it even if it expired a moment ago. */
static int commit_removal(struct nftables_pairs *pairs, struct addrset_known *const *list, size_t n,
			  struct err_text err)
{
	static const uint8_t lengths[] = { 4, 16 };
	for (size_t k = 0; k < ARRAY_LEN(lengths); k++) {
		put_elements(pairs, list, n, lengths[k], false);
		put_elements(pairs, list, n, lengths[k], true);
	}
	pairs->counts.commits++;
	return nftables_batch_commit(pairs->link, err);
}

/* Nobody holds it, and it counts for nobody; the next sweep frees it. */
static void drop_pair(struct nftables_pairs *pairs, struct addrset_known *pair)
{
	pair->wanted_ns = 0;
	addrset_known_set(pair, 0);
	nftables_quota_release(&pairs->quota, pair);
}

int nftables_pairs_remove_slice(struct nftables_pairs *pairs,
				bool (*is_unwanted)(void *ctx, const struct addrset_id *name),
				void *ctx, size_t *ret_removed, struct err_text err)
{
	struct addrset_known *list[REMOVAL_SLICE];
	size_t n = 0, left = pairs->leaving.n - MIN(pairs->leaving.n, (size_t)REMOVAL_SLICE);
	for (size_t i = left; i < pairs->leaving.n; i++) {
		struct addrset_known *pair = pairs->leaving.v[i];
		if (!pair->is_queued && is_unwanted(ctx, &pair->name))
			list[n++] = pair;
	}
	int r = n != 0 ? commit_removal(pairs, list, n, err) : 0;
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		drop_pair(pairs, list[i]);
	for (size_t i = left; i < pairs->leaving.n; i++)
		pairs->leaving.v[i]->is_leaving = false;
	pairs->leaving.n = left;
	*ret_removed = n;
	return left != 0;
}

static void note_denied_names(struct nftables_pairs *pairs, const struct nftables_rule *rule)
{
	for (size_t i = 0; !rule->allows && i < rule->n_targets; i++) {
		if (rule->targets[i].is_name)
			map_set(&pairs->denied, name_key(&rule->targets[i].name), pairs);
	}
}

void nftables_pairs_set_policy(struct nftables_pairs *pairs, const struct nftables_policy *policy)
{
	nftables_quota_set_names(&pairs->quota, policy);
	map_done(&pairs->denied);
	map_init(&pairs->denied);
	for (size_t i = 0; i < policy->n_namespaces; i++) {
		const struct nftables_namespace *ns = &policy->namespaces[i];
		for (size_t k = 0; k < ns->n_rules; k++)
			note_denied_names(pairs, &ns->rules[k]);
	}
}

void nftables_pairs_on_denied(struct nftables_pairs *pairs, void (*fn)(void *ctx), void *ctx)
{
	pairs->on_denied = fn;
	pairs->on_denied_ctx = ctx;
}

void nftables_pairs_on_refused(struct nftables_pairs *pairs,
			       void (*fn)(void *ctx, enum nftables_limit limit, struct slice tenant,
					  const struct addrset_id *name),
			       void *ctx)
{
	pairs->on_refused = fn;
	pairs->on_refused_ctx = ctx;
}

struct addrset *nftables_pairs_set(struct nftables_pairs *pairs)
{
	return &pairs->set;
}

void nftables_pairs_assume_old_kernel(struct nftables_pairs *pairs)
{
	pairs->adding_renews = false;
}

struct nftables_pairs_counts nftables_pairs_counts(const struct nftables_pairs *pairs)
{
	struct nftables_pairs_counts counts = pairs->counts;
	counts.known = pairs->table.pairs.n;
	return counts;
}

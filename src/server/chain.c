/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of a query down and up its chain, and its waits. One loop, no recursion: a
 * query that waits leaves the loop and comes back through the worker's run queue. */
#include "server/chain.h"

#include <assert.h>

#include "server/block.h"
#include "server/conn/flow.h"
#include "server/conn/tcp.h"
#include "server/generation.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/reply.h"
#include "server/request_metrics.h"
#include "server/route.h"
#include "server/slab.h"
#include "server/steps.h"
#include "server/waiting.h"
#include "server/worker.h"

void chain_queue(struct query *q)
{
	struct worker *worker = q->worker;
	assert(!q->waiting);
	q->next = NULL;
	if (worker->run_last != NULL)
		worker->run_last->next = q;
	else
		worker->run_first = q;
	worker->run_last = q;
}

void query_resume(struct query *q)
{
	loop_timer_stop(q->worker->loop, &q->timer); /* the wait is over: no time-out any more */
	if (!q->waiting) {
		q->resumed = q->armed = true; /* latched until V_WAIT is returned */
		return;
	}
	q->waiting = false;
	chain_queue(q);
	loop_again(q->worker->loop);
}

static void timer_resume(struct loop_timer *timer)
{
	query_resume(CONTAINER_OF(timer, struct query, timer));
}

void query_resume_at(struct query *q, uint64_t due_ns)
{
	q->armed = true;
	q->timer.cb = timer_resume;
	loop_timer_set(q->worker->loop, &q->timer, due_ns);
}

static void free_query(struct query *q);

static void release_subs(struct query *q)
{
	/* Those it did not wait for go on alone. */
	for (struct query *s = q->running; s != NULL; s = s->sub_next) {
		s->parent = NULL;
		s->detached = true;
	}
	while (q->sub != NULL) {
		struct query *s = q->sub;
		q->sub = s->sub_next;
		free_query(s);
	}
}

/* Frees a query and its sub-queries; depth is bounded by QUERY_SUB_DEPTH_MAX. */
static void free_query(struct query *q)
{
	struct worker *w = q->worker;
	struct generation *generation = q->gen;
	release_subs(q);
	slot_release(w, q);
	if (generation == NULL)
		return;
	assert(generation->worker[w->index].inflight > 0);
	if (--generation->worker[w->index].inflight == 0 && generation->worker[w->index].retiring)
		worker_leave(w, generation);
}

static NOINLINE void finish_own_zone(struct query *q)
{
	struct plugin_inst *owner = q->block->chain[q->zone->owner->chain_at];
	if (owner->chain_at >= q->top && owner->chain_at < q->entered)
		owner->plugin->done_own_zone(owner, q);
}

static void run_done(struct query *q)
{
	if (q->entered == q->top)
		return;
	const struct steps *steps = q->block->steps;
	const struct steps_done *first = steps[q->top].done;
	for (const struct steps_done *step = steps[q->entered].done; step != first;) {
		step--;
		step->call(step->inst, q);
	}
	if (UNLIKELY(q->zone->owner != NULL))
		finish_own_zone(q);
}

static void unlink_running(struct query *parent, const struct query *query)
{
	struct query **at = &parent->running;
	while (*at != query) {
		assert(*at != NULL);
		at = &(*at)->sub_next;
	}
	*at = query->sub_next;
}

static void finish_sub(struct query *q)
{
	struct query *parent = q->parent;
	reply_complete(q);
	run_done(q);
	if (q->detached) {
		free_query(q);
		return;
	}
	assert(parent != NULL && parent != q);
	unlink_running(parent, q);
	parent->hit_limit |= q->hit_limit;
	q->sub_next = parent->sub;
	parent->sub = q;
	query_resume(parent);
}

static void finish_query(struct query *q)
{
	if (q->is_sub) {
		finish_sub(q);
		return;
	}
	reply_complete(q);
	reply_send(q);
	run_done(q);
	if (q->conn != NULL)
		conn_query_done(q);
	free_query(q);
}

void chain_stream_end(struct query *q)
{
	run_done(q);
	if (q->conn != NULL)
		conn_query_done(q);
	free_query(q);
}

/* True: it waits. Else it fails. A query whose sub-queries run waits for nobody else: if one of
 * these may not wait, that one fails. */
static bool begin_wait(struct query *q)
{
	assert(!q->waiting && !q->resumed);
	q->waiting = true;
	q->resp.note = NULL;
	q->resp.noted = 0;
	if (q->running != NULL) {
		waiting_charge(q);
		return true;
	}
	if (waiting_is_charged(q) || waiting_begin(q))
		return true;
	struct plugin_inst *inst = q->block->chain[q->at];
	if (inst->plugin->cancel != NULL)
		inst->plugin->cancel(inst, q);
	loop_timer_stop(q->worker->loop, &q->timer);
	q->waiting = q->resumed = false;
	q->outcome = query_fail_limit(q, NULL);
	q->up = true;
	return false;
}

/* What a verdict of the instance at the cursor means for the cursor. True: go on walking. */
static bool apply_verdict(struct query *q, enum verdict verdict)
{
	if (verdict != V_WAIT && q->armed) {
		/* Nobody waited for it; it must not wake another plugin that waits later. */
		q->resumed = q->armed = false;
		loop_timer_stop(q->worker->loop, &q->timer);
	}
	switch (verdict) {
	case V_NEXT:
		if (!q->up)
			q->at++;
		return true;
	case V_ANSWERED:
	case V_FAIL:
		q->outcome = verdict;
		q->up = true;
		return true;
	case V_DROP:
		q->outcome = verdict;
		finish_query(q);
		return false;
	case V_WAIT:
		return !begin_wait(q);
	case V_STREAM:
		if (!tcp_can_stream(q)) {
			q->outcome = query_fail(q, DNS_RCODE_SERVFAIL, "a stream needs TCP");
			q->up = true;
			return true;
		}
		q->outcome = V_ANSWERED;
		tcp_stream(q);
		return false;
	}
	return false;
}

/* CoreDNS names it, and logs are searched for that. */
enum verdict chain_end(struct plugin_inst *last, struct query *q)
{
	return query_failf(q, DNS_RCODE_SERVFAIL, "plugin/%s: no next plugin found",
			   last->plugin->name);
}

/* Does the walk simply go on? Not where a resume was latched that nobody waits for. */
static ALWAYS_INLINE bool goes_on(const struct query *q, enum verdict verdict)
{
	return verdict == V_NEXT && !q->armed;
}

/* Calls serve from the cursor on down, as long as all leave the question to the next. The cursor itself
 * is moved in the end. */
static enum verdict walk_down(struct query *q)
{
	const struct steps_call *step = q->block->steps[q->at].down;
	for (;; step++) {
		enum verdict verdict = step->call(step->inst, q);
		if (!goes_on(q, verdict)) {
			q->at = step->at;
			q->entered = step->entered;
			return verdict;
		}
	}
}

/* As walk_down, for a zone that one of the instances answers itself. */
static NOINLINE enum verdict walk_down_to_owner(struct query *q)
{
	const struct plugin_inst *owner = q->zone->owner;
	for (; q->at < q->block->n_chain; q->at++) {
		struct plugin_inst *inst = q->block->chain[q->at];
		q->entered = (uint16_t)(q->at + 1);
		enum verdict verdict = V_NEXT;
		if (inst == owner)
			verdict = inst->plugin->serve_own_zone(inst, q);
		else if (inst->plugin->serve != NULL)
			verdict = inst->plugin->serve(inst, q);
		if (!goes_on(q, verdict))
			return verdict;
	}
	return chain_end(q->block->chain[q->block->n_chain - 1], q);
}

/* Calls respond from the cursor on up, as long as all leave the outcome as it is. *ret_end: the
 * chain is over. */
static enum verdict walk_up(struct query *q, bool *ret_end)
{
	const struct steps *steps = q->block->steps;
	const struct steps_call *first = steps[q->top].up;
	for (const struct steps_call *step = steps[q->at].up; step != first;) {
		step--;
		enum verdict verdict = step->call(step->inst, q);
		if (!goes_on(q, verdict)) {
			q->at = step->at;
			return verdict;
		}
	}
	q->at = q->top;
	*ret_end = true;
	return V_NEXT;
}

static enum verdict call_resume(struct query *q)
{
	struct plugin_inst *inst = q->block->chain[q->at];
	assert(inst->plugin->resume != NULL);
	return inst->plugin->resume(inst, q);
}

static void walk_chain(struct query *q, enum verdict verdict, bool have_verdict)
{
	for (;;) {
		bool end = false;
		if (!have_verdict)
			verdict = q->up				   ? walk_up(q, &end)
				  : LIKELY(q->zone->owner == NULL) ? walk_down(q)
								   : walk_down_to_owner(q);
		if (end) {
			finish_query(q);
			return;
		}
		if (verdict == V_WAIT && q->resumed) {
			q->resumed = false;
			verdict = call_resume(q);
			have_verdict = true;
			continue;
		}
		if (!apply_verdict(q, verdict))
			return;
		have_verdict = false;
	}
}

void chain_start(struct query *q)
{
	assert(!q->started);
	q->started = true;
	walk_chain(q, V_NEXT, false);
}

void chain_refuse(struct query *q, uint16_t rcode)
{
	if (q->gen->has_metrics && rcode != DNS_RCODE_BADVERS && !q->in_walk)
		request_metrics_count_refused(q, &q->route->refused_metrics, rcode);
	q->outcome = V_FAIL;
	q->rcode = rcode;
	q->entered = q->top = 0;
	finish_query(q);
}

static void start_sub_server(struct query *q)
{
	uint16_t rcode;
	if (route_query(q, q->route, &rcode))
		chain_start(q);
	else
		chain_refuse(q, rcode);
}

void chain_drain(struct worker *worker)
{
	while (worker->run_first != NULL) {
		struct query *q = worker->run_first;
		worker->run_first = q->next;
		if (worker->run_first == NULL)
			worker->run_last = NULL;
		if (q->started)
			walk_chain(q, call_resume(q), true);
		else if (q->block == NULL)
			start_sub_server(q);
		else
			chain_start(q);
	}
}

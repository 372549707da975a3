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
		q->resumed = true; /* latched until V_WAIT is returned */
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

static void run_done(struct query *q)
{
	for (unsigned i = q->entered; i-- > q->top;) {
		struct plugin_inst *inst = q->block->chain[i];
		if (inst->plugin->done != NULL)
			inst->plugin->done(inst, q);
	}
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
	if (verdict != V_WAIT && (q->resumed || q->timer.heap_at != 0)) {
		/* Nobody waited for it; it must not wake another plugin that waits later. */
		q->resumed = false;
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

/* The last handler wanted to ask a next one. CoreDNS names it, and logs are searched for that. */
static enum verdict end_of_chain(struct query *q)
{
	const struct block *b = q->block;
	return query_failf(q, DNS_RCODE_SERVFAIL, "plugin/%s: no next plugin found",
			   b->chain[b->n_chain - 1]->plugin->name);
}

/* Calls the instance at the cursor; moves an upward cursor first. V_NEXT when it has no such
 * function. *ret_end: the chain is over. */
static enum verdict call_next(struct query *q, bool *ret_end)
{
	*ret_end = false;
	if (q->up) {
		if (q->at == q->top) {
			*ret_end = true;
			return V_NEXT;
		}
		struct plugin_inst *inst = q->block->chain[--q->at];
		return inst->plugin->respond != NULL ? inst->plugin->respond(inst, q) : V_NEXT;
	}
	if (q->at == q->block->n_chain)
		return end_of_chain(q);
	struct plugin_inst *inst = q->block->chain[q->at];
	q->entered = (uint16_t)(q->at + 1);
	return inst->plugin->serve != NULL ? inst->plugin->serve(inst, q) : V_NEXT;
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
			verdict = call_next(q, &end);
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
	if (q->gen->has_metrics && rcode != DNS_RCODE_BADVERS)
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

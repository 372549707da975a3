/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What plugins may ask of a query and of its worker. */
#include "server/query.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log_queue.h"
#include "base/regex/regex.h"
#include "dns/message.h"
#include "dns/rrtext/rrtext.h"
#include "server/block.h"
#include "server/conn/conn.h"
#include "server/conn/listener.h"
#include "server/handler.h"
#include "server/route.h"
#include "server/server_state.h"
#include "server/waiting.h"
#include "server/worker.h"

void *query_state(struct query *q, const struct plugin_inst *self)
{
	if (q->state == NULL) {
		q->state = arena_calloc(&q->arena, q->block->n_states * sizeof(*q->state));
		if (q->state == NULL)
			return NULL;
	}
	void **at = &q->state[self->state_at];
	if (*at == NULL)
		*at = arena_calloc(&q->arena, self->plugin->state_size);
	return *at;
}

void query_reply(struct query *q)
{
	dns_resp_reply(&q->resp, &q->req);
}

enum verdict query_fail(struct query *q, uint16_t rcode, const char *err)
{
	q->rcode = rcode;
	q->err = err;
	return V_FAIL;
}

enum verdict query_failf(struct query *q, uint16_t rcode, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	const char *copy = arena_strdup(&q->arena, text);
	return query_fail(q, rcode, copy != NULL ? copy : "out of query memory");
}

enum verdict query_fail_limit(struct query *q, const char *err)
{
	q->hit_limit = true;
	return query_fail(q, DNS_RCODE_SERVFAIL, err);
}

bool query_may_wait(struct query *q)
{
	return waiting_begin(q);
}

int query_ask(struct query *q, const uint8_t *name, uint16_t qtype, uint16_t qclass)
{
	size_t len = dns_name_len(name);
	uint8_t *question = arena_alloc(&q->arena, len + 4);
	if (question == NULL)
		return ERR_SPACE;
	dns_message_question(question, name, qtype, qclass);
	q->req.qname = question;
	q->req.question_len = (uint16_t)(len + 4);
	q->req.qtype = qtype;
	q->req.qclass = qclass;
	dns_qname_set(&q->qname, question);
	return 0;
}

bool query_client_gone(const struct query *q)
{
	while (q->parent != NULL)
		q = q->parent;
	return q->conn != NULL && conn_is_closed(q->conn);
}

struct slice query_name_text(struct query *q)
{
	char text[DNS_NAME_TEXT_MAX];
	size_t n = dns_name_to_text(q->qname.wire, false, text);
	const char *copy = arena_strndup(&q->arena, text, n);
	return copy != NULL ? (struct slice){ copy, n } : SLICE("");
}

struct slice query_client_text(struct query *q)
{
	char text[NET_ADDR_TEXT_MAX];
	size_t n = net_addr_ip_str(&q->client, text);
	const char *copy = arena_strndup(&q->arena, text, n);
	return copy != NULL ? (struct slice){ copy, n } : SLICE("");
}

const char *query_proto_text(const struct query *q)
{
	return q->proto == QUERY_UDP ? "udp" : "tcp";
}

uint16_t query_udp_size(const struct query *q)
{
	if (q->proto == QUERY_TCP)
		return UINT16_MAX;
	return q->req.opt.present ? MAX(q->req.opt.udp_size, (uint16_t)512) : 512;
}

const char *query_view_label(const struct query *q)
{
	return q->block != NULL ? q->block->conf.view : "";
}

const char *query_server_label(const struct query *q)
{
	return q->zone != NULL ? q->zone->route->label : q->listener->label;
}

void query_meta_set(struct query *q, struct plugin_inst *self, const char *label,
		    struct slice (*value)(struct plugin_inst *self, struct query *q,
					  struct slice label))
{
	struct query_meta *m = arena_alloc(&q->arena, sizeof(*m));
	if (m == NULL)
		return;
	*m = (struct query_meta){
		.next = q->meta, .label = slice_of(label), .value = value, .self = self
	};
	q->meta = m;
}

struct slice query_meta_get(struct query *q, struct slice label)
{
	for (const struct query_meta *m = q->meta; m != NULL; m = m->next) {
		if (slice_eq(m->label, label))
			return m->value(m->self, q, label);
	}
	return (struct slice){ NULL, 0 };
}

uint64_t query_now(const struct query *q)
{
	return loop_now(q->worker->loop);
}

struct loop *query_loop(struct query *q)
{
	return q->worker->loop;
}

struct rng *query_rng(struct query *q)
{
	return &q->worker->rng;
}

unsigned query_slot(const struct query *q)
{
	return q->worker->index + 1;
}

struct dns_rrtext *query_rrtext(struct query *q)
{
	if (q->worker->rrtext == NULL)
		q->worker->rrtext = dns_rrtext_new();
	return q->worker->rrtext;
}

struct regex_scratch *query_regex(struct query *q)
{
	if (q->worker->regex == NULL)
		q->worker->regex = regex_scratch_new(QUERY_REGEX_GROUPS);
	return q->worker->regex;
}

void worker_log(struct worker *worker, enum log_level level, const char *area, struct slice text,
		struct slice json_extra)
{
	if (level == LOG_DEBUG && !log_debug_enabled())
		return;
	strbuf_reset(&worker->line);
	log_format_line(&worker->line, level, area, text, json_extra);
	char *p = log_queue_reserve(worker->srv->log_queue, worker->index, worker->line.n);
	if (p == NULL)
		return;
	memcpy(p, worker->line.s, worker->line.n);
	log_queue_commit(worker->srv->log_queue, worker->index, worker->line.n);
}

void query_log(struct query *q, enum log_level level, const char *area, struct slice text,
	       struct slice json_extra)
{
	worker_log(q->worker, level, area, text, json_extra);
}

void query_logf(struct query *q, enum log_level level, const char *area, const char *fmt, ...)
{
	char text[2048];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	query_log(q, level, area, (struct slice){ text, MIN((size_t)n, sizeof(text) - 1) },
		  SLICE(""));
}

struct loop *worker_loop(struct worker *worker)
{
	return worker->loop;
}

const struct net_ops *worker_net_ops(struct worker *worker)
{
	return worker->ops;
}

unsigned worker_slot(const struct worker *worker)
{
	return worker->index + 1;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stores replies on their way up the chain: all records get one TTL, OPT is removed, and the
 * message is put into the store. */
#include "plugin/cache/store_reply.h"

#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "dns/message.h"
#include "plugin/cache/count.h"
#include "plugin/cache/kind.h"

enum { SHORT_TTL_S = 5 };

static bool is_denial(enum dns_kind kind)
{
	return kind == DNS_KIND_NXDOMAIN || kind == DNS_KIND_NODATA || kind == DNS_KIND_SERVER;
}

/* As in CoreDNS: the lowest TTL of all records, within the limits; the SOA's minimum is not
 * considered. */
static uint32_t ttl_of(const struct cache_conf *conf, const struct dns_resp *resp,
		       enum dns_kind kind)
{
	const struct cache_limits *l = &conf->half[is_denial(kind)];
	uint32_t ttl = SHORT_TTL_S;
	if (kind == DNS_KIND_SERVER)
		return (uint32_t)(conf->servfail_ns / (int64_t)NS_PER_S);
	bool records = resp->count[0] != 0 || resp->count[1] != 0 || resp->count[2] != 0;
	if (records && (kind == DNS_KIND_NOERROR || is_denial(kind)))
		ttl = dns_resp_min_ttl(resp, l->max_ttl_s);
	return MIN(MAX(ttl, l->min_ttl_s), l->max_ttl_s);
}

int cache_message(struct plugin_inst *self, struct query *q)
{
	uint8_t question[DNS_QUESTION_MAX];
	size_t n = dns_message_question(question, q->qname.wire, q->req.qtype, q->req.qclass);
	struct dns_encode encode = { .question = question,
				     .question_len = (uint16_t)n,
				     .qname = &q->qname,
				     .limit = STORE_MESSAGE_MAX };
	struct dns_resp copy = q->resp;
	uint8_t *out = cache_worker(self, q)->scratch;
	copy.has_opt = false;
	copy.rcode &= 15;
	copy.flags &= (uint16_t)~DNS_FLAG_TC; /* set again: it did not fit */
	int r = dns_resp_encode(&copy, &encode, out, STORE_MESSAGE_MAX);
	if (r < 0 && copy.msg != NULL && dns_resp_thaw(&copy, &q->arena) == 0)
		r = dns_resp_encode(&copy, &encode, out, STORE_MESSAGE_MAX);
	return r >= 0 && (copy.flags & DNS_FLAG_TC) != 0 ? ERR_SPACE : r;
}

static struct store_value value_of(const struct cache_conf *conf, const struct query *q,
				   uint32_t ttl_s)
{
	enum { KEPT_FLAGS = DNS_FLAG_AA | DNS_FLAG_RA | DNS_FLAG_AD };
	return (struct store_value){
		.now_ns = query_now(q),
		.ttl_s = ttl_s,
		.full_size = q->resp.full_size,
		.flags = (uint16_t)((q->resp.flags & KEPT_FLAGS) | (q->chased ? STORE_CHASED : 0)),
		.rcode = q->resp.rcode,
		.tally = q->tally,
		.epoch = atomic_load_explicit(&conf->epoch, memory_order_relaxed),
	};
}

static bool is_excepted(const struct cache_conf *conf, const struct query *q, enum store_half half)
{
	const struct zone_list *z = &conf->except[half];
	return z->n != 0 && zone_list_match(z, &q->qname) >= 0;
}

static bool put_message(struct plugin_inst *self, struct query *q, struct store_value *value,
			const struct store_key *key)
{
	struct cache_conf *conf = self->conf;
	int n = cache_message(self, q);
	if (n < 0)
		return false;
	value->msg = cache_worker(self, q)->scratch;
	value->msg_len = (size_t)n;
	enum store_result r = store_put(conf->store, key, value);
	if (r == STORE_KEPT_EVICTED)
		cache_count(self, q,
			    value->kind == STORE_DENIAL ? CACHE_EVICTIONS_DENIAL
							: CACHE_EVICTIONS_SUCCESS);
	cache_count_stored(self, q);
	return r == STORE_KEPT || r == STORE_KEPT_EVICTED;
}

/* What an answer makes out of date. */
static void drop_others(const struct cache_conf *conf, struct query *q, const struct store_key *key,
			const struct pass *pass, bool answers)
{
	if (conf->prefer_positive ? !answers : pass->mode != PASS_REFRESH)
		return;
	store_drop(conf->store, key, STORE_DENIAL);
	if (conf->prefer_positive)
		store_drop(conf->store, key, STORE_WEAK);
	if (conf->nxdomain_cut) {
		struct store_key cut = cache_name_key(conf, q, 0);
		store_drop(conf->store, &cut, STORE_DENIAL);
	}
}

static bool store_message(struct plugin_inst *self, struct query *q, const struct pass *pass,
			  const struct cache_verdict *verdict, uint32_t ttl_s)
{
	const struct cache_conf *conf = self->conf;
	enum store_half half = is_denial(verdict->kind) ? STORE_HALF_DENIAL : STORE_HALF_SUCCESS;
	if (is_excepted(conf, q, half))
		return false;
	struct store_value val = value_of(conf, q, ttl_s);
	struct store_key key;
	cache_key(conf, q, &key);
	if (half == STORE_HALF_DENIAL)
		val.kind = STORE_DENIAL;
	else
		val.kind = conf->prefer_positive && !verdict->answers ? STORE_WEAK : STORE_SUCCESS;
	if (pass->mode == PASS_REFRESH) {
		val.last_ns = val.now_ns;
		val.hits = pass->old_hits;
	}
	if (verdict->kind == DNS_KIND_NXDOMAIN && conf->nxdomain_cut)
		key = cache_name_key(conf, q, 0);
	bool kept = put_message(self, q, &val, &key);
	if (half == STORE_HALF_SUCCESS)
		drop_others(conf, q, &key, pass, verdict->answers);
	return kept;
}

static void strip_opt(struct dns_resp *resp)
{
	if (resp->msg != NULL && resp->has_opt && resp->full_size != 0)
		resp->full_size -= (uint32_t)(DNS_OPT_BYTES + resp->options_len);
	resp->has_opt = resp->opt_do = false;
	resp->opt_z = resp->options_len = 0;
	resp->options = NULL;
}

static void warn_no_question(struct query *q)
{
	struct slice name = query_name_text(q);
	query_logf(q, LOG_WARNING, CACHE_AREA,
		   "Not caching malformed response with an empty question section for \"%.*s\"",
		   (int)name.n, name.p);
}

bool cache_store_reply(struct plugin_inst *self, struct query *q, struct pass *pass)
{
	const struct cache_conf *conf = self->conf;
	struct dns_resp *resp = &q->resp;
	struct cache_verdict v = cache_judge(q, resp);
	uint32_t ttl_s = ttl_of(conf, resp, v.kind);
	/* With a time below a second it is kept only to be served when it has expired. */
	bool lasting = ttl_s > 0 ||
		       (v.kind == DNS_KIND_SERVER && conf->servfail_ns > 0 && conf->stale_s > 0);
	bool kept = false;
	dns_resp_set_ttl(resp, ttl_s);
	strip_opt(resp);
	if (resp->msg != NULL && resp->full_size == 0)
		resp->full_size = (uint32_t)dns_resp_open_size(resp);
	else if (resp->msg == NULL)
		resp->full_size = (uint32_t)dns_resp_size(resp, q->question_len);
	/* A refresh is stored whatever its reply is: it replaces what would go stale. */
	bool wanted = v.storable && lasting && !q->hit_limit &&
		      (!q->unkept || pass->mode == PASS_REFRESH);
	if (!cache_has_question(resp))
		warn_no_question(q);
	else if (wanted && cache_matches(q, resp))
		kept = store_message(self, q, pass, &v, ttl_s);
	else if (wanted)
		cache_count(self, q, CACHE_DROPS);
	if (!q->req.opt.dnssec_ok && (pass->flags & DNS_FLAG_AD) == 0)
		resp->flags &= (uint16_t)~DNS_FLAG_AD;
	return kept;
}

bool cache_store_failure(struct plugin_inst *self, struct query *q)
{
	const struct cache_conf *conf = self->conf;
	uint32_t ttl_s = (uint32_t)(conf->servfail_ns / (int64_t)NS_PER_S);
	if (conf->servfail_ns == 0 || (ttl_s == 0 && conf->stale_s == 0) ||
	    is_excepted(conf, q, STORE_HALF_DENIAL))
		return false;
	query_reply(q);
	q->resp.rcode = DNS_RCODE_SERVFAIL;
	q->resp.full_size = (uint32_t)dns_resp_size(&q->resp, q->question_len);
	struct store_value v = value_of(conf, q, ttl_s);
	struct store_key key;
	cache_key(conf, q, &key);
	v.kind = STORE_DENIAL;
	return put_message(self, q, &v, &key);
}

/* RFC 8767 §4: a failure does not refresh. */
bool cache_refreshes(const struct cache_conf *conf, const struct query *q)
{
	const struct dns_resp *resp = &q->resp;
	if (q->outcome != V_ANSWERED || (resp->flags & DNS_FLAG_TC) != 0 || !cache_matches(q, resp))
		return false;
	struct cache_verdict v = cache_judge(q, resp);
	if (conf->prefer_positive)
		return v.kind == DNS_KIND_NOERROR && v.answers;
	return v.kind != DNS_KIND_OTHER && v.kind != DNS_KIND_META && v.kind != DNS_KIND_UPDATE &&
	       (resp->rcode == DNS_RCODE_NOERROR || resp->rcode == DNS_RCODE_NXDOMAIN);
}

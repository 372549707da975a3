/* SPDX-License-Identifier: GPL-3.0-or-later */
/* egressfirewall: learns the addresses of names that egress rules use. It sees every
 * answer to a client, cached and synthesised ones too, since it stands before the plugins that make
 * them; answers pass unchanged. What was learnt is a zone that controllers transfer. With `hold`, answers
 * wait until the rules that they need are in force (hold/hold.h). */
#include "plugin/egressfirewall/conf.h"

#include "base/err.h"
#include "plugin/egressfirewall/count.h"
#include "plugin/egressfirewall/hold/hold.h"
#include "plugin/egressfirewall/inspect.h"
#include "plugin/egressfirewall/keys.h"
#include "plugin/egressfirewall/setup.h"
#include "plugin/egressfirewall/zone.h"
#include "plugin/shared/zonenotify.h"
#include "server/resource.h"

/* ---- life ---- */

enum { JOURNAL_BYTES = 8 << 20 };

static int open_keys(struct egressfirewall_conf *conf, struct srcerr *err)
{
	char reason[512] = "";
	if (conf->keys_path == NULL)
		return 0;
	int r = egressfirewall_keyfile_new(conf->keys_path, &conf->keyfile, ERR_TEXT(reason));
	return r < 0 ? srcerr_set(err, conf->keys.pos, "%s", reason) : 0;
}

static int open_store(struct plugin_inst *self, struct srcerr *err)
{
	struct egressfirewall_conf *c = self->conf;
	char reason[512] = "";
	struct egressfirewall_store_conf store_conf = {
		.kubeconfig = c->kubeconfig,
		.context = c->context,
		.endpoint = c->endpoint,
		.cert = c->cert,
		.key = c->key,
		.ca = c->ca,
		.ns = c->ns,
		.limits = { .pairs = (uint32_t)c->max_pairs,
			    .names_per_object = (uint32_t)c->max_names,
			    .ips_per_name = (uint32_t)c->max_ips,
			    .pairs_per_client = (uint32_t)c->max_per_client,
			    .journal_bytes = JOURNAL_BYTES },
		.never = c->never,
		.learn = c->learn,
	};
	int r = egressfirewall_store_get(&store_conf, &c->held, ERR_TEXT(reason));
	if (r < 0)
		return srcerr_set(err, self->pos, "egressfirewall: %s",
				  reason[0] != '\0' ? reason : err_str(r));
	c->store = egressfirewall_store_of(c->held);
	c->now = egressfirewall_rules_now(egressfirewall_store_rules(c->store));
	return 0;
}

static int open_hold(struct plugin_inst *self, struct srcerr *err)
{
	struct egressfirewall_conf *c = self->conf;
	char reason[512] = "";
	struct egressfirewall_hold_conf conf = {
		.kubeconfig = c->kubeconfig,
		.context = c->context,
		.endpoint = c->endpoint,
		.cert = c->cert,
		.key = c->key,
		.ca = c->ca,
		.links = { .node = c->node,
			   .socket = c->agent_socket,
			   .cert = c->agent_cert,
			   .key = c->agent_key,
			   .ca = c->agent_ca,
			   .tls_name = c->agent_tls_name,
			   .port = (uint16_t)c->agent_port,
			   .answer_ns = (uint64_t)c->hold_ns },
		.never = c->never,
		.learn = c->learn,
		.is_machine = c->is_machine,
		.report_ns = c->ns,
		.max_per_namespace = (uint32_t)c->max_held,
		.max_per_client = (uint32_t)c->max_held_per_client,
	};
	if (c->hold_ns == 0)
		return 0;
	int r = egressfirewall_hold_get(&conf, &c->hold_held, ERR_TEXT(reason));
	if (r < 0)
		return srcerr_set(err, c->hold_pos, "egressfirewall: %s",
				  reason[0] != '\0' ? reason : err_str(r));
	c->hold = egressfirewall_hold_of(c->hold_held);
	return 0;
}

static void egressfirewall_stop(struct plugin_inst *self)
{
	struct egressfirewall_conf *c = self->conf;
	if (c->rounds != NULL)
		egressfirewall_store_unlisten(c->store, &c->listener);
	zonenotify_rounds_free(TAKE_PTR(c->rounds));
	zonesender_free(TAKE_PTR(c->sender));
}

static void egressfirewall_teardown(struct plugin_inst *self)
{
	struct egressfirewall_conf *c = self->conf;
	egressfirewall_keyfile_free(c->keyfile);
	resource_put(c->hold_held);
	resource_put(c->held);
	c->hold_held = NULL;
	c->hold = NULL;
	c->keyfile = NULL;
	c->held = NULL;
}

static int egressfirewall_prepare(struct plugin_inst *self, struct prepare *prepare)
{
	int r = open_keys(self->conf, prepare->err);
	if (r == 0 && !prepare->dry)
		r = open_store(self, prepare->err);
	if (r == 0 && !prepare->dry)
		r = open_hold(self, prepare->err);
	if (r < 0)
		egressfirewall_teardown(self);
	return r;
}

static void egressfirewall_commit(struct plugin_inst *self)
{
	struct egressfirewall_conf *c = self->conf;
	if (c->keyfile == NULL)
		return;
	egressfirewall_keyfile_watch(c->keyfile, &self->tasks);
	c->sender = zonesender_new(&egressfirewall_zone_source, EGRESSFIREWALL_AREA, LOG_DEBUG);
	if (c->n_notify == 0)
		return;
	c->rounds = egressfirewall_zone_rounds(c);
	c->listener = (struct egressfirewall_listener){ .fn = egressfirewall_zone_changed,
							.ctx = c->rounds };
	egressfirewall_store_listen(c->store, &c->listener);
}

static int egressfirewall_worker_init(struct plugin_inst *self, struct worker *worker)
{
	struct egressfirewall_conf *c = self->conf;
	int r = egressfirewall_store_worker_init(c->store, worker);
	return r == 0 && c->hold != NULL ? egressfirewall_hold_worker_init(c->hold, worker) : r;
}

static bool egressfirewall_ready(struct plugin_inst *self)
{
	const struct egressfirewall_conf *c = self->conf;
	return c->hold == NULL || egressfirewall_hold_is_ready(c->hold);
}

/* ---- queries ---- */

/* All that the answer says has been reported: not to be inspected again when a cache serves it. */
static void note_answer(const struct query *q, const struct egressfirewall_matcher *matcher)
{
	if (q->resp.note != NULL)
		atomic_store_explicit(q->resp.note, egressfirewall_matcher_note(matcher),
				      memory_order_relaxed);
}

static NOINLINE enum verdict learn(const struct egressfirewall_conf *conf, struct query *q,
				   const struct egressfirewall_matcher *matcher)
{
	if (q->outcome != V_ANSWERED || q->is_sub)
		return V_NEXT;
	unsigned slot = query_slot(q);
	struct egressfirewall_inspect_counts counts = egressfirewall_inspect(
		q, matcher, egressfirewall_store_sightings(conf->store, slot));
	if (LIKELY(counts.full == 0))
		note_answer(q, matcher);
	else
		egressfirewall_count_on(slot, EGRESSFIREWALL_COUNT_QUEUE_FULL, counts.full);
	return V_NEXT;
}

/* Of a name that no rule covers: one may cover a name of the CNAME chain, if there is a chain. In a function of its
 * own, so that those before it need not save registers for its calls. */
static NOINLINE enum verdict learn_from_chain(struct plugin_inst *self, struct query *q,
					      const struct egressfirewall_matcher *matcher)
{
	if (q->outcome != V_ANSWERED || !egressfirewall_starts_with_own_address(q))
		return learn(self->conf, q, matcher);
	return V_NEXT;
}

/* Have these rules seen the reply, which a cache has served before? Both are 0 where there are no rules. */
static ALWAYS_INLINE bool was_inspected(const struct query *q,
					const struct egressfirewall_matcher *matcher)
{
	return q->resp.noted == egressfirewall_matcher_note(matcher);
}

/* Each instruction counts here, for answers of a cache, and for those of names that no rule covers. */
static enum verdict egressfirewall_respond(struct plugin_inst *self, struct query *q)
{
	const struct egressfirewall_conf *c = self->conf;
	const struct egressfirewall_matcher *matcher = rcu_get(&c->now->matcher);
	bool is_kept = q->resp.note != NULL;
	if ((is_kept && was_inspected(q, matcher)) || q->resp.count[DNS_ANSWER] == 0)
		return V_NEXT;
	if (UNLIKELY(is_kept) || egressfirewall_may_match_shallow(matcher, &q->qname) ||
	    UNLIKELY(q->question != q->req.qname) ||
	    (UNLIKELY(matcher->deep != 0) && egressfirewall_may_match_deep(matcher, &q->qname)))
		return learn(c, q, matcher);
	if (LIKELY(egressfirewall_plainly_starts_with_own_address(q)))
		return V_NEXT;
	return learn_from_chain(self, q, matcher);
}

static NOINLINE enum verdict learn_and_hold(struct plugin_inst *self, struct query *q,
					    const struct egressfirewall_matcher *matcher)
{
	const struct egressfirewall_conf *c = self->conf;
	learn(c, q, matcher);
	return egressfirewall_hold_answer(c->hold, self, q);
}

/* Instead of egressfirewall_respond, where answers are held. */
static enum verdict respond_and_hold(struct plugin_inst *self, struct query *q)
{
	const struct egressfirewall_conf *c = self->conf;
	const struct egressfirewall_matcher *matcher = rcu_get(&c->now->matcher);
	if (q->resp.count[DNS_ANSWER] == 0)
		return V_NEXT;
	if (UNLIKELY(!was_inspected(q, matcher)))
		return learn_and_hold(self, q, matcher);
	return egressfirewall_hold_answer(c->hold, self, q);
}

static int parse_stanza(struct plugin_inst *self, struct setup *setup)
{
	const struct egressfirewall_conf *c = self->conf;
	int r = egressfirewall_parse(self, setup);
	if (r == 0 && c->hold_ns != 0)
		self->respond = respond_and_hold;
	return r;
}

static enum verdict egressfirewall_resume(struct plugin_inst *self, struct query *q)
{
	const struct egressfirewall_state *state = query_state_get(q, self);
	return state != NULL && state->park != NULL ? egressfirewall_hold_resume(self, q)
						    : zonesender_resume(self, q);
}

const struct plugin egressfirewall_plugin = {
	.name = "egressfirewall",
	.opts = egressfirewall_opts,
	.n_opts = EGRESSFIREWALL_N_OPTS,
	.conf_size = sizeof(struct egressfirewall_conf),
	.state_size = sizeof(struct egressfirewall_state),
	.parse = parse_stanza,
	.prepare = egressfirewall_prepare,
	.commit = egressfirewall_commit,
	.worker_init = egressfirewall_worker_init,
	.stop = egressfirewall_stop,
	.teardown = egressfirewall_teardown,
	.serve_own_zone = egressfirewall_zone_serve,
	.done_own_zone = egressfirewall_zone_done,
	.respond = egressfirewall_respond,
	.resume = egressfirewall_resume,
	.ops = { .ready = egressfirewall_ready },
};

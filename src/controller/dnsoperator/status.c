/* The status of the DNS object is written, and what is new in it told by Events and in the log. */
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "controller/dnsoperator/news.h"
#include "controller/dnsoperator/objects.h"
#include "controller/dnsoperator/report_priv.h"
#include "kube/decode/tree.h"

/* What the plan says is of this generation of this object; of another there will be another plan.
 */
static bool is_planned_for(const struct dnsoperator_look *pass, const json_t *dns)
{
	const json_t *planned = kube_tree_of(pass->dns);
	return api_generation(dns) == api_generation(planned) &&
	       strcmp(api_uid(dns), api_uid(planned)) == 0;
}

static bool set_status(struct dnsoperator_look *pass, json_t *copy)
{
	if (!is_planned_for(pass, copy))
		return false;
	struct dnsoperator_state *s = pass->c->state;
	struct dnsoperator_observed g = dnsoperator_observed_of(copy, s->observed);
	uint64_t now = clock_wall_ns();
	bool changed =
		dnsoperator_status_set(copy, &pass->plan, &pass->facts, pass->cluster_ip, &g, now);
	return dnsoperator_report_set(pass, copy, &g, now) || changed;
}

/* Of which text and generation the conditions are now. */
static void note_told(struct dnsoperator_look *pass)
{
	struct dnsoperator_state *s = pass->c->state;
	if (pass->plan.conditions[DNSOPERATOR_APPLIED].reason == NULL)
		return;
	s->applied_told = true;
	memcpy(s->applied_hash, pass->plan.hash, sizeof(s->applied_hash));
	s->observed = api_generation(kube_tree_of(pass->dns));
}

struct edit {
	struct dnsoperator_look *l;
	json_t *before, *after;
};

static int change_status(void *ctx, json_t *copy)
{
	struct edit *e = ctx;
	json_decref(e->before);
	json_decref(e->after);
	e->before = json_deep_copy(copy);
	bool changed = set_status(e->l, copy);
	e->after = json_incref(copy);
	return changed;
}

static void tell_status(const struct edit *edit)
{
	const struct dnsoperator_look *l = edit->l;
	struct dnsoperator_state *s = l->c->state;
	struct dnsoperator_news news[DNSOPERATOR_NEWS_MAX];
	size_t n = dnsoperator_news_of(edit->before, edit->after, news);
	for (size_t i = 0; i < n; i++)
		dnsoperator_tell(l, news[i].warning, news[i].reason, "Report", news[i].message);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	dnsoperator_problems_text(&l->plan.servers, &text);
	uint64_t hash = hash_bytes(hash_process_key(), text.s, text.n);
	if (l->plan.servers.n != 0 && hash != s->servers_told)
		dnsoperator_tell(l, true, "InvalidServers", "Validate", text.s);
	s->servers_told = l->plan.servers.n != 0 ? hash : 0;
}

int dnsoperator_write_status(struct dnsoperator_look *pass)
{
	struct kube_ref ref = { .kind = api_kind_find("operator.openshift.io", "DNS"),
				.name = "default" };
	struct kube_status st = { 0 };
	struct edit e = { .l = pass };
	json_t *copy = json_deep_copy(kube_tree_of(pass->dns));
	bool changed = set_status(pass, copy);
	int r = 0, told = dnsoperator_report_publish(pass, copy);
	json_decref(copy);
	if (!changed) {
		note_told(pass);
		return told;
	}
	r = kube_edit(pass->c->conn, &ref, "status", change_status, &e, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	else if (r < 0)
		r = dnsoperator_failed(pass->c, r, "status", &st);
	else
		tell_status(&e);
	if (r >= 0 && e.after != NULL && is_planned_for(pass, e.after))
		note_told(pass);
	kube_status_done(&st);
	json_decref(e.before);
	json_decref(e.after);
	return r < 0 ? r : told;
}

/* dnsoperator: keeps servers' configuration and the status of `DNS default` as the object asks.
 * What that is, is worked out by plan.h; here it is read and written. Order of the writes: what to
 * fall back to, the text, the status; killed between any two it arrives at the same state.
 *
 * Who does what, in the order of a look (look.c has what all of them need):
 *   watches.c         what is watched, and which objects ask for a look
 *   renew.c           the object itself, read while its CRD is new
 *   place.c           does the original operator run? is this MicroShift?
 *   learn.c           the facts, from the watches (facts.c), and the ConfigMaps that are there
 *                     (maps.c: the watch's copy, unless it is behind our own writes)
 *   cabundle_sync.c   copies of the upstreams' CA bundles (cabundle.c)
 *   plan.c            what to run and what to say, pure: the object (model.c) is checked
 *                     (routes.c, templates.c, zones.c; problem.c, advice.c), made a Corefile
 *                     (render.c) and conditions (conditions.c)
 *   objects.c         the ConfigMaps and the status as trees, which are written here
 *   operands_apply.c  applies what runs DNS, where it is not as it was applied (drift.c); made by
 *                     operands.c of deploy/operands (fill.c, placement.c, tlsprofile.c)
 *   restore.c         puts templates back that a CRD without the field dropped (stored.c)
 *   pace.c            which writes can wait
 *   status.c          writes the conditions, and tells what is new in them (news.c)
 *   report.c          tells how DNS is: the operator's conditions (health.c) of what runs
 *                     (workload.c), the ClusterOperator (clusteroperator.c), metrics (gauges.c)
 * Beside it:
 *   ask.c             another worker asks servers what they run (roll.c), over DNS (ack.c) or
 *                     through the API server (proxy.c)
 *   absent.c          a look while there is no DNS object
 *   finalizer.c       OpenShift's finalizer; a look while the DNS object is being deleted
 *   ignored.c         DNS objects of other names
 *   hooks.c           the same plan, asked by the API server before an object is stored */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/dnsoperator/cabundle.h"
#include "controller/dnsoperator/gauges.h"
#include "controller/dnsoperator/hooks.h"
#include "controller/dnsoperator/look_priv.h"
#include "controller/dnsoperator/objects.h"
#include "controller/dnsoperator/report_priv.h"
#include "kube/decode/tree.h"

/* ---- what is done ---- */

/* Takes `wanted` over. 1 when it was written. */
static int write_object(struct dnsoperator_look *pass, const json_t *now, json_t *wanted)
{
	struct dnsoperator_state *s = pass->c->state;
	bool right = now != NULL && dnsoperator_object_has(now, wanted);
	int r = right ? 0 : dnsoperator_maps_apply(s->maps, pass->c, wanted, NULL);
	pass->restored = now != NULL && !right;
	pass->text_contested = dnsoperator_maps_contested(s->maps, pass->c, wanted, right);
	if (pass->text_contested)
		snprintf(pass->contested, sizeof(pass->contested),
			 "Another writer keeps changing the ConfigMap %s/%s; it is restored once a "
			 "minute. Its metadata.managedFields name the writer.",
			 api_namespace(wanted), api_name(wanted));
	json_decref(wanted);
	return r;
}

/* An Event when it begins; the conditions report it until it ends. */
static void note_contested(struct dnsoperator_look *pass)
{
	struct dnsoperator_state *s = pass->c->state;
	if (pass->contested[0] != '\0' && s->contested[0] == '\0')
		dnsoperator_tell(pass, true, "ConfigMapContested", "Write", pass->contested);
	memcpy(s->contested, pass->contested, sizeof(s->contested));
}

/* In a cluster the namespace is there, with the servers; on one machine it is ours to make. */
static int make_namespace(struct dnsoperator_look *pass)
{
	const struct dnsoperator_site *site = &dnsoperator_sites[pass->facts.platform];
	struct kube_ref ref = { .kind = api_kind_find("", "Namespace"), .name = site->ns };
	struct kube_status st = { 0 };
	if (dnsoperator_machine_of(pass->c) == NULL || pass->text != NULL)
		return 0;
	json_t *o = json_pack("{ss,ss,s{ss}}", "apiVersion", "v1", "kind", "Namespace", "metadata",
			      "name", site->ns);
	int r = kube_apply(pass->c->conn, &ref, NULL, DNSOPERATOR_MANAGER, o, NULL, &st);
	if (r < 0)
		r = dnsoperator_failed(pass->c, r, "namespace", &st);
	kube_status_done(&st);
	json_decref(o);
	return r;
}

/* What is accepted, and the list that the object has stored. */
static int save_accepted(struct dnsoperator_look *pass)
{
	json_t *wanted = dnsoperator_accepted_object(&pass->plan, &pass->facts);
	bool same = pass->accepted != NULL && dnsoperator_object_has(pass->accepted, wanted);
	int r = write_object(pass, pass->accepted, wanted);
	pass->accepted_saved = same || r > 0;
	return r < 0 ? r : 0;
}

/* Where no text is to be written nothing is accepted, but the stored list is kept all the same. */
static int save_stored(struct dnsoperator_look *pass)
{
	json_t *last = dnsoperator_accepted_read(pass->accepted);
	bool same = json_equal(json_object_get(last, "stored"),
			       json_object_get(pass->plan.accepted, "stored")) ||
		    (json_object_get(last, "stored") == NULL &&
		     json_object_get(pass->plan.accepted, "stored") == NULL);
	json_decref(last);
	pass->accepted_saved = same;
	int r = same ? 0 : save_accepted(pass);
	return r == ERR_NOTFOUND ? 0 : r; /* the namespace is not ours to make */
}

/* Another text than before is ours; the same one was replaced by another writer's. */
static void note_text(struct dnsoperator_look *pass)
{
	struct dnsoperator_state *s = pass->c->state;
	uint64_t hash = hash_bytes(hash_process_key(), pass->plan.text.s, pass->plan.text.n);
	pass->restored = pass->restored && hash == s->text_hash;
	s->text_hash = hash;
}

static int write_configmaps(struct dnsoperator_look *pass)
{
	const json_t *dns = kube_tree_of(pass->dns);
	int r = make_namespace(pass);
	if (r >= 0)
		r = save_accepted(pass);
	if (r < 0)
		return r;
	r = write_object(pass, pass->text,
			 dnsoperator_text_object(&pass->plan, &pass->facts, dns, pass->text));
	if (r >= 0)
		note_text(pass);
	if (r > 0) {
		const struct dnsoperator_site *site = &dnsoperator_sites[pass->facts.platform];
		bool guess =
			pass->facts.platform == DNSOPERATOR_KUBERNETES && pass->domain[0] == '\0';
		char text[400];
		snprintf(text, sizeof(text), "wrote the Corefile of generation %lld to %s/%s%s",
			 (long long)api_generation(dns), site->ns, site->configmap,
			 guess ? "; no Corefile names the cluster's domain, so it is taken for "
				 "cluster.local (--dns-cluster-domain names another)"
			       : "");
		dnsoperator_tell(pass, false, "CorefileWritten", "Write", text);
		if (pass->plan.advice.n != 0)
			dnsoperator_tell(pass, true, "UpstreamsDoubtful", "Validate",
					 pass->plan.advice.s);
	}
	if (r >= 0 && dnsoperator_machine_of(pass->c) != NULL)
		dnsoperator_machine_of(pass->c)->publish(dnsoperator_machine_of(pass->c)->ctx,
							 pass->plan.text.s);
	return r;
}

static int write_backup(struct dnsoperator_look *pass)
{
	struct kube_ref ref = { .kind = api_kind_find("operator.openshift.io", "DNS"),
				.name = DNS_NAME };
	struct kube_status st = { 0 };
	struct dnsoperator_state *s = pass->c->state;
	json_t *now = NULL;
	json_t *patch =
		dnsoperator_backup_patch(kube_tree_of(pass->dns), &pass->plan, &pass->facts);
	if (patch == NULL ||
	    (s->backup.known && !dnsoperator_seen_trusts(&s->backup, pass->dns->rv))) {
		json_decref(patch);
		return 0;
	}
	uint64_t wait = dnsoperator_pace_backup(&s->pace, clock_mono_ns());
	int r = wait == 0 ? kube_merge(pass->c->conn, &ref, NULL, patch, &now, &st) : 0;
	if (wait != 0)
		dnsoperator_again(pass->c, wait);
	else if (r == ERR_NOTFOUND)
		r = 0;
	else if (r < 0)
		r = dnsoperator_failed(pass->c, r, "backup of the templates", &st);
	else
		dnsoperator_seen_note(&s->backup, api_resource_version(now), NULL);
	kube_status_done(&st);
	json_decref(patch);
	json_decref(now);
	return r;
}

/* What the plan says of servers is of what they answered before; they are asked by another worker,
 * since that takes time when they are silent. */
static void make_plan(struct dnsoperator_look *pass)
{
	struct dnsoperator_state *s = pass->c->state;
	json_t *accepted = dnsoperator_accepted_read(pass->accepted);
	arena_init(&pass->arena);
	pass->instances = dnsoperator_asker_view(s->asker, &pass->arena);
	const json_t *dns = kube_tree_of(pass->dns);
	struct dnsoperator_in in = { .dns = dns,
				     .facts = &pass->facts,
				     .accepted = accepted,
				     .instances = pass->instances };
	in.told.generation = json_integer_value(api_get(dns, "status.observedGeneration"));
	in.told.hash = s->applied_told ? s->applied_hash : NULL;
	in.told.text = dnsoperator_data(pass->text, "Corefile");
	dnsoperator_plan_make(&in, &pass->plan);
	json_decref(accepted);
}

static void want(const struct dnsoperator_look *pass, const char *hash, uint64_t age_ns)
{
	const struct controller_ctx *c = pass->c;
	struct dnsoperator_state *s = c->state;
	bool ask = dnsoperator_asker_want(s->asker, dnsoperator_options(c), &pass->facts, hash,
					  age_ns);
	/* servers that had the text may have lost it to another writer's, which may have templates
	 * where this one has none */
	if (!ask && pass->restored && hash != NULL)
		ask = dnsoperator_asker_doubt(s->asker);
	if (ask)
		c->emit(c->emit_arg, SERVERS);
}

/* How long servers could read the text that is there. That of this machine began with us. */
static uint64_t text_age(const struct dnsoperator_look *pass)
{
	uint64_t at = dnsoperator_text_time(pass->text), now = clock_wall_ns();
	return dnsoperator_machine_of(pass->c) != NULL || at == 0 || at > now ? 0 : now - at;
}

/* A text that was just written is not told of before servers had the time to run it; one write of
 * the status less for each change, and the next text need not wait for it. */
static bool status_waits(struct dnsoperator_look *pass, bool wrote)
{
	struct dnsoperator_state *s = pass->c->state;
	const char *reason = pass->plan.conditions[DNSOPERATOR_APPLIED].reason;
	bool settled = reason != NULL && strcmp(reason, "Updating") != 0;
	uint64_t now = clock_mono_ns();
	if (wrote)
		dnsoperator_pace_wrote(&s->pace, now);
	uint64_t wait = dnsoperator_pace_tell(&s->pace, settled, now);
	if (wait != 0)
		dnsoperator_again(pass->c, wait);
	return wait != 0;
}

/* Of the controllers' process. That of `fairlead up` is also the DNS server's, which has the plugin
 * debug for it. */
static void heed_log_level(const struct dnsoperator_look *pass)
{
	if (dnsoperator_machine_of(pass->c) == NULL)
		log_set_debug(pass->plan.verbose);
}

/* What there is. 1: it is not ours to act on. */
static int look_around(struct dnsoperator_look *pass)
{
	int r = dnsoperator_look_beside(pass);
	if (r > 0) {
		want(pass, NULL, 0); /* what servers run is not ours to tell, either */
		r = dnsoperator_report_publish(pass, NULL);
		return r < 0 ? r : 1;
	}
	if (r == 0)
		r = dnsoperator_find_microshift(pass);
	if (r == 0)
		r = dnsoperator_learn(pass);
	return r < 0 ? r : dnsoperator_read_configmaps(pass);
}

/* A text that cannot be written is told by a condition when that lasts. */
static void note_written(struct dnsoperator_look *pass, int ret)
{
	struct dnsoperator_state *s = pass->c->state;
	const char *id = strstr(pass->c->err, " (audit id");
	if (ret >= 0) {
		s->unwritten_ns = 0;
	} else if (s->unwritten_ns == 0) {
		s->unwritten_ns = clock_mono_ns();
		snprintf(s->unwritten, sizeof(s->unwritten), "%.*s",
			 id != NULL ? (int)(id - pass->c->err) : (int)strlen(pass->c->err),
			 pass->c->err);
	}
}

/* What keeps the text from servers, into the conditions. */
static void report_blocked(struct dnsoperator_look *pass, int ret)
{
	struct dnsoperator_state *s = pass->c->state;
	char why[500];
	if (ret < 0)
		snprintf(why, sizeof(why),
			 "The Corefile of generation %lld cannot be written, so servers do not get "
			 "it: %s.",
			 (long long)api_generation(kube_tree_of(pass->dns)), s->unwritten);
	if (pass->text_contested)
		dnsoperator_plan_blocked(&pass->plan, true, pass->contested);
	else if (ret < 0)
		dnsoperator_plan_blocked(&pass->plan, false, why);
}

/* The text, and what servers need beside it. 1 when there is a new text. */
static int carry_out(struct dnsoperator_look *pass, int copied)
{
	int r = pass->plan.write ? write_configmaps(pass) : save_stored(pass), applied = 0;
	note_written(pass, r);
	note_contested(pass);
	if (r >= 0)
		want(pass, pass->plan.write ? pass->plan.hash : NULL, r > 0 ? 0 : text_age(pass));
	report_blocked(pass, r);
	if (!pass->plan.write)
		return r;
	if (r >= 0 && copied >= 0)
		copied = dnsoperator_ca_prune(pass);
	/* where nothing was yet there is no namespace for the text, either */
	if ((r >= 0 || r == ERR_NOTFOUND) && dnsoperator_may_write_dns(pass))
		applied = dnsoperator_finalizer_ensure(pass);
	if (applied == 0 && (r >= 0 || r == ERR_NOTFOUND))
		applied = dnsoperator_operands_apply(pass);
	if (applied < 0 || copied < 0)
		return r < 0 ? r : applied < 0 ? applied : copied;
	return r;
}

/* What was refused is told even where nothing could be written. */
static int tell_of_it(struct dnsoperator_look *pass, bool wrote)
{
	int known = dnsoperator_report_read(pass), told = 0;
	kube_conn_set_patient(pass->c->conn, true);
	bool may_write = dnsoperator_may_write_dns(pass);
	if (may_write && !status_waits(pass, wrote))
		told = dnsoperator_write_status(pass);
	if (may_write && told >= 0)
		told = write_backup(pass);
	kube_conn_set_patient(pass->c->conn, false);
	dnsoperator_report_done(pass);
	return told < 0 ? told : known;
}

static int act(struct dnsoperator_look *pass)
{
	struct dnsoperator_state *s = pass->c->state;
	int r = look_around(pass);
	if (r != 0)
		return r;
	int copied = dnsoperator_ca_sync(pass);
	make_plan(pass);
	heed_log_level(pass);
	dnsoperator_asker_text(s->asker, dnsoperator_options(pass->c),
			       strbuf_slice(&pass->plan.text), pass->plan.hash);
	r = carry_out(pass, copied);
	if (r >= 0) {
		int restored = dnsoperator_restore_templates(pass);
		r = restored < 0 ? restored : r;
	}
	int told = tell_of_it(pass, r > 0);
	log_debug(AREA,
		  "generation %lld on %s: %zu bytes of text, %s; refused: %zu in templates, %zu in "
		  "servers",
		  (long long)api_generation(kube_tree_of(pass->dns)),
		  dnsoperator_sites[pass->facts.platform].name, pass->plan.text.n,
		  r < 0	  ? "not all written"
		  : r > 0 ? "written"
			  : "as it was",
		  pass->plan.templates.n, pass->plan.servers.n);
	dnsoperator_plan_done(&pass->plan);
	arena_done(&pass->arena);
	return r < 0 ? r : told;
}

static void emit_dns(const struct controller_ctx *ctx)
{
	ctx->emit(ctx->emit_arg, DNS_NAME);
}

static int ask_servers(struct controller_ctx *ctx)
{
	struct dnsoperator_state *s = ctx->state;
	int p = atomic_load(&s->platform);
	if (p < 0)
		return 0; /* the first look has them asked */
	json_t *pods = dnsoperator_pods_of(ctx, (enum dnsoperator_platform)p);
	dnsoperator_ask(s->asker, ctx, (enum dnsoperator_platform)p, pods, emit_dns);
	json_decref(pods);
	return 0;
}

static int look(struct dnsoperator_look *pass)
{
	struct dnsoperator_state *s = pass->c->state;
	const struct controller_machine *machine = dnsoperator_machine_of(pass->c);
	if (pass->dns != NULL) {
		s->had_dns = true;
		s->absent_ns = 0;
		int r = dnsoperator_renew(pass);
		if (r < 0)
			return r;
		if (!api_is_deleting(kube_tree_of(pass->dns)))
			return act(pass);
	}
	want(pass, NULL, 0);
	if (machine != NULL)
		machine->publish(machine->ctx, NULL);
	return pass->dns == NULL ? dnsoperator_absent(pass) : dnsoperator_terminate(pass);
}

static int reconcile(struct controller_ctx *ctx, const char *key)
{
	struct dnsoperator_look l = { .c = ctx };
	if (strcmp(key, SERVERS) == 0)
		return ask_servers(ctx);
	if (strcmp(key, DNS_NAME) != 0) {
		dnsoperator_ignore(ctx, key);
		return 0;
	}
	l.dns = kube_store_get(ctx->stores[DNS], SLICE(""), SLICE(DNS_NAME));
	int r = look(&l);
	kube_obj_unref(l.dns);
	dnsoperator_ca_done(&l);
	json_decref(l.text);
	json_decref(l.accepted);
	return r < 0 ? r : 0;
}

static int start(void **ret, char *err, size_t err_n)
{
	(void)err;
	(void)err_n;
	struct dnsoperator_state *s = xcalloc(1, sizeof(*s));
	atomic_init(&s->platform, -1);
	s->asker = dnsoperator_asker_new();
	s->maps = dnsoperator_maps_new();
	dnsoperator_place_start(s);
	s->operands = dnsoperator_operands_state_new();
	s->gauges = dnsoperator_gauges_new();
	dnsoperator_ignored_init(&s->ignored);
	*ret = s;
	return 0;
}

static void stop(void *state)
{
	struct dnsoperator_state *s = state;
	dnsoperator_asker_free(s->asker);
	dnsoperator_maps_free(s->maps);
	dnsoperator_operands_state_free(s->operands);
	dnsoperator_gauges_free(s->gauges);
	dnsoperator_ignored_done(&s->ignored);
	free(s);
}

const struct controller dnsoperator_controller = {
	.name = "dnsoperator",
	.help = "makes servers' configuration of the object DNS default",
	.watch = dnsoperator_watches,
	.n_watch = WATCHES,
	.workers = 2, /* one of them may wait for servers */
	.reconcile = reconcile,
	.start = start,
	.stop = stop,
	.note = dnsoperator_note,
	.hooks = dnsoperator_hooks,
	.n_hooks = DNSOPERATOR_HOOKS,
};

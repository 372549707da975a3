/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The agent's loop. Watches mark what has changed; the loop's thread alone speaks to the kernel. Until all
 * that the policy is made from is known, the table stays as it is: rules of before a restart hold. */
#include "node/agent.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "addrset/nftables/apply.h"
#include "addrset/nftables/denied_log.h"
#include "addrset/nftables/foreign_changes.h"
#include "addrset/nftables/link.h"
#include "addrset/nftables/pairs.h"
#include "addrset/nftables/plan.h"
#include "addrset/nftables/revoke.h"
#include "addrset/nftables/snapshot.h"
#include "api/egress/node_report.h"
#include "api/egress/rules.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "base/strbuf.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"
#include "net/loop.h"
#include "node/claim.h"
#include "node/data_path.h"
#include "node/denied.h"
#include "node/door.h"
#include "node/machine.h"
#include "node/names.h"
#include "node/policy.h"
#include "node/refused.h"
#include "node/report_writer.h"
#include "node/reported.h"
#include "node/tls_door.h"
#include "node/watches.h"

#define AREA	    "node"
#define CONTROLLER  "fairlead.dev/node"
#define GATHER_NS   (5 * NS_PER_MS) /* changes that come together are applied together */
#define RETRY_NS    NS_PER_S
#define REPORTED_NS (120 * NS_PER_S) /* an address that is listed no longer goes after this */
#define RENEW_NS    (40 * NS_PER_S)
#define RECONCILE_NS \
	(10 * NS_PER_S) /* the table is compared even if nothing is known to have changed */
#define MACHINE_CHECK_NS (NS_PER_S / 2)	  /* on one machine: for new cgroups and addresses */
#define MEND_NS		 (50 * NS_PER_MS) /* after a change by somebody else */
#define MEND_GAP_NS	 NS_PER_S	  /* between two of them */
#define REVIEW_SHARE \
	20 /* reviews of connections for new addresses take one part of so many of the time */

static struct log_limit leave_log = { .interval_ns = 60 * NS_PER_S };

typedef VEC(const json_t *) tree_list;

struct gathering {
	tree_list trees;
	VEC(struct kube_obj *) held;
};

/* What the table was made from last: samples of denied packets are explained by it. */
struct applied {
	struct gathering gathered[NODE_WATCH_COUNT]; /* holds the texts */
	struct arena arena;			     /* and all else */
	struct nftables_policy policy;
	struct node_problems problems;
};

struct node_agent {
	struct node_agent_conf conf;
	int claim; /* descriptor; -1: none */
	struct loop *loop;
	struct nftables_link *link;
	struct nftables_pairs *pairs;
	struct nftables_foreign_changes *foreign;
	struct nftables_denied_log *denied_log; /* both NULL: no samples */
	struct node_denied *denied;
	struct events *events;
	struct node_refused *refused;
	struct applied *applied; /* NULL: nothing yet */
	struct node_door *local_door;
	struct node_tls_door *tls_door; /* NULL: servers of other nodes do not ask */
	struct node_watches *watches;
	struct node_policy *policy;
	struct node_names *names;     /* that rules use */
	struct node_machine *machine; /* NULL: a node of a cluster */
	struct node_report_writer *report_writer;
	const char *bypass; /* what takes packets past the rules; NULL: nothing */
	struct loop_timer apply_timer;
	struct loop_timer renew_timer;	 /* of reported addresses */
	struct loop_timer leave_timer;	 /* of names without rules */
	struct loop_timer machine_timer; /* on one machine */
	struct loop_timer review_timer;	 /* of connections to addresses that are denied now */
	uint64_t review_after_ns;	 /* not before */
	uint64_t removal_ns;		 /* when the removal of addresses began; 0: there is none */
	size_t n_removed;		 /* addresses that servers may still know */
	bool has_plan;			 /* was brought into the kernel */
	uint64_t plan_hash;		 /* the last one that was */
	bool is_applied;		 /* the table was as it should be, once */
	bool is_due;			 /* objects have changed since */
	bool has_marks;	    /* a DNSName that is to leave has changed since the report */
	bool is_foreign;    /* somebody else wrote to the table since */
	bool must_review;   /* open connections, by rules that have changed */
	uint64_t mended_ns; /* when that was handled last */
	bool is_failing;    /* reported */

	_Atomic bool is_posted;
	struct loop_msg change; /* posted while is_posted */
	_Atomic bool policy_changed;
	pthread_mutex_t lock;
	struct map changed_names; /* DNSName objects; guarded by lock */
};

/* ---- policy ---- */

static bool gather_object(void *ctx, struct kube_obj *object)
{
	struct gathering *gathering = ctx;
	vec_push(&gathering->held, kube_obj_ref(object));
	vec_push(&gathering->trees, kube_tree_of(object));
	return true;
}

static struct node_objects gather(const struct node_agent *agent, enum node_watch watch,
				  struct gathering *gathering)
{
	kube_store_each(node_watches_store(agent->watches, watch), gather_object, gathering);
	return (struct node_objects){ gathering->trees.v, gathering->trees.n };
}

static void gathering_done(struct gathering *gathering)
{
	for (size_t i = 0; i < gathering->held.n; i++)
		kube_obj_unref(gathering->held.v[i]);
	vec_done(&gathering->held);
	vec_done(&gathering->trees);
}

/* Addresses that somebody else removed come again, those that somebody else added go. What servers know from
 * this agent was not in force for a moment, or is not any more: they have to ask again. */
static int mend_table(struct node_agent *agent, const struct nftables_changes *changes,
		      bool is_changed, struct err_text err)
{
	size_t mended = 0;
	agent->mended_ns = clock_mono_ns();
	int r = nftables_pairs_mend(agent->pairs, &mended, err);
	if (r == 0 && !is_changed && mended == 0)
		return 0;
	log_warn(AREA,
		 "somebody else has changed the node's table; it was mended: %zu rules, %zu "
		 "addresses",
		 changes->rules_added + changes->rules_removed, mended);
	node_door_end_connections(agent->local_door);
	node_tls_door_end_connections(agent->tls_door);
	return r;
}

/* Open connections under the rules and addresses of now. */
static int review_connections(struct node_agent *agent, const struct nftables_policy *policy,
			      size_t *ret_cleared, struct err_text err)
{
	uint64_t begin_ns = clock_mono_ns();
	int r = nftables_revoke(policy, nftables_pairs_set(agent->pairs), ret_cleared, err);
	uint64_t end_ns = clock_mono_ns();
	agent->review_after_ns = end_ns + REVIEW_SHARE * (end_ns - begin_ns);
	if (r == 0)
		agent->must_review = false;
	return r; /* negative: the next pass reviews connections although it finds nothing to change */
}

static int apply_policy(struct node_agent *agent, const struct nftables_policy *policy,
			struct err_text err)
{
	struct nftables_plan plan;
	struct nftables_changes changes = { 0 };
	size_t cleared = 0;
	nftables_plan_init(&plan, policy);
	int r = nftables_apply(agent->link, &plan, &changes, err);
	uint64_t hash = nftables_plan_hash(&plan);
	nftables_plan_done(&plan);
	/* Otherwise the change is the agent's own, also one that nobody announced: a user of this machine was made. */
	bool is_changed = agent->has_plan && hash == agent->plan_hash && changes.messages != 0;
	if (r == 0) {
		agent->has_plan = true;
		agent->plan_hash = hash;
	}
	if (r == 0 && (is_changed || agent->is_foreign))
		r = mend_table(agent, &changes, is_changed, err);
	if (r < 0)
		return r; /* all of it is tried again */
	agent->is_due = agent->is_foreign = false;
	agent->must_review |= changes.messages != 0;
	if (!agent->must_review)
		return 0;
	r = review_connections(agent, policy, &cleared, err);
	if (r < 0)
		return r;
	if (changes.messages == 0 && cleared == 0)
		return 0;
	log_info(AREA, "table: %zu rules added, %zu removed, %zu connections meet the rules again",
		 changes.rules_added, changes.rules_removed, cleared);
	return 0;
}

static void applied_free(struct applied *applied)
{
	if (applied == NULL)
		return;
	arena_done(&applied->arena);
	for (size_t i = 0; i < ARRAY_LEN(applied->gathered); i++)
		gathering_done(&applied->gathered[i]);
	free(applied);
}

static int build_and_apply(struct node_agent *agent, struct err_text err)
{
	struct applied *applied = xcalloc(1, sizeof(*applied));
	struct gathering *gathered = applied->gathered;
	arena_init(&applied->arena);
	struct node_policy_input input = {
		.pods = gather(agent, NODE_WATCH_PODS, &gathered[NODE_WATCH_PODS]),
		.firewalls = gather(agent, NODE_WATCH_FIREWALLS, &gathered[NODE_WATCH_FIREWALLS]),
		.nodes = gather(agent, NODE_WATCH_NODES, &gathered[NODE_WATCH_NODES]),
		.api_slices = gather(agent, NODE_WATCH_API, &gathered[NODE_WATCH_API]),
		.node_name = agent->conf.node_name,
		.pod_ranges = agent->conf.pod_ranges,
		.n_pod_ranges = agent->conf.n_pod_ranges,
		.always_open = agent->conf.always_open,
		.n_always_open = agent->conf.n_always_open,
		.log_group = agent->conf.log_group,
	};
	node_policy_build(agent->policy, &input, &applied->arena, &applied->policy);
	if (agent->machine != NULL) {
		struct node_objects namespaces =
			gather(agent, NODE_WATCH_NAMESPACES, &gathered[NODE_WATCH_NAMESPACES]);
		node_machine_add(agent->machine, namespaces, &applied->arena, &applied->policy,
				 &applied->problems);
	}
	/* The one before pointed at rules that the policy has forgotten by now. */
	applied_free(agent->applied);
	agent->applied = applied;
	nftables_pairs_set_policy(agent->pairs, &applied->policy);
	return apply_policy(agent, &applied->policy, err);
}

/* ---- samples of denied packets ---- */

static void note_denied(void *ctx, const struct nftables_connection *sample)
{
	struct node_agent *agent = ctx;
	const char *ns = NULL;
	const struct nftables_rule *rule =
		agent->applied == NULL
			? NULL
			: nftables_find_denial(&agent->applied->policy,
					       nftables_pairs_set(agent->pairs), sample, &ns);
	if (rule == NULL)
		return; /* a pod that is not known yet, or rules that have changed */
	struct kube_obj *firewall =
		kube_store_get(node_watches_store(agent->watches, NODE_WATCH_FIREWALLS),
			       slice_of(ns), SLICE(EGRESS_FIREWALL_NAME));
	if (firewall != NULL)
		node_denied_note(agent->denied, kube_tree_of(firewall), rule->text, sample);
	kube_obj_unref(firewall);
}

static int start_samples(struct node_agent *agent, struct err_text err)
{
	if (agent->conf.log_group == 0)
		return 0;
	agent->denied = node_denied_new(agent->events);
	return nftables_denied_log_open(agent->loop, agent->conf.log_group, note_denied, agent,
					&agent->denied_log, err);
}

/* ---- addresses of denied names ---- */

/* An address came to a name that a rule denies. Rules that are about to change review connections anyway. */
static void on_review_time(struct loop_timer *timer)
{
	struct node_agent *agent = CONTAINER_OF(timer, struct node_agent, review_timer);
	size_t cleared = 0;
	if (!agent->must_review || agent->is_due || agent->applied == NULL)
		return;
	if (review_connections(agent, &agent->applied->policy, &cleared, (struct err_text){ 0 }) <
	    0)
		loop_timer_set(agent->loop, &agent->apply_timer, clock_mono_ns() + RETRY_NS);
	else if (cleared != 0)
		log_info(AREA,
			 "an address is denied by its name: %zu open connections re-evaluated",
			 cleared);
}

/* A review reads all connections: a tenant that makes new names below a denied wildcard must not keep the agent busy. */
static void note_denied_address(void *ctx)
{
	struct node_agent *agent = ctx;
	agent->must_review = true;
	loop_timer_set(agent->loop, &agent->review_timer,
		       MAX(clock_mono_ns(), agent->review_after_ns));
}

/* ---- addresses that limits keep out ---- */

/* The text of the first rule of the namespace that uses the name; NULL: none does. */
static const char *find_rule_text(const struct applied *applied, struct slice ns,
				  const struct addrset_id *name)
{
	for (size_t i = 0; applied != NULL && i < applied->policy.n_namespaces; i++) {
		const struct nftables_namespace *one = &applied->policy.namespaces[i];
		for (size_t k = 0; slice_eq(ns, slice_of(one->name)) && k < one->n_rules; k++) {
			const struct nftables_rule *rule = &one->rules[k];
			if (rule->n_targets == 1 && rule->targets[0].is_name &&
			    memcmp(&rule->targets[0].name, name, sizeof(*name)) == 0)
				return rule->text;
		}
	}
	return NULL;
}

static void note_refused(void *ctx, enum nftables_limit limit, struct slice tenant,
			 const struct addrset_id *name)
{
	struct node_agent *agent = ctx;
	if (!node_refused_count(agent->refused, limit, tenant))
		return;
	struct kube_obj *firewall =
		kube_store_get(node_watches_store(agent->watches, NODE_WATCH_FIREWALLS), tenant,
			       SLICE(EGRESS_FIREWALL_NAME));
	node_refused_report(agent->refused,
			    &(struct node_refusal){
				    .limit = limit,
				    .tenant = tenant,
				    .firewall = firewall != NULL ? kube_tree_of(firewall) : NULL,
				    .rule_text = find_rule_text(agent->applied, tenant, name) });
	kube_obj_unref(firewall);
}

static int start_events(struct node_agent *agent, struct err_text err)
{
	struct events_conf conf = { .client = agent->conf.client,
				    .controller = CONTROLLER,
				    .instance = agent->conf.node_name };
	int r = events_start(&conf, &agent->events, err);
	if (r < 0)
		return r;
	agent->refused = node_refused_new(agent->events, agent->conf.node_name);
	nftables_pairs_on_refused(agent->pairs, note_refused, agent);
	nftables_pairs_on_denied(agent->pairs, note_denied_address, agent);
	return start_samples(agent, err);
}

/* ---- in force ---- */

static void list_released(struct node_agent *agent, struct strbuf *out)
{
	struct gathering gathered = { 0 };
	struct node_objects dnsnames = gather(agent, NODE_WATCH_NAMES, &gathered);
	node_names_list_released(agent->names, &dnsnames, out);
	gathering_done(&gathered);
	agent->has_marks = false;
}

/* After the table is in force. */
static void report_in_force(struct node_agent *agent)
{
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT, problem_lines = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf released = STRBUF_INIT;
	struct node_problems problems = agent->applied->problems;
	const char *bypass = agent->conf.trusts_data_path ? NULL : node_data_path_bypass();
	if (bypass != NULL && bypass != agent->bypass)
		log_error(AREA, "nothing is enforced on this node: %s", bypass);
	agent->bypass = bypass;
	strbuf_adds(&lines, "");
	strbuf_adds(&problem_lines, "");
	strbuf_adds(&released, "");
	node_policy_list_in_force(agent->policy, problems, &lines);
	for (size_t i = 0; i < problems.n; i++)
		IGNORE(egress_report_add_problem(&problem_lines, problems.v[i].ns,
						 problems.v[i].reason, problems.v[i].message));
	list_released(agent, &released);
	struct node_report report = { .firewalls = strbuf_slice(&lines),
				      .problems = strbuf_slice(&problem_lines),
				      .released = strbuf_slice(&released),
				      .bypass = bypass };
	if (agent->machine != NULL)
		report.clients = node_machine_clients(agent->machine);
	node_report_writer_set(agent->report_writer, &report);
}

/* ---- reported addresses ---- */

struct report {
	struct addrset_request request;
	node_pairs pairs;
};

static void on_report_done(struct addrset_request *request, int result)
{
	struct report *report = CONTAINER_OF(request, struct report, request);
	if (result < 0 && result != ERR_CLOSED)
		log_warn(AREA, "cannot add reported addresses: %s", err_str(result));
	vec_done(&report->pairs);
	free(report);
}

/* No rule uses them any more: the object stays until all nodes have let them go. */
static void drop_left(struct node_agent *agent, node_pairs *pairs)
{
	uint64_t now_ns = clock_mono_ns();
	size_t n = 0;
	for (size_t i = 0; i < pairs->n; i++) {
		if (!node_names_has_left(agent->names, &pairs->v[i].name, now_ns))
			pairs->v[n++] = pairs->v[i];
	}
	pairs->n = n;
}

static void add_reported(struct node_agent *agent, struct slice name)
{
	struct kube_obj *object =
		kube_store_get(node_watches_store(agent->watches, NODE_WATCH_NAMES),
			       slice_of(agent->conf.names_ns), name);
	if (object == NULL)
		return; /* what it reported ends soon */
	struct report *report = xcalloc(1, sizeof(*report));
	/* Before they are added, so that none is added unnoticed. */
	agent->has_marks |=
		node_names_note_mark(agent->names, kube_tree_of(object), clock_mono_ns());
	node_reported_pairs(kube_tree_of(object), clock_mono_ns() + REPORTED_NS, &report->pairs);
	kube_obj_unref(object);
	drop_left(agent, &report->pairs);
	report->request = (struct addrset_request){ .pairs = report->pairs.v,
						    .n_pairs = report->pairs.n,
						    .done = on_report_done };
	addrset_add(nftables_pairs_set(agent->pairs), &report->request);
}

static void add_all_reported(struct node_agent *agent)
{
	const struct map_entry *entry;
	struct map names;
	size_t pos = 0;
	pthread_mutex_lock(&agent->lock);
	names = agent->changed_names;
	map_init(&agent->changed_names);
	pthread_mutex_unlock(&agent->lock);
	while ((entry = map_next(&names, &pos)) != NULL)
		add_reported(agent, (struct slice){ entry->key, entry->key_n });
	map_done(&names);
}

static bool mark_name(void *ctx, struct kube_obj *object)
{
	map_set(ctx, slice_of(object->name), ctx);
	return true;
}

static void renew_reported(struct node_agent *agent)
{
	pthread_mutex_lock(&agent->lock);
	kube_store_each(node_watches_store(agent->watches, NODE_WATCH_NAMES), mark_name,
			&agent->changed_names);
	pthread_mutex_unlock(&agent->lock);
	add_all_reported(agent);
}

static void set_leave_time(struct node_agent *agent)
{
	bool is_removing = agent->removal_ns != 0; /* to its end, whatever came back */
	uint64_t due_ns = is_removing ? agent->removal_ns : node_names_due(agent->names);
	if (due_ns != UINT64_MAX)
		loop_timer_set(agent->loop, &agent->leave_timer, due_ns);
}

/* Also while the API is away: its last word counts. */
static void on_renew_time(struct loop_timer *timer)
{
	struct node_agent *agent = CONTAINER_OF(timer, struct node_agent, renew_timer);
	renew_reported(agent);
	set_leave_time(agent);
	loop_timer_set(agent->loop, timer, clock_mono_ns() + RENEW_NS);
}

/* ---- names without rules ---- */

struct due_names {
	const struct node_names *names;
	uint64_t now_ns;
};

static bool is_due_name(void *ctx, const struct addrset_id *name)
{
	const struct due_names *due = ctx;
	return node_names_is_due(due->names, name, due->now_ns);
}

/* Servers that know addresses that were removed have to ask again: at the end, and before rules that may use them again. */
static void forget_removed(struct node_agent *agent)
{
	if (agent->n_removed == 0)
		return;
	log_info(AREA, "%zu addresses of names that no rule has any more were removed",
		 agent->n_removed);
	agent->n_removed = 0;
	node_door_forget(agent->local_door);
	node_tls_door_forget(agent->tls_door);
}

/* 1: more are left. */
static int remove_slice(struct node_agent *agent, struct err_text err)
{
	struct due_names due = { agent->names, agent->removal_ns };
	size_t removed = 0;
	if (agent->removal_ns == 0) {
		due.now_ns = agent->removal_ns = clock_mono_ns();
		node_names_begin_removal(agent->names, due.now_ns);
		nftables_pairs_begin_removal(agent->pairs, is_due_name, &due);
	}
	int r = nftables_pairs_remove_slice(agent->pairs, is_due_name, &due, &removed, err);
	agent->n_removed += removed;
	return r;
}

/* EF-15: after the rules, the addresses, a slice in a turn of the loop; when none is left, it is reported. */
static void on_leave_time(struct loop_timer *timer)
{
	struct node_agent *agent = CONTAINER_OF(timer, struct node_agent, leave_timer);
	char why[256];
	if (agent->is_due)
		return; /* rules that may use them again are next, and set the time anew */
	int r = remove_slice(agent, ERR_TEXT(why));
	if (r < 0)
		log_limited(&leave_log, LOG_WARNING, AREA,
			    "cannot remove addresses of names that no rule has: %s", why);
	if (r != 0) {
		loop_timer_set(agent->loop, timer, clock_mono_ns() + (r < 0 ? RETRY_NS : 0));
		return;
	}
	node_names_removed(agent->names, agent->removal_ns);
	agent->removal_ns = 0;
	forget_removed(agent);
	if (!agent->is_failing)
		report_in_force(agent);
	set_leave_time(agent);
}

/* After the table is in force. */
static void note_names(struct node_agent *agent)
{
	if (node_names_update(agent->names, &agent->applied->policy, clock_mono_ns()))
		renew_reported(agent);
	set_leave_time(agent);
}

/* ---- the table ---- */

static void on_apply_time(struct loop_timer *timer)
{
	struct node_agent *agent = CONTAINER_OF(timer, struct node_agent, apply_timer);
	char why[256];
	if (!node_watches_are_filled(agent->watches))
		return; /* the last one to be filled starts it */
	forget_removed(agent);
	int r = build_and_apply(agent, ERR_TEXT(why));
	if (r < 0 && !agent->is_failing)
		log_error(
			AREA,
			"the node's table and connections are not all as the rules want them: %s; "
			"what could not be changed stays as it was",
			why);
	if (r == 0 && (agent->is_failing || !agent->is_applied))
		log_info(AREA, "the node's table is in force");
	agent->is_failing = r < 0;
	agent->is_applied |= r == 0;
	if (r == 0) {
		node_door_set_ready(agent->local_door);
		note_names(agent);
		report_in_force(agent);
	}
	loop_timer_set(agent->loop, timer, clock_mono_ns() + (r < 0 ? RETRY_NS : RECONCILE_NS));
}

/* ---- changes ---- */

static void on_change(struct loop_msg *msg)
{
	struct node_agent *agent = CONTAINER_OF(msg, struct node_agent, change);
	atomic_store(&agent->is_posted, false);
	if (atomic_exchange(&agent->policy_changed, false)) {
		agent->is_due = true;
		loop_timer_set(agent->loop, &agent->apply_timer, clock_mono_ns() + GATHER_NS);
	}
	add_all_reported(agent);
	if (agent->has_marks)
		set_leave_time(agent);
	/* Otherwise the report follows the rules. */
	if (agent->has_marks && agent->is_applied && !agent->is_due && !agent->is_failing)
		report_in_force(agent);
}

/* On one machine: nobody reports what comes and goes there. */
static void on_machine_time(struct loop_timer *timer)
{
	struct node_agent *agent = CONTAINER_OF(timer, struct node_agent, machine_timer);
	uint64_t now = clock_mono_ns();
	if (node_machine_has_changed(agent->machine)) {
		agent->is_due = true;
		loop_timer_set(agent->loop, &agent->apply_timer, now + GATHER_NS);
	}
	loop_timer_set(agent->loop, timer, now + MACHINE_CHECK_NS);
}

/* Not at once: who changes it may change more, and again and again. */
static void note_foreign_change(void *ctx)
{
	struct node_agent *agent = ctx;
	uint64_t due_ns = MAX(clock_mono_ns() + MEND_NS, agent->mended_ns + MEND_GAP_NS);
	if (!agent->is_foreign && !agent->is_due)
		loop_timer_set(agent->loop, &agent->apply_timer, due_ns);
	agent->is_foreign = true;
}

/* On the watches' threads. */
static void note_change(void *ctx, enum node_watch watch, const struct kube_obj *object)
{
	struct node_agent *agent = ctx;
	if (watch == NODE_WATCH_NAMES && object == NULL)
		return;
	if (watch == NODE_WATCH_NAMES) {
		pthread_mutex_lock(&agent->lock);
		map_set(&agent->changed_names, slice_of(object->name), agent);
		pthread_mutex_unlock(&agent->lock);
	} else {
		atomic_store(&agent->policy_changed, true);
	}
	if (!atomic_exchange(&agent->is_posted, true))
		loop_post(agent->loop, &agent->change);
}

static void note_found(void *ctx, const struct addrset_id *name)
{
	const struct node_agent *agent = ctx;
	node_names_found(agent->names, name);
}

/* ---- begin and end ---- */

static int open_doors(struct node_agent *agent, struct err_text err)
{
	struct node_door_conf local = { .loop = agent->loop,
					.set = nftables_pairs_set(agent->pairs),
					.path = agent->conf.socket_path,
					.has_group = agent->conf.has_socket_group,
					.group = agent->conf.socket_group };
	struct node_tls_door_conf tls = { .loop = agent->loop,
					  .set = local.set,
					  .addr = agent->conf.addr,
					  .files = agent->conf.tls };
	int r = node_door_open(&local, &agent->local_door, err);
	if (r < 0 || agent->conf.addr == NULL)
		return r;
	return node_tls_door_open(&tls, &agent->tls_door, err);
}

static int start_agent(struct node_agent *agent, struct err_text err)
{
	int r = nftables_link_open(&agent->link, err);
	if (r == 0)
		r = node_claim_take(NODE_CLAIM_NAME, NODE_CLAIM_WAIT_NS, &agent->claim, err);
	/* What cannot be read is reported with the sets, next. */
	bool has_rules = r == 0 && nftables_snapshot_has_chains(agent->link) > 0;
	if (r == 0)
		r = nftables_pairs_new(agent->loop, agent->link, &agent->pairs, err);
	if (r == 0)
		nftables_pairs_each_name(agent->pairs, note_found, agent);
	if (r == 0)
		r = nftables_foreign_changes_open(agent->loop, agent->link, note_foreign_change,
						  agent, &agent->foreign, err);
	if (r == 0)
		r = open_doors(agent, err);
	if (r == 0 && has_rules)
		node_door_set_ready(agent->local_door);
	struct node_report_conf report = { .client = agent->conf.client,
					   .ns = agent->conf.report_ns,
					   .node_name = agent->conf.node_name,
					   .pod_name = agent->conf.pod_name,
					   .pod_uid = agent->conf.pod_uid };
	if (r == 0)
		r = start_events(agent, err);
	if (r == 0)
		r = node_report_writer_start(&report, &agent->report_writer, err);
	if (r < 0)
		return r;
	struct node_watches_conf conf = { .client = agent->conf.client,
					  .node_name = agent->conf.node_name,
					  .names_ns = agent->conf.names_ns,
					  .is_machine = agent->conf.is_machine,
					  .changed = note_change,
					  .ctx = agent };
	return node_watches_start(&conf, &agent->watches, err);
}

int node_agent_new(const struct node_agent_conf *conf, struct node_agent **ret, struct err_text err)
{
	struct node_agent *agent = xcalloc(1, sizeof(*agent));
	agent->conf = *conf;
	agent->claim = -1;
	pthread_mutex_init(&agent->lock, NULL);
	map_init(&agent->changed_names);
	agent->change.cb = on_change;
	agent->apply_timer.cb = on_apply_time;
	agent->renew_timer.cb = on_renew_time;
	agent->leave_timer.cb = on_leave_time;
	agent->machine_timer.cb = on_machine_time;
	agent->review_timer.cb = on_review_time;
	/* An agent that was killed may have left connections to denied addresses. */
	agent->must_review = true;
	agent->policy = node_policy_new();
	agent->names = node_names_new();
	if (conf->is_machine)
		agent->machine = node_machine_new(&conf->machine);
	agent->loop = loop_new();
	int r = ERR_LIMIT;
	if (agent->loop != NULL)
		r = start_agent(agent, err);
	else
		err_text_set(err, "cannot make an event loop: no descriptor is free");
	if (r < 0) {
		node_agent_free(agent);
		return r;
	}
	*ret = agent;
	return 0;
}

void node_agent_run(struct node_agent *agent)
{
	rcu_thread_register();
	loop_timer_set(agent->loop, &agent->renew_timer, clock_mono_ns() + RENEW_NS);
	if (agent->machine != NULL)
		loop_timer_set(agent->loop, &agent->machine_timer,
			       clock_mono_ns() + MACHINE_CHECK_NS);
	loop_run(agent->loop);
	rcu_thread_unregister();
}

void node_agent_stop(struct node_agent *agent)
{
	loop_stop(agent->loop);
}

void node_agent_free(struct node_agent *agent)
{
	if (agent == NULL)
		return;
	node_watches_stop(agent->watches);
	node_report_writer_stop(agent->report_writer);
	node_door_close(agent->local_door);
	node_tls_door_close(agent->tls_door);
	nftables_denied_log_close(agent->denied_log);
	node_denied_free(agent->denied);
	applied_free(agent->applied);
	nftables_foreign_changes_close(agent->foreign);
	nftables_pairs_free(agent->pairs);
	nftables_link_close(agent->link);
	node_refused_free(agent->refused);
	events_stop(agent->events);
	if (agent->claim >= 0)
		close(agent->claim);
	loop_free(agent->loop);
	node_policy_free(agent->policy);
	node_names_free(agent->names);
	node_machine_free(agent->machine);
	map_done(&agent->changed_names);
	pthread_mutex_destroy(&agent->lock);
	free(agent);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Firewalls into a plan of chains. A packet of a connection that a rule admitted passes at the first
 * rule of `egress`. Any other goes by the address of its pod to the chain of the pod's namespace, where
 * its rules stand in order. An address of the pod range that is no known pod's is denied: a pod that has
 * just started is never open. */
#include "addrset/nftables/plan.h"
#include "addrset/nftables/plan_test.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "addrset/nftables/step_text.h"
#include "base/hash.h"
#include "base/strbuf.h"

#define CHAIN_EGRESS  "egress"
#define CHAIN_CLUSTER "cluster"
#define CHAIN_DENIED  "denied"

static const sa_family_t families[] = { AF_INET, AF_INET6 };

struct addrset_id nftables_rule_id(const char *namespace_name, const char *rule_text)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "rule %s %s", namespace_name,
		    rule_text != NULL ? rule_text : "no rule matches");
	return addrset_id_of(strbuf_slice(&text));
}

void nftables_rule_counter(const char *namespace_name, const char *rule_text,
			   char out[NFTABLES_COUNTER_BYTES])
{
	struct addrset_id id = nftables_rule_id(namespace_name, rule_text);
	nftables_id_text(&id, out);
}

/* ---- one rule of the table ---- */

struct step_list {
	struct nftables_step steps[NFTABLES_STEPS_MAX];
	size_t n;
};

static void add_step(struct step_list *list, struct nftables_step step)
{
	assert(list->n < NFTABLES_STEPS_MAX);
	list->steps[list->n++] = step;
}

static void add_rule(struct nftables_plan *plan, size_t chain, const struct step_list *list)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	nftables_steps_text(list->steps, list->n, &text);
	vec_push(&plan->chains.v[chain].rules,
		 (struct nftables_plan_rule){
			 .steps = arena_memdup(&plan->arena, list->steps,
					       list->n * sizeof(list->steps[0])),
			 .n_steps = list->n,
			 .digest = addrset_id_of(strbuf_slice(&text)),
		 });
}

#define ADD_RULE(plan, chain, ...)                                                    \
	do {                                                                          \
		const struct nftables_step rule_steps_[] = { __VA_ARGS__ };           \
		struct step_list rule_list_ = { .n = 0 };                             \
		for (size_t step_i_ = 0; step_i_ < ARRAY_LEN(rule_steps_); step_i_++) \
			add_step(&rule_list_, rule_steps_[step_i_]);                  \
		add_rule(plan, chain, &rule_list_);                                   \
	} while (0)

#define STEP(step_kind)		   ((struct nftables_step){ .kind = (step_kind) })
#define STEP_WORD(step_kind, text) ((struct nftables_step){ .kind = (step_kind), .word = (text) })
#define STEP_FAMILY(step_kind, value) \
	((struct nftables_step){ .kind = (step_kind), .family = (value) })
#define STEP_RANGE(step_kind, value) \
	((struct nftables_step){ .kind = (step_kind), .range = (value) })

static size_t add_chain(struct nftables_plan *plan, const char *name, enum nftables_hook hook)
{
	vec_push(&plan->chains, (struct nftables_plan_chain){ .name = name, .hook = hook });
	return plan->chains.n - 1;
}

/* Names of counters are used by the steps, so that they live in the arena. */
static const char *add_counter(struct nftables_plan *plan, const char *name)
{
	const char *copy = arena_strdup(&plan->arena, name);
	vec_push(&plan->counters, copy);
	return copy;
}

/* ---- the chain of a namespace ---- */

static int compare_ports(const void *left, const void *right)
{
	const struct nftables_port *a = left, *b = right;
	if (a->protocol != b->protocol)
		return a->protocol < b->protocol ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

/* Lists of the same ports share an id. */
static struct addrset_id add_ports(struct nftables_plan *plan, const struct nftables_port *ports,
				   size_t n)
{
	struct nftables_port *sorted = xmemdup(ports, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_ports);
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_adds(&text, "ports");
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&text, " %u/%u", sorted[i].protocol, sorted[i].number);
	struct addrset_id list = addrset_id_of(strbuf_slice(&text));
	for (size_t i = 0; i < n; i++)
		vec_push(&plan->ports, (struct nftables_plan_port){ list, sorted[i] });
	free(sorted);
	return list;
}

/* The steps that every target of a rule shares: ports, counter, verdict. */
static struct step_list steps_after_target(struct nftables_plan *plan, const char *namespace_name,
					   const struct nftables_rule *rule)
{
	struct step_list list = { .n = 0 };
	struct addrset_id id = nftables_rule_id(namespace_name, rule->text);
	char counter[NFTABLES_COUNTER_BYTES];
	nftables_id_text(&id, counter);
	if (rule->n_ports > 0)
		add_step(&list, (struct nftables_step){
					.kind = NFTABLES_TO_PORTS,
					.id = add_ports(plan, rule->ports, rule->n_ports) });
	add_step(&list, STEP_WORD(NFTABLES_COUNT, add_counter(plan, counter)));
	if (rule->allows) {
		vec_push(&plan->admitted, id);
		add_step(&list, (struct nftables_step){ .kind = NFTABLES_ADMIT, .id = id });
		add_step(&list, STEP(NFTABLES_ACCEPT));
	} else {
		add_step(&list, STEP_WORD(NFTABLES_GOTO, CHAIN_DENIED));
	}
	return list;
}

static void add_target(struct nftables_plan *plan, size_t chain, struct nftables_step target,
		       sa_family_t family, const struct step_list *after)
{
	struct step_list list = { .n = 0 };
	add_step(&list, STEP_FAMILY(NFTABLES_IS_FAMILY, family));
	add_step(&list, target);
	for (size_t i = 0; i < after->n; i++)
		add_step(&list, after->steps[i]);
	add_rule(plan, chain, &list);
}

static void add_namespace_rule(struct nftables_plan *plan, size_t chain, const char *namespace_name,
			       const struct nftables_rule *rule)
{
	struct step_list after = steps_after_target(plan, namespace_name, rule);
	for (size_t i = 0; i < rule->n_targets; i++) {
		const struct nftables_target *target = &rule->targets[i];
		if (!target->is_name) {
			add_target(plan, chain, STEP_RANGE(NFTABLES_TO_RANGE, target->range),
				   target->range.family, &after);
			continue;
		}
		for (size_t k = 0; k < ARRAY_LEN(families); k++) {
			struct nftables_step step = { .kind = NFTABLES_TO_NAME };
			step.id = target->name;
			step.id_family = families[k];
			add_target(plan, chain, step, families[k], &after);
		}
	}
}

static const char *namespace_chain(struct nftables_plan *plan, const char *name)
{
	return arena_printf(&plan->arena, "ns-%s", name);
}

static void add_namespace(struct nftables_plan *plan, const struct nftables_namespace *namespace)
{
	size_t chain = add_chain(plan, namespace_chain(plan, namespace->name), NFTABLES_NO_HOOK);
	ADD_RULE(plan, chain, STEP_WORD(NFTABLES_JUMP, CHAIN_CLUSTER));
	for (size_t i = 0; i < namespace->n_rules; i++)
		add_namespace_rule(plan, chain, namespace->name, &namespace->rules[i]);
	/* What no rule matches is allowed. */
	struct nftables_rule rest = { .allows = true, .text = NULL };
	struct step_list after = steps_after_target(plan, namespace->name, &rest);
	add_rule(plan, chain, &after);
}

/* ---- chains of the table ---- */

static void add_egress_chain(struct nftables_plan *plan, size_t chain,
			     const struct nftables_policy *policy)
{
	ADD_RULE(plan, chain, STEP(NFTABLES_IS_ADMITTED), STEP(NFTABLES_ACCEPT));
	ADD_RULE(plan, chain, STEP(NFTABLES_IS_REPLY), STEP(NFTABLES_ACCEPT));
	ADD_RULE(plan, chain, STEP(NFTABLES_IS_NEIGHBOUR), STEP(NFTABLES_ACCEPT));
	for (size_t i = 0; i < ARRAY_LEN(families); i++)
		ADD_RULE(plan, chain, STEP_FAMILY(NFTABLES_IS_FAMILY, families[i]),
			 STEP_FAMILY(NFTABLES_BY_POD, families[i]));
	const char *unknown = add_counter(plan, "unknown-pod");
	for (size_t i = 0; i < policy->n_pod_ranges; i++)
		ADD_RULE(plan, chain, STEP_FAMILY(NFTABLES_IS_FAMILY, policy->pod_ranges[i].family),
			 STEP_RANGE(NFTABLES_FROM_RANGE, policy->pod_ranges[i]),
			 STEP_WORD(NFTABLES_COUNT, unknown),
			 STEP_WORD(NFTABLES_GOTO, CHAIN_DENIED));
}

static void add_cluster_chain(struct nftables_plan *plan, size_t chain,
			      const struct nftables_policy *policy)
{
	for (size_t i = 0; i < policy->n_always_open; i++)
		ADD_RULE(plan, chain,
			 STEP_FAMILY(NFTABLES_IS_FAMILY, policy->always_open[i].family),
			 STEP_RANGE(NFTABLES_TO_RANGE, policy->always_open[i]),
			 STEP(NFTABLES_ACCEPT));
}

/* A name server's address may serve more than DNS: in clouds, the credentials of the machine. */
static void add_name_servers(struct nftables_plan *plan, size_t chain,
			     const struct nftables_policy *policy)
{
	static const struct nftables_port ports[] = {
		{ IPPROTO_TCP, 53 }, { IPPROTO_TCP, 853 }, { IPPROTO_UDP, 53 }, { IPPROTO_UDP, 853 }
	};
	struct nftables_step to_ports = { .kind = NFTABLES_TO_PORTS };
	if (policy->n_name_servers == 0)
		return;
	to_ports.id = add_ports(plan, ports, ARRAY_LEN(ports));
	for (size_t i = 0; i < policy->n_name_servers; i++)
		ADD_RULE(plan, chain,
			 STEP_FAMILY(NFTABLES_IS_FAMILY, policy->name_servers[i].family),
			 STEP_RANGE(NFTABLES_TO_RANGE, policy->name_servers[i]), to_ports,
			 STEP(NFTABLES_ACCEPT));
}

static void add_denied_chain(struct nftables_plan *plan, size_t chain,
			     const struct nftables_policy *policy)
{
	if (policy->log_group != 0) {
		struct nftables_step log = { .kind = NFTABLES_LOG_SAMPLE };
		log.number = policy->log_group;
		ADD_RULE(plan, chain, log);
	}
	ADD_RULE(plan, chain, STEP(NFTABLES_IS_TCP), STEP(NFTABLES_RESET));
	ADD_RULE(plan, chain, STEP(NFTABLES_UNREACHABLE));
}

/* The chains by which packets come in. */
static void add_hooks(struct nftables_plan *plan, const struct nftables_policy *policy)
{
	size_t input = add_chain(plan, "input", NFTABLES_HOOK_INPUT);
	size_t forward = add_chain(plan, "forward", NFTABLES_HOOK_FORWARD);
	if (!policy->spares_own_addresses)
		ADD_RULE(plan, input, STEP_WORD(NFTABLES_JUMP, CHAIN_EGRESS));
	ADD_RULE(plan, forward, STEP_WORD(NFTABLES_JUMP, CHAIN_EGRESS));
}

static const char *find_namespace_chain(const struct nftables_plan *plan,
					const char *namespace_name)
{
	for (size_t i = 0; i < plan->chains.n; i++) {
		const char *chain = plan->chains.v[i].name;
		if (strncmp(chain, "ns-", 3) == 0 && strcmp(chain + 3, namespace_name) == 0)
			return chain;
	}
	return NULL;
}

/* A rule on the user who runs the DNS server, or on its cgroup, would lock out its queries to other servers, and with them
 * all names. The user counts beside the mark, since others may be able to set one (CAP_NET_RAW). */
static void add_own_queries(struct nftables_plan *plan, size_t output,
			    const struct nftables_policy *policy)
{
	struct nftables_step user = { .kind = NFTABLES_BY_USER },
			     mark = { .kind = NFTABLES_IS_MARKED };
	user.owner = policy->own_user;
	mark.owner = policy->own_mark;
	if (policy->own_mark != 0)
		ADD_RULE(plan, output, user, mark, STEP(NFTABLES_ACCEPT));
}

/* Processes of this machine. What is local, older than the rules, or an answer is never judged. */
static void add_output_chain(struct nftables_plan *plan, const struct nftables_policy *policy)
{
	size_t output = add_chain(plan, "output", NFTABLES_HOOK_OUTPUT);
	ADD_RULE(plan, output, STEP(NFTABLES_IS_LOOPBACK), STEP(NFTABLES_ACCEPT));
	add_own_queries(plan, output, policy);
	ADD_RULE(plan, output, STEP(NFTABLES_IS_ADMITTED), STEP(NFTABLES_ACCEPT));
	ADD_RULE(plan, output, STEP(NFTABLES_IS_OLDER), STEP(NFTABLES_ACCEPT));
	ADD_RULE(plan, output, STEP(NFTABLES_IS_TCP), STEP(NFTABLES_IS_MID_STREAM),
		 STEP(NFTABLES_ACCEPT));
	ADD_RULE(plan, output, STEP(NFTABLES_IS_REPLY), STEP(NFTABLES_ACCEPT));
	ADD_RULE(plan, output, STEP(NFTABLES_IS_NEIGHBOUR), STEP(NFTABLES_ACCEPT));
	for (size_t i = 0; i < policy->n_owners; i++) {
		const struct nftables_owner *owner = &policy->owners[i];
		const char *chain = find_namespace_chain(plan, owner->namespace_name);
		struct nftables_step step = { .kind = owner->is_cgroup ? NFTABLES_BY_CGROUP
								       : NFTABLES_BY_USER };
		step.owner = owner->id;
		step.level = owner->level;
		if (chain != NULL)
			ADD_RULE(plan, output, step, STEP_WORD(NFTABLES_GOTO, chain));
	}
}

/* ---- pods, and the order of what goes into sets ---- */

static int compare_names(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;
	return strcmp(*a, *b);
}

static int compare_ids(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(struct addrset_id));
}

static int compare_plan_ports(const void *left, const void *right)
{
	const struct nftables_plan_port *a = left, *b = right;
	int order = compare_ids(&a->list, &b->list);
	return order != 0 ? order : compare_ports(&a->port, &b->port);
}

static int compare_plan_pods(const void *left, const void *right)
{
	const struct nftables_plan_pod *a = left, *b = right;
	if (a->address.n != b->address.n)
		return a->address.n < b->address.n ? -1 : 1;
	return memcmp(a->address.bytes, b->address.bytes, a->address.n);
}

/* Sorts and keeps one of equal elements. */
#define SORT_ONCE(vec, compare)                                                              \
	do {                                                                                 \
		size_t kept_ = 0;                                                            \
		if ((vec)->n > 0)                                                            \
			qsort((vec)->v, (vec)->n, sizeof((vec)->v[0]), compare);             \
		for (size_t i_ = 0; i_ < (vec)->n; i_++) {                                   \
			if (kept_ == 0 || compare(&(vec)->v[kept_ - 1], &(vec)->v[i_]) != 0) \
				(vec)->v[kept_++] = (vec)->v[i_];                            \
		}                                                                            \
		(vec)->n = kept_;                                                            \
	} while (0)

static void add_pods(struct nftables_plan *plan, const struct nftables_policy *policy)
{
	for (size_t i = 0; i < policy->n_pods; i++)
		vec_push(&plan->pods, (struct nftables_plan_pod){
					      .address = policy->pods[i].address,
					      .chain = find_namespace_chain(
						      plan, policy->pods[i].namespace_name),
				      });
}

void nftables_plan_init(struct nftables_plan *plan, const struct nftables_policy *policy)
{
	memset(plan, 0, sizeof(*plan));
	arena_init(&plan->arena);
	add_hooks(plan, policy);
	size_t egress = add_chain(plan, CHAIN_EGRESS, NFTABLES_NO_HOOK);
	size_t cluster = add_chain(plan, CHAIN_CLUSTER, NFTABLES_NO_HOOK);
	size_t denied = add_chain(plan, CHAIN_DENIED, NFTABLES_NO_HOOK);
	add_cluster_chain(plan, cluster, policy);
	add_name_servers(plan, cluster, policy);
	add_denied_chain(plan, denied, policy);
	for (size_t i = 0; i < policy->n_namespaces; i++)
		add_namespace(plan, &policy->namespaces[i]);
	if (policy->n_namespaces > 0) {
		add_egress_chain(plan, egress, policy);
		add_pods(plan, policy);
	}
	if (policy->n_namespaces > 0 && policy->n_owners > 0) {
		add_output_chain(plan, policy);
	}
	SORT_ONCE(&plan->counters, compare_names);
	SORT_ONCE(&plan->admitted, compare_ids);
	SORT_ONCE(&plan->ports, compare_plan_ports);
	SORT_ONCE(&plan->pods, compare_plan_pods);
}

void nftables_plan_done(struct nftables_plan *plan)
{
	for (size_t i = 0; i < plan->chains.n; i++)
		vec_done(&plan->chains.v[i].rules);
	vec_done(&plan->chains);
	vec_done(&plan->counters);
	vec_done(&plan->admitted);
	vec_done(&plan->ports);
	vec_done(&plan->pods);
	arena_done(&plan->arena);
}

/* ---- comparing ---- */

/* What rules refer to (counters, ports, rule ids) is part of their digests. */
static uint64_t hash_chain(const struct nftables_plan_chain *chain)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "chain %s %d ", chain->name, (int)chain->hook);
	for (size_t i = 0; i < chain->rules.n; i++)
		strbuf_add(&text, chain->rules.v[i].digest.bytes,
			   sizeof(chain->rules.v[i].digest.bytes));
	return hash_bytes(hash_process_key(), text.s, text.n);
}

static uint64_t hash_pod(const struct nftables_plan_pod *pod)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_addf(&text, "pod %s ", pod->chain != NULL ? pod->chain : "");
	strbuf_add(&text, pod->address.bytes, pod->address.n);
	return hash_bytes(hash_process_key(), text.s, text.n);
}

uint64_t nftables_plan_hash(const struct nftables_plan *plan)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < plan->chains.n; i++)
		sum += hash_chain(&plan->chains.v[i]);
	for (size_t i = 0; i < plan->pods.n; i++)
		sum += hash_pod(&plan->pods.v[i]);
	return sum;
}

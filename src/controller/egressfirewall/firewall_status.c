/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules into lines, errors and warnings into conditions. */
#include "controller/egressfirewall/firewall_status.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/egress/rule_text.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "controller/egressfirewall/enforcement.h"
#include "controller/egressfirewall/state.h"
#include "controller/egressfirewall/watches.h"
#include "kube/decode/tree.h"

#define SUMMARY_NAMES	 " names have addresses"
#define SUMMARY_NO_NAMES ", none names a host"

enum { LISTED_MAX = 10 }; /* errors, warnings or names in one message */

/* Names with a reason each. */
struct names_why {
	struct strbuf text;
	size_t n;
};

/* What is found while lines are written. */
struct writer {
	const struct controller_ctx *ctx;
	const struct egress_rules *rules;
	struct strbuf *line;
	size_t items; /* in the line */
	bool is_full;
	size_t n_names, n_resolved; /* regular names of rules */
	struct names_why unresolved, pending;
	bool is_early;
};

static void add_item(struct writer *writer, const char *text)
{
	if (writer->line->n > EGRESSFIREWALL_LINE_MAX) {
		if (!writer->is_full)
			strbuf_adds(writer->line, ", ...");
		writer->is_full = true;
		return;
	}
	strbuf_addf(writer->line, "%s%s", writer->items++ == 0 ? ": " : ", ", text);
}

/* ---- names ---- */

static void write_address(const struct tracked_address *address, char out[INET6_ADDRSTRLEN])
{
	inet_ntop(address->n == 4 ? AF_INET : AF_INET6, address->bytes, out, INET6_ADDRSTRLEN);
}

static void add_addresses(struct writer *writer, const struct tracked_host *host)
{
	for (size_t i = 0; i < host->addresses.n; i++) {
		char text[INET6_ADDRSTRLEN];
		write_address(&host->addresses.v[i], text);
		add_item(writer, text);
	}
}

static void add_why(struct names_why *names, const char *name, const char *why)
{
	if (names->n++ < LISTED_MAX)
		strbuf_addf(&names->text, "%s%s: %s", names->text.n != 0 ? "; " : "", name, why);
}

static const char *write_why(struct names_why *names)
{
	if (names->n > LISTED_MAX)
		strbuf_addf(&names->text, "; and %zu more", names->n - LISTED_MAX);
	return names->text.n != 0 ? names->text.s : "";
}

/* EF-P11: a name is in effect for nobody before its object exists. False: it does not. */
static bool check_object(struct writer *writer, const struct egress_rule *rule)
{
	const struct egressfirewall_state *state = egressfirewall_state_of(writer->ctx);
	char name[EGRESS_NAME_MAX + 1];
	egress_name_object(rule->name, rule->is_wildcard, name);
	const struct egressfirewall_object *object = map_get(&state->objects, slice_of(name));
	writer->is_early |= object == NULL || !object->restored;
	bool exists = object != NULL && object->exists &&
		      (rule->is_wildcard ? object->wildcard &&
						   (object->any_depth || !writer->rules->any_depth)
					 : object->regular);
	if (!exists)
		add_why(&writer->pending, name, "has no DNSName object yet");
	return exists;
}

static void add_left_out(struct writer *writer, const struct tracked_host *host)
{
	char text[256];
	snprintf(text, sizeof(text),
		 "has only addresses that are never learnt, such as %s: the cluster's own or "
		 "reserved; allow them by cidrSelector or nodeSelector",
		 host->left_out);
	add_why(&writer->unresolved, host->name, text);
	snprintf(text, sizeof(text), "only addresses that are never learnt, such as %s",
		 host->left_out);
	add_item(writer, text);
}

static void add_regular(struct writer *writer, const char *name, bool exists)
{
	const struct egressfirewall_state *state = egressfirewall_state_of(writer->ctx);
	const struct tracked_host *host = tracked_find(&state->hosts, name);
	writer->n_names++;
	if (host != NULL && host->addresses.n != 0) {
		writer->n_resolved++;
		add_addresses(writer, host);
	} else if (host == NULL || (!host->answered && host->failures == 0)) {
		if (exists)
			add_why(&writer->pending, name, "is not looked up yet");
		add_item(writer, "not looked up yet");
	} else if (host->failures != 0) {
		add_why(&writer->unresolved, name, host->error);
		add_item(writer, "no addresses, since the lookup fails");
	} else if (host->left_out[0] != '\0') {
		add_left_out(writer, host);
	} else {
		add_why(&writer->unresolved, name, "has no addresses");
		add_item(writer, "no addresses");
	}
}

static int compare_hosts(const void *left, const void *right)
{
	const struct tracked_host *const *left_host = left, *const *right_host = right;
	return strcmp((*left_host)->name, (*right_host)->name);
}

struct found {
	VEC(struct tracked_host *) hosts;
};

static void collect_below(void *ctx, struct tracked_host *host)
{
	struct found *found = ctx;
	if (host->addresses.n != 0)
		vec_push(&found->hosts, host);
}

/* One item: the host, and its addresses in brackets. */
static void add_host(struct writer *writer, const struct tracked_host *host)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_adds(&text, host->name);
	for (size_t i = 0; i < host->addresses.n; i++) {
		if (text.n > EGRESSFIREWALL_LINE_MAX) {
			strbuf_adds(&text, ", ...");
			break;
		}
		char address[INET6_ADDRSTRLEN];
		write_address(&host->addresses.v[i], address);
		strbuf_addf(&text, "%s%s", i == 0 ? " (" : ", ", address);
	}
	strbuf_adds(&text, ")");
	add_item(writer, text.s);
}

/* In the order of names, so that equal tables give equal lines. */
static void add_wildcard(struct writer *writer, const char *parent)
{
	const struct egressfirewall_state *state = egressfirewall_state_of(writer->ctx);
	struct found found = { 0 };
	tracked_each_below(&state->hosts, parent, writer->rules->any_depth, collect_below, &found);
	if (found.hosts.n > 1)
		qsort(found.hosts.v, found.hosts.n, sizeof(*found.hosts.v), compare_hosts);
	if (found.hosts.n == 0)
		add_item(writer, "no name learnt yet");
	for (size_t i = 0; i < found.hosts.n && !writer->is_full; i++)
		add_host(writer, found.hosts.v[i]);
	vec_done(&found.hosts);
}

/* ---- nodes ---- */

struct node_call {
	struct writer *writer;
	const struct api_selector *selector;
	size_t n;
};

static bool add_node(void *ctx, struct kube_obj *obj)
{
	struct node_call *call = ctx;
	const json_t *node = kube_tree_of(obj);
	const json_t *addresses = api_get(node, "status.addresses");
	if (!api_label_selector_match(call->selector, api_get(node, "metadata.labels")))
		return true;
	call->n++;
	for (size_t i = 0; i < json_array_size(addresses); i++) {
		const json_t *entry = json_array_get(addresses, i);
		const char *type = api_text(json_object_get(entry, "type"));
		if (strcmp(type, "InternalIP") == 0 || strcmp(type, "ExternalIP") == 0)
			add_item(call->writer, api_text(json_object_get(entry, "address")));
	}
	return true;
}

static void add_nodes(struct writer *writer, const struct api_selector *selector)
{
	struct node_call call = { writer, selector, 0 };
	kube_store_each(writer->ctx->stores[EGRESSFIREWALL_NODES], add_node, &call);
	if (call.n == 0)
		add_item(writer, "no node");
}

/* ---- lines ---- */

static void write_name(struct writer *writer, const struct egress_rule *rule)
{
	bool exists = check_object(writer, rule);
	if (rule->is_wildcard)
		add_wildcard(writer, rule->name);
	else
		add_regular(writer, rule->name, exists);
}

static void write_line(struct writer *writer, const struct egress_rule *rule)
{
	strbuf_addf(writer->line, EGRESSFIREWALL_RULE_LINE "%zu: ", rule->index);
	egress_rule_text(rule, writer->line);
	writer->items = 0;
	writer->is_full = false;
	switch (rule->target) {
	case EGRESS_TO_RANGE:
		break;
	case EGRESS_TO_NAME:
		write_name(writer, rule);
		break;
	case EGRESS_TO_NODES:
		add_nodes(writer, &rule->nodes);
		break;
	}
}

static void write_lines(struct writer *writer, json_t *lines)
{
	const struct egress_rules *rules = writer->rules;
	for (size_t i = 0; i < rules->n; i++) {
		CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
		writer->line = &line;
		write_line(writer, &rules->rule[i]);
		if (i < EGRESSFIREWALL_LINES_MAX)
			json_array_append_new(lines, json_string(line.s));
		writer->line = NULL;
	}
	if (rules->n > EGRESSFIREWALL_LINES_MAX) {
		char text[80];
		snprintf(text, sizeof(text),
			 EGRESSFIREWALL_OWN_LINE "%zu more rules are not listed here",
			 rules->n - EGRESSFIREWALL_LINES_MAX);
		json_array_append_new(lines, json_string(text));
	}
}

/* ---- conditions ---- */

static void set_condition(struct egressfirewall_report *report, const json_t *firewall,
			  struct api_condition condition)
{
	condition.generation = api_generation(firewall);
	report->changed |= api_condition_set(report->conditions, &condition, clock_wall_ns());
}

static void set_valid(struct egressfirewall_report *report, const json_t *firewall,
		      const struct api_errors *errors)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	strbuf_adds(&text, "");
	for (size_t i = 0; i < errors->n && i < LISTED_MAX; i++)
		strbuf_addf(&text, "%s%s: %s", i != 0 ? "; " : "", errors->v[i].field,
			    errors->v[i].body);
	if (errors->n > LISTED_MAX)
		strbuf_addf(&text, "; and %zu more", errors->n - LISTED_MAX);
	set_condition(
		report, firewall,
		(struct api_condition){ .type = "Valid",
					.status = errors->n == 0 ? API_TRUE : API_FALSE,
					.reason = errors->n == 0 ? "AsExpected" : "InvalidRules",
					.message = text.s });
}

static void set_resolved(struct egressfirewall_report *report, const json_t *firewall,
			 struct writer *writer)
{
	struct api_condition condition = { .type = "NamesResolved",
					   .status = API_TRUE,
					   .reason =
						   writer->n_names == 0 ? "NoNames" : "AsExpected",
					   .message = "" };
	if (writer->unresolved.n != 0) {
		condition.status = API_FALSE;
		condition.reason = "NotResolved";
		condition.message = write_why(&writer->unresolved);
	} else if (writer->pending.n != 0) {
		condition.status = API_UNKNOWN;
		condition.reason = "Pending";
		condition.message = write_why(&writer->pending);
	}
	set_condition(report, firewall, condition);
}

static const char *warning_reason(const struct egress_rules *rules)
{
	static const char *const reasons[] = { [EGRESS_DENY_BY_NAME] = "DenyByName",
					       [EGRESS_ONE_LABEL] = "OneLabelWildcard",
					       [EGRESS_RANGE_HOST_BITS] = "RangeHasHostBits" };
	if (rules->n_warnings == 0)
		return "NoWarnings";
	for (size_t i = 1; i < rules->n_warnings; i++) {
		if (rules->warning[i].kind != rules->warning[0].kind)
			return "MultipleWarnings";
	}
	return reasons[rules->warning[0].kind];
}

static void set_warnings(struct egressfirewall_report *report, const json_t *firewall,
			 const struct egress_rules *rules)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	size_t shown = MIN(rules->n_warnings, (size_t)LISTED_MAX);
	size_t more = rules->n_warnings - shown + rules->n_warnings_more;
	strbuf_adds(&text, "");
	for (size_t i = 0; i < shown; i++)
		strbuf_addf(&text, "%s%s: %s", i != 0 ? "; " : "", rules->warning[i].field,
			    rules->warning[i].message);
	if (more != 0)
		strbuf_addf(&text, "; and %zu more", more);
	set_condition(report, firewall,
		      (struct api_condition){ .type = "Warnings",
					      .status = shown == 0 ? API_FALSE : API_TRUE,
					      .reason = warning_reason(rules),
					      .message = text.s });
}

/* Until something is known about this generation, what is said about an older one stays. */
static void set_enforced(struct egressfirewall_report *report, struct controller_ctx *ctx,
			 const json_t *firewall)
{
	char text[EGRESSFIREWALL_ENFORCED_TEXT_MAX];
	struct api_condition condition;
	if (egressfirewall_enforced(ctx, firewall, text, &condition))
		set_condition(report, firewall, condition);
}

/* ---- all of it ---- */

static void write_summary(struct egressfirewall_report *report, const struct writer *writer,
			  const struct api_errors *errors)
{
	size_t n = writer->rules->n, size = sizeof(report->summary);
	int len = snprintf(report->summary, size, "%zu rule%s%s", n, n == 1 ? "" : "s",
			   errors->n != 0 ? " valid and others not" : "");
	if (writer->n_names == 0)
		snprintf(report->summary + len, size - (size_t)len, SUMMARY_NO_NAMES);
	else
		snprintf(report->summary + len, size - (size_t)len, ", %zu of %zu" SUMMARY_NAMES,
			 writer->n_resolved, writer->n_names);
}

void egressfirewall_report_init(struct egressfirewall_report *report, struct controller_ctx *ctx,
				const json_t *firewall, const struct egress_rules *rules,
				const struct api_errors *errors)
{
	struct egressfirewall_state *state = egressfirewall_state_of(ctx);
	const json_t *conditions = api_get(firewall, "status.conditions");
	struct writer writer = { .ctx = ctx,
				 .rules = rules,
				 .unresolved = { STRBUF_INIT, 0 },
				 .pending = { STRBUF_INIT, 0 } };
	*report = (struct egressfirewall_report){ .lines = json_array() };
	report->conditions = json_is_array(conditions) ? json_deep_copy(conditions) : json_array();
	pthread_mutex_lock(&state->lock);
	write_lines(&writer, report->lines);
	pthread_mutex_unlock(&state->lock);
	set_valid(report, firewall, errors);
	set_resolved(report, firewall, &writer);
	set_warnings(report, firewall, rules);
	set_enforced(report, ctx, firewall);
	write_summary(report, &writer, errors);
	report->is_early = writer.is_early;
	strbuf_done(&writer.unresolved.text);
	strbuf_done(&writer.pending.text);
}

static bool ends_with(struct slice text, struct slice end)
{
	return text.n > end.n && slice_eq(slice_from(text, text.n - end.n), end);
}

bool egressfirewall_is_own_summary(const char *text)
{
	struct slice all = slice_of(text);
	return text[0] >= '0' && text[0] <= '9' &&
	       (ends_with(all, SLICE(SUMMARY_NAMES)) || ends_with(all, SLICE(SUMMARY_NO_NAMES)));
}

void egressfirewall_report_done(struct egressfirewall_report *report)
{
	json_decref(report->lines);
	json_decref(report->conditions);
}

void egressfirewall_report_as_lines(struct egressfirewall_report *report)
{
	static const char *const types[] = { "Enforced", "Warnings", "NamesResolved", "Valid" };
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		const json_t *condition = api_condition_find(report->conditions, types[i]);
		CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
		if (condition == NULL)
			continue;
		strbuf_addf(&line, EGRESSFIREWALL_OWN_LINE "%s=%s %s%s%s", types[i],
			    api_text(json_object_get(condition, "status")),
			    api_text(json_object_get(condition, "reason")),
			    api_text(json_object_get(condition, "message"))[0] != '\0' ? ": " : "",
			    api_text(json_object_get(condition, "message")));
		json_array_insert_new(report->lines, 0, json_string(line.s));
	}
}

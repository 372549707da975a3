/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the status of a firewall when it says something new. It is applied, so that only our own entries
 * are touched: beside OVN-Kubernetes others report in the same list of messages. */
#include "controller/egressfirewall/firewall.h"

#include <string.h>

#include "api/condition.h"
#include "api/egress/rules.h"
#include "api/kind.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/err.h"
#include "controller/egressfirewall/firewall_status.h"
#include "controller/egressfirewall/known_firewall.h"
#include "controller/egressfirewall/state.h"
#include "controller/egressfirewall/watches.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"

#define WRITE_PAUSE_NS (1 * NS_PER_S) /* between two writes of one status */
enum { PASS_SHARE = 50 };	      /* and so many times what a pass took */

static uint64_t version_of(const json_t *object)
{
	uint64_t number = 0;
	return slice_u64(slice_of(api_resource_version(object)), &number) == 0 ? number : 0;
}

/* ---- comparing ---- */

static bool is_our_line(const char *line)
{
	struct slice text = slice_of(line);
	return slice_starts(text, SLICE(EGRESSFIREWALL_RULE_LINE)) ||
	       slice_starts(text, SLICE(EGRESSFIREWALL_OWN_LINE));
}

/* Does the status have our lines, in our order? Those of others may be between them. */
static bool has_lines(const json_t *firewall, const json_t *wanted)
{
	const json_t *now = api_get(firewall, "status.messages");
	size_t at = 0;
	for (size_t i = 0; i < json_array_size(now); i++) {
		const char *line = api_text(json_array_get(now, i));
		if (!is_our_line(line))
			continue;
		if (strcmp(line, api_text(json_array_get(wanted, at))) != 0)
			return false;
		at++;
	}
	return at == json_array_size(wanted);
}

/* EF-S8: where another program has its summary, that stays. */
static bool is_summary_ours(const json_t *firewall)
{
	const char *summary = api_get_string(firewall, "status.status");
	return summary[0] == '\0' || egressfirewall_is_own_summary(summary);
}

static bool is_settled(const json_t *firewall, const struct egressfirewall_report *report,
		       bool is_pruned)
{
	const char *summary = api_get_string(firewall, "status.status");
	if (!has_lines(firewall, report->lines))
		return false;
	return is_pruned || (!report->changed &&
			     (!is_summary_ours(firewall) || strcmp(summary, report->summary) == 0));
}

/* ---- writing ---- */

/* Our conditions alone: others may have theirs. */
static json_t *own_conditions(const struct egressfirewall_report *report)
{
	static const char *const types[] = { "Valid", "NamesResolved", "Warnings", "Enforced" };
	json_t *list = json_array();
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		json_t *condition = api_condition_find(report->conditions, types[i]);
		if (condition != NULL)
			json_array_append(list, condition);
	}
	return list;
}

/* Lines and conditions are members of lists, each its writer's. The summary is one text for all: it is taken only
 * if the copy that shows whose it is is the newest. */
static json_t *applied_value(const json_t *firewall, const struct egressfirewall_report *report,
			     bool is_pruned)
{
	json_t *status = json_pack("{s:O}", "messages", report->lines);
	json_t *metadata = json_pack("{s:s, s:s, s:s}", "name", api_name(firewall), "namespace",
				     api_namespace(firewall), "uid", api_uid(firewall));
	if (!is_pruned)
		json_object_set_new(status, "conditions", own_conditions(report));
	if (!is_pruned && is_summary_ours(firewall)) {
		json_object_set_new(status, "status", json_string(report->summary));
		json_object_set_new(metadata, "resourceVersion",
				    json_string(api_resource_version(firewall)));
	}
	return json_pack("{s:s, s:s, s:o, s:o}", "apiVersion", EGRESS_GROUP "/v1", "kind",
			 EGRESS_FIREWALL_KIND, "metadata", metadata, "status", status);
}

static int apply_status(struct controller_ctx *ctx, const json_t *firewall,
			const struct egressfirewall_report *report, bool is_pruned, json_t **ret)
{
	struct kube_ref ref = { .kind = api_kind_find(EGRESS_GROUP, EGRESS_FIREWALL_KIND),
				.ns = api_namespace(firewall),
				.name = api_name(firewall) };
	struct kube_status status;
	json_t *value = applied_value(firewall, report, is_pruned);
	int r = kube_apply(ctx->conn, &ref, "status", EGRESSFIREWALL_MANAGER, value, ret, &status);
	/* An apply of a field that the schema does not have fails, where another patch would lose it. */
	if (r < 0 && !is_pruned && strstr(status.message, "field not declared in schema") != NULL)
		r = ERR_UNSUPPORTED;
	else if (r < 0)
		err_text_set(ERR_TEXT(ctx->err), "status of EgressFirewall %s/%s: %s", ref.ns,
			     ref.name, status.message[0] != '\0' ? status.message : err_str(r));
	kube_status_done(&status);
	json_decref(value);
	return r;
}

/* Did the status say that rules are not valid, in whichever form? */
static bool was_invalid(const json_t *firewall, bool is_pruned)
{
	const json_t *lines = api_get(firewall, "status.messages");
	struct slice begin = SLICE(EGRESSFIREWALL_OWN_LINE "Valid=False");
	if (!is_pruned)
		return api_condition_status(api_get(firewall, "status.conditions"), "Valid") ==
		       API_FALSE;
	for (size_t i = 0; i < json_array_size(lines); i++) {
		if (slice_starts(api_text_slice(json_array_get(lines, i)), begin))
			return true;
	}
	return false;
}

/* One for the change to invalid rules: they may have been stored while no hook was asked. */
static void emit_event(struct controller_ctx *ctx, const json_t *firewall,
		       const struct egressfirewall_report *report, bool is_pruned)
{
	if (ctx->events == NULL || was_invalid(firewall, is_pruned) ||
	    api_condition_status(report->conditions, "Valid") != API_FALSE)
		return;
	const json_t *condition = api_condition_find(report->conditions, "Valid");
	events_emit(ctx->events,
		    &(struct event){ .regarding = firewall,
				     .warning = true,
				     .reason = "InvalidRules",
				     .action = "Validate" },
		    "%s", api_text(json_object_get(condition, "message")));
}

/* What a pass over a firewall works with. */
struct pass {
	struct controller_ctx *ctx;
	const char *key;
	const json_t *firewall;
	uint64_t begin_ns;
};

/* Large firewalls take long to report, and wait the longer. */
static void note_write(const struct pass *pass, const json_t *written)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t pause_ns = MAX(WRITE_PAUSE_NS, PASS_SHARE * (now_ns - pass->begin_ns));
	struct egressfirewall_write write = { now_ns + pause_ns, version_of(written) };
	egressfirewall_known_note(pass->ctx, pass->key, &write);
}

/* Another program's CRD may know no conditions: messages carry them from then on. */
static int write_status(const struct pass *pass, struct egressfirewall_report *report)
{
	struct egressfirewall_state *state = egressfirewall_state_of(pass->ctx);
	bool is_pruned = atomic_load(&state->conditions_pruned);
	json_t *written = NULL;
	if (is_pruned)
		egressfirewall_report_as_lines(report);
	if (is_settled(pass->firewall, report, is_pruned))
		return 0;
	int r = apply_status(pass->ctx, pass->firewall, report, is_pruned, &written);
	if (r == ERR_NOTFOUND || r == ERR_CONFLICT)
		return 0; /* it is gone, changed, or made anew: the watch will show it */
	if (r == ERR_UNSUPPORTED && !is_pruned) {
		atomic_store(&state->conditions_pruned, true);
		egressfirewall_queue(pass->ctx, EGRESSFIREWALL_FIREWALL_KEY, pass->key);
		return 0;
	}
	if (r == 0) {
		note_write(pass, written);
		emit_event(pass->ctx, pass->firewall, report, is_pruned);
	}
	json_decref(written);
	return r;
}

static int report_rules(const struct pass *pass)
{
	struct egressfirewall_report report;
	struct api_errors errors = { 0 };
	struct egress_rules rules;
	struct arena arena;
	arena_init(&arena);
	egress_rules_read(pass->firewall, &arena, &rules, &errors);
	egressfirewall_report_init(&report, pass->ctx, pass->firewall, &rules, &errors);
	/* The passes over its names queue it again. After a start they take over what was known before. */
	if (report.is_early)
		pass->ctx->again_ns = WRITE_PAUSE_NS;
	int r = report.is_early ? 0 : write_status(pass, &report);
	egressfirewall_report_done(&report);
	api_errors_done(&errors);
	arena_done(&arena);
	return r;
}

static int reconcile_existing(const struct pass *pass)
{
	egressfirewall_known_update(pass->ctx, pass->key, pass->firewall);
	struct egressfirewall_write last = egressfirewall_known_write(pass->ctx, pass->key);
	/* A copy that is older than our last write says nothing: a newer one is on its way. */
	if (version_of(pass->firewall) < last.version || api_is_deleting(pass->firewall))
		return 0;
	if (pass->begin_ns < last.next_ns) {
		pass->ctx->again_ns = last.next_ns - pass->begin_ns;
		return 0;
	}
	return report_rules(pass);
}

int egressfirewall_reconcile_firewall(struct controller_ctx *ctx, const char *key)
{
	struct slice name = slice_of(key), ns = slice_cut(&name, '/');
	struct kube_obj *obj = kube_store_get(ctx->stores[EGRESSFIREWALL_FIREWALLS], ns, name);
	if (obj == NULL) {
		egressfirewall_known_update(ctx, key, NULL);
		return 0;
	}
	struct pass pass = { ctx, key, kube_tree_of(obj), clock_mono_ns() };
	int r = reconcile_existing(&pass);
	kube_obj_unref(obj);
	return r;
}

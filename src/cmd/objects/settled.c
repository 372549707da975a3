/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gardener's lastOperation where an object has one, else its conditions. */
#include "cmd/objects/settled.h"

#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/time.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "cmd/objects/condition_meaning.h"

/* Asks for work; the controller removes it when it has begun. */
#define OPERATION_REQUEST "gardener.cloud/operation"
#define DRY_RUN		  "dnsrecord.fairlead.dev/dry-run"

#define SHORT_WAIT_NS	  (60 * NS_PER_S)

bool settled_is_short_wait(const json_t *condition, uint64_t now_wall_ns)
{
	uint64_t since_ns;
	return strcmp(api_get_string(condition, "reason"), "Waiting") == 0 &&
	       api_time_parse(api_get_string(condition, "lastTransitionTime"), &since_ns) == 0 &&
	       now_wall_ns < since_ns + SHORT_WAIT_NS;
}

bool settled_is_reported(const struct api_kind *kind)
{
	static const struct {
		const char *group, *kind;
	} rows[] = {
		{ "extensions.gardener.cloud", "DNSRecord" },
		{ "operator.openshift.io", "DNS" },
		{ "k8s.ovn.org", "EgressFirewall" },
		{ "ipam.cluster.x-k8s.io", "IPAddressClaim" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (strcmp(kind->group, rows[i].group) == 0 &&
		    strcmp(kind->kind, rows[i].kind) == 0)
			return true;
	}
	return false;
}

/* ---- lastOperation ---- */

static bool is_observed(const json_t *object)
{
	const json_t *observed = api_get(object, "status.observedGeneration");
	return json_integer_value(observed) >= api_generation(object) &&
	       api_annotation(object, OPERATION_REQUEST) == NULL;
}

static bool is_dry_run(const json_t *object)
{
	const char *text = api_annotation(object, DRY_RUN);
	return text != NULL && strcmp(text, "true") == 0;
}

static enum settled_state judge_operation(const json_t *object, struct strbuf *why)
{
	const char *state = api_get_string(object, "status.lastOperation.state");
	bool has_failed = strcmp(state, "Error") == 0 || strcmp(state, "Failed") == 0;
	if (!is_observed(object) && (has_failed || strcmp(state, "Succeeded") == 0)) {
		strbuf_adds(why, "its controller has not seen the change");
		return SETTLED_WAITING;
	}
	if (strcmp(state, "Succeeded") == 0)
		return SETTLED_DONE;
	const char *text = has_failed ? api_get_string(object, "status.lastError.description") : "";
	if (text[0] == '\0')
		text = api_get_string(object, "status.lastOperation.description");
	strbuf_adds(why, text[0] != '\0' ? text : state);
	return has_failed ? SETTLED_FAILED : SETTLED_WAITING;
}

/* ---- conditions ---- */

/* Does it hold back? Conditions of OpenShift's objects have no generation. */
static bool is_pending(const json_t *object, const json_t *condition)
{
	const json_t *observed = api_get(condition, "observedGeneration");
	bool is_old = observed != NULL && json_integer_value(observed) < api_generation(object);
	const char *type = api_get_string(condition, "type");
	const char *value = api_get_string(condition, "status");
	bool is_progressing = strcmp(type, "Progressing") == 0 && strcmp(value, "True") == 0;
	return is_old || is_progressing || condition_meaning(type, value) == CONDITION_PROBLEM;
}

static enum settled_state judge_conditions(const json_t *object, const json_t *conditions,
					   struct strbuf *why)
{
	json_t *condition;
	size_t i;
	json_array_foreach (conditions, i, condition) {
		if (!is_pending(object, condition))
			continue;
		strbuf_addf(why, "%s is %s (%s): %s", api_get_string(condition, "type"),
			    api_get_string(condition, "status"),
			    api_get_string(condition, "reason"),
			    api_get_string(condition, "message"));
		return SETTLED_WAITING; /* controllers go on trying */
	}
	return SETTLED_DONE;
}

enum settled_state settled_state_of(const json_t *object, struct strbuf *why)
{
	const json_t *conditions = api_get(object, "status.conditions");
	if (is_dry_run(object) && api_get(object, "status.providerStatus.dryRun") != NULL)
		return SETTLED_DONE;
	if (api_get(object, "status.lastOperation") != NULL)
		return judge_operation(object, why);
	if (json_array_size(conditions) != 0)
		return judge_conditions(object, conditions, why);
	strbuf_adds(why, "no controller has reported about it");
	return SETTLED_WAITING;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Table cells of Pods: how many containers are ready, and one word for the state of all of them. */
#include "apiserver/kind/table_cells_pod.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/age.h"
#include "apiserver/rules/members.h"
#include "base/strbuf.h"

struct summary {
	char reason[128];
	const json_t *pod;
	long long ready, total, restarts;
	const char *last_restart; /* time of the latest one, or "" */
	bool initializing;
};

static const json_t *find_named(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (apiserver_is(json_array_get(list, i), "name", name))
			return json_array_get(list, i);
	}
	return NULL;
}

static const json_t *find_condition(const json_t *object, const char *type)
{
	const json_t *list = api_get(object, "status.conditions");
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (apiserver_is(json_array_get(list, i), "type", type))
			return json_array_get(list, i);
	}
	return NULL;
}

static bool is_condition_true(const json_t *object, const char *type)
{
	return apiserver_is(find_condition(object, type), "status", "True");
}

static void add_restarts(struct summary *summary, const json_t *container)
{
	const char *end = api_get_string(container, "lastState.terminated.finishedAt");
	summary->restarts += apiserver_number(container, "restartCount");
	if (strcmp(end, summary->last_restart) > 0)
		summary->last_restart = end;
}

static void describe_exit(struct summary *summary, const char *prefix, const json_t *ended)
{
	const char *why = api_get_string(ended, "reason");
	long long signal = apiserver_number(ended, "signal");
	if (why[0] != '\0')
		snprintf(summary->reason, sizeof(summary->reason), "%s%s", prefix, why);
	else if (signal != 0)
		snprintf(summary->reason, sizeof(summary->reason), "%sSignal:%lld", prefix, signal);
	else
		snprintf(summary->reason, sizeof(summary->reason), "%sExitCode:%lld", prefix,
			 apiserver_number(ended, "exitCode"));
}

/* False: this init container decides the state, the next ones do not count. */
static bool summarize_init(struct summary *summary, const json_t *container, size_t index,
			   bool is_sidecar)
{
	const json_t *ended = api_get(container, "state.terminated");
	const char *waiting = api_get_string(container, "state.waiting.reason");
	if (ended != NULL && apiserver_number(ended, "exitCode") == 0)
		return true;
	if (is_sidecar && json_is_true(json_object_get(container, "started"))) {
		summary->ready += json_is_true(json_object_get(container, "ready"));
		return true;
	}
	summary->initializing = true;
	if (ended != NULL)
		describe_exit(summary, "Init:", ended);
	else if (waiting[0] != '\0' && strcmp(waiting, "PodInitializing") != 0)
		snprintf(summary->reason, sizeof(summary->reason), "Init:%s", waiting);
	else
		snprintf(summary->reason, sizeof(summary->reason), "Init:%zu/%zu", index,
			 json_array_size(api_get(summary->pod, "spec.initContainers")));
	return false;
}

/* Init containers; sidecars (restartPolicy Always) count as containers, too. */
static void summarize_inits(struct summary *summary, struct summary *sidecars)
{
	const json_t *specs = api_get(summary->pod, "spec.initContainers");
	const json_t *list = api_get(summary->pod, "status.initContainerStatuses");
	for (size_t i = 0; i < json_array_size(specs); i++)
		summary->total += apiserver_is(json_array_get(specs, i), "restartPolicy", "Always");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *c = json_array_get(list, i);
		const json_t *spec = find_named(specs, api_get_string(c, "name"));
		bool is_sidecar = apiserver_is(spec, "restartPolicy", "Always");
		add_restarts(summary, c);
		if (is_sidecar)
			add_restarts(sidecars, c);
		if (!summarize_init(summary, c, i, is_sidecar))
			break;
	}
}

static void summarize_containers(struct summary *summary)
{
	const json_t *list = api_get(summary->pod, "status.containerStatuses");
	char failed[sizeof(summary->reason)] = "";
	bool running = false;
	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *c = json_array_get(list, i), *ended = api_get(c, "state.terminated");
		const char *waiting = api_get_string(c, "state.waiting.reason");
		add_restarts(summary, c);
		if (waiting[0] != '\0') {
			snprintf(summary->reason, sizeof(summary->reason), "%s", waiting);
		} else if (ended != NULL) {
			describe_exit(summary, "", ended);
			if (apiserver_number(ended, "exitCode") != 0)
				memcpy(failed, summary->reason, sizeof(failed));
		} else if (json_is_true(json_object_get(c, "ready")) &&
			   api_get(c, "state.running") != NULL) {
			running = true;
			summary->ready++;
		}
	}
	if (strcmp(summary->reason, "Completed") != 0)
		return;
	if (running && is_condition_true(summary->pod, "Ready"))
		snprintf(summary->reason, sizeof(summary->reason), "Running");
	else if (failed[0] != '\0')
		memcpy(summary->reason, failed, sizeof(failed));
	else if (running)
		snprintf(summary->reason, sizeof(summary->reason), "NotReady");
}

static void summarize_pod(struct summary *summary)
{
	const char *phase = api_get_string(summary->pod, "status.phase");
	const char *reason = api_get_string(summary->pod, "status.reason");
	struct summary sidecars = { .last_restart = "" };
	snprintf(summary->reason, sizeof(summary->reason), "%s",
		 reason[0] != '\0' ? reason : phase);
	if (apiserver_is(find_condition(summary->pod, "PodScheduled"), "reason", "SchedulingGated"))
		snprintf(summary->reason, sizeof(summary->reason), "SchedulingGated");
	summary->total = (long long)json_array_size(api_get(summary->pod, "spec.containers"));
	summarize_inits(summary, &sidecars);
	if (!summary->initializing || is_condition_true(summary->pod, "Initialized")) {
		summary->restarts = sidecars.restarts;
		summary->last_restart = sidecars.last_restart;
		summarize_containers(summary);
	}
	if (!api_is_deleting(summary->pod))
		return;
	if (strcmp(reason, "NodeLost") == 0)
		snprintf(summary->reason, sizeof(summary->reason), "Unknown");
	else if (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0)
		snprintf(summary->reason, sizeof(summary->reason), "Terminating");
}

static json_t *format_gates(const json_t *object)
{
	const json_t *list = api_get(object, "spec.readinessGates");
	size_t open = 0, n = json_array_size(list);
	char text[48];
	for (size_t i = 0; i < n; i++)
		open += is_condition_true(object,
					  api_get_string(json_array_get(list, i), "conditionType"));
	snprintf(text, sizeof(text), "%zu/%zu", open, n);
	return json_string(n != 0 ? text : "<none>");
}

static const char *or_none(const char *text)
{
	return text[0] != '\0' ? text : "<none>";
}

json_t *apiserver_cells_pod(const json_t *object, uint64_t now_s)
{
	struct summary s = { .pod = object, .last_restart = "" };
	char ready[48], restarts[64], age[APISERVER_AGE_MAX], since[APISERVER_AGE_MAX];
	summarize_pod(&s);
	snprintf(ready, sizeof(ready), "%lld/%lld", s.ready, s.total);
	snprintf(restarts, sizeof(restarts), "%lld", s.restarts);
	if (s.restarts != 0 && s.last_restart[0] != '\0')
		snprintf(restarts, sizeof(restarts), "%lld (%s ago)", s.restarts,
			 apiserver_age(s.last_restart, now_s, since));
	return json_pack(
		"[nssssssso]", ready, s.reason, restarts,
		apiserver_age(api_get_string(object, "metadata.creationTimestamp"), now_s, age),
		or_none(api_get_string(object, "status.podIPs[0].ip")),
		or_none(api_get_string(object, "spec.nodeName")),
		or_none(api_get_string(object, "status.nominatedNodeName")), format_gates(object));
}

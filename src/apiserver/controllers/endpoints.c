/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The endpoints controllers of the embedded API: they follow Services, Pods and Endpoints, and
 * write the endpoints of each Service.
 *
 * A Service with a selector gets EndpointSlices (owned by it) and an Endpoints object of its name.
 * Endpoints that a user wrote for a Service without selector are mirrored into EndpointSlices
 * (owned by the Endpoints object). Labels, names and rules are those of kube-controller-manager. */
#include "apiserver/controllers/endpoints.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/controllers/endpoints_index.h"
#include "apiserver/controllers/endpoints_pods.h"
#include "apiserver/controllers/endpoints_subsets.h"
#include "apiserver/controllers/endpoints_write.h"
#include "apiserver/controllers/follower.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/request/object.h"
#include "apiserver/request/request.h"
#include "apiserver/rules/members.h"
#include "apiserver/store/key.h"
#include "apiserver/store/read.h"
#include "apiserver/store/watch.h"
#include "base/map.h"
#include "base/mem.h"

static const char service_label[] = "kubernetes.io/service-name";
static const char zone_label[] = "topology.kubernetes.io/zone";

struct apiserver_endpoints {
	struct apiserver_api *api;
	struct apiserver_follower *follower;
	struct map selectors; /* namespace → struct map of Service name → selector (json_t) */
	struct apiserver_endpoints_index pods;	 /* by "namespace label=value" */
	struct apiserver_endpoints_index slices; /* by "namespace/Service" */
	struct map due; /* "namespace/name" of Services to work on → &removed or &changed */
};

static char changed, removed; /* only their addresses are used, as values in `due` */

/* ---- following changes ---- */

/* Queues a Service. "Removed" is kept until the Service was processed. */
static void push_key(struct apiserver_endpoints *endpoints, const char *key, const char *why)
{
	if (map_get(&endpoints->due, slice_of(key)) != &removed)
		map_set(&endpoints->due, slice_of(key), why == &removed ? &removed : &changed);
}

static char *service_key(struct slice ns, const char *name)
{
	return xasprintf("%.*s/%s", (int)ns.n, ns.p, name);
}

static void push_service(struct apiserver_endpoints *endpoints, struct slice ns, const char *name)
{
	CLEANUP(freep) char *key = service_key(ns, name);
	push_key(endpoints, key, &changed);
}

static void forget_selector(struct apiserver_endpoints *endpoints, struct slice ns,
			    const char *name)
{
	struct map *services = map_get(&endpoints->selectors, ns);
	if (services != NULL)
		json_decref(map_del(services, slice_of(name)));
}

static void note_service(struct apiserver_endpoints *endpoints, struct slice ns, const char *name,
			 struct slice text)
{
	json_t *service = json_loadb(text.p, text.n, 0, NULL);
	json_t *selector = api_get(service, "spec.selector");
	forget_selector(endpoints, ns, name);
	if (json_object_size(selector) != 0) {
		struct map *services = map_get(&endpoints->selectors, ns);
		if (services == NULL) {
			services = xcalloc(1, sizeof(*services));
			map_init(services);
			map_set(&endpoints->selectors, ns, services);
		}
		map_set(services, slice_of(name), json_incref(selector));
	}
	json_decref(service);
	push_service(endpoints, ns, name);
}

static bool is_selected(const json_t *labels, json_t *selector)
{
	const char *key;
	json_t *value;
	json_object_foreach (selector, key, value) {
		const json_t *label = json_object_get(labels, key);
		if (!json_is_string(label) || strcmp(api_text(label), api_text(value)) != 0)
			return false;
	}
	return json_object_size(selector) != 0;
}

struct noted {
	struct slice group, plural, ns, text, before;
	const char *name;
	bool removed;
};

static char *pod_key(struct slice ns, const char *label, const json_t *value)
{
	return xasprintf("%.*s %s=%s", (int)ns.n, ns.p, label, api_text(value));
}

typedef void note_name_fn(struct apiserver_endpoints_index *names, const char *property,
			  const char *name);

static void index_pod(struct apiserver_endpoints *endpoints, const struct noted *noted,
		      json_t *labels, note_name_fn *note_name)
{
	const char *label;
	json_t *value;
	json_object_foreach (labels, label, value) {
		CLEANUP(freep) char *key = pod_key(noted->ns, label, value);
		note_name(&endpoints->pods, key, noted->name);
	}
}

/* Indexes a Pod's old or new state, and queues the Services that select it. */
static void note_pod(struct apiserver_endpoints *endpoints, const struct noted *noted,
		     struct slice text, note_name_fn *note_name)
{
	const struct map *services = map_get(&endpoints->selectors, noted->ns);
	const struct map_entry *entry;
	size_t pos = 0;
	if (text.n == 0)
		return;
	json_t *pod = json_loadb(text.p, text.n, 0, NULL);
	json_t *labels = api_get(pod, "metadata.labels");
	index_pod(endpoints, noted, labels, note_name);
	while (services != NULL && (entry = map_next(services, &pos)) != NULL) {
		if (is_selected(labels, entry->value))
			push_service(endpoints, noted->ns, entry->key);
	}
	json_decref(pod);
}

/* Indexes a slice's old or new state, and queues its Service: the slice may be one of ours. */
static void note_slice(struct apiserver_endpoints *endpoints, const struct noted *noted,
		       struct slice text, note_name_fn *note_name)
{
	json_t *slice = text.n != 0 ? json_loadb(text.p, text.n, 0, NULL) : NULL;
	const char *service = api_label(slice, service_label);
	if (service != NULL && service[0] != '\0') {
		CLEANUP(freep) char *key = service_key(noted->ns, service);
		note_name(&endpoints->slices, key, noted->name);
		push_key(endpoints, key, &changed);
	}
	json_decref(slice);
}

static void note_object(struct apiserver_endpoints *endpoints, const struct noted *noted)
{
	bool core = noted->group.n == 0;
	if (core && slice_is(noted->plural, "services")) {
		if (noted->removed) {
			CLEANUP(freep) char *key = service_key(noted->ns, noted->name);
			forget_selector(endpoints, noted->ns, noted->name);
			push_key(endpoints, key, &removed);
		} else {
			note_service(endpoints, noted->ns, noted->name, noted->text);
		}
	} else if (core && slice_is(noted->plural, "pods")) {
		note_pod(endpoints, noted, noted->before, apiserver_endpoints_index_remove);
		if (!noted->removed)
			note_pod(endpoints, noted, noted->text, apiserver_endpoints_index_add);
	} else if (core && slice_is(noted->plural, "endpoints")) {
		push_service(endpoints, noted->ns, noted->name);
	} else if (slice_is(noted->group, "discovery.k8s.io") &&
		   slice_is(noted->plural, "endpointslices")) {
		note_slice(endpoints, noted, noted->before, apiserver_endpoints_index_remove);
		if (!noted->removed)
			note_slice(endpoints, noted, noted->text, apiserver_endpoints_index_add);
	}
}

/* The kinds that note_object knows. */
static bool concerns_endpoints(const struct apiserver_event *event)
{
	static const char *const kinds[] = { "core/services/", "core/pods/", "core/endpoints/",
					     "discovery.k8s.io/endpointslices/" };
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strncmp(event->key, kinds[i], strlen(kinds[i])) == 0)
			return true;
	}
	return false;
}

static void see_object(void *ctx, const struct apiserver_row *row)
{
	struct noted noted = { .text = row->value };
	apiserver_key_split(row->key, &noted.group, &noted.plural, &noted.ns, &noted.name);
	note_object(ctx, &noted);
}

static void see_change(void *ctx, const struct apiserver_event *event)
{
	struct noted noted = { .text = event->value,
			       .before = event->before,
			       .removed = event->removed };
	apiserver_key_split(event->key, &noted.group, &noted.plural, &noted.ns, &noted.name);
	note_object(ctx, &noted);
}

static void forget_all(void *ctx)
{
	struct apiserver_endpoints *endpoints = ctx;
	const struct map_entry *ns, *service;
	size_t pos = 0;
	while ((ns = map_next(&endpoints->selectors, &pos)) != NULL) {
		size_t at = 0;
		while ((service = map_next(ns->value, &at)) != NULL)
			json_decref(service->value);
		map_done(ns->value);
		free(ns->value);
	}
	map_done(&endpoints->selectors);
	apiserver_endpoints_index_done(&endpoints->pods);
	apiserver_endpoints_index_done(&endpoints->slices);
}

/* ---- reading Pods and nodes ---- */

/* Names of the Pods with the rarest of the selector's labels: a superset of the selected Pods. */
static const struct map *find_candidates(const struct apiserver_endpoints *endpoints,
					 const char *ns, json_t *selector)
{
	const struct map *rarest = NULL;
	const char *label;
	json_t *value;
	json_object_foreach (selector, label, value) {
		CLEANUP(freep) char *key = pod_key(slice_of(ns), label, value);
		const struct map *names = apiserver_endpoints_index_get(&endpoints->pods, key);
		if (names == NULL)
			return NULL;
		if (rarest == NULL || names->n < rarest->n)
			rarest = names;
	}
	return rarest;
}

/* Sorts Pods by name, as a list does. */
static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int read_pods(struct apiserver_api *api, const char *ns, const struct map *names,
		     json_t *pods)
{
	const char **sorted = xcalloc(names->n + 1, sizeof(*sorted));
	const struct map_entry *entry;
	size_t pos = 0, n = 0;
	int e = 0;
	while ((entry = map_next(names, &pos)) != NULL)
		sorted[n++] = entry->key;
	qsort(sorted, n, sizeof(*sorted), compare_names);
	for (size_t i = 0; i < n && e == 0; i++) {
		e = apiserver_endpoints_read(api, apiserver_resource_find("", "v1", "pods"), ns,
					     sorted[i], pods);
		/* Half of a Pod's memory, and not needed here. */
		json_object_del(
			api_get(json_array_get(pods, json_array_size(pods) - 1), "metadata"),
			"managedFields");
	}
	free(sorted);
	return e;
}

static int list_pods(const struct apiserver_endpoints *endpoints, const char *ns, json_t *selector,
		     json_t *pods)
{
	const struct map *names = find_candidates(endpoints, ns, selector);
	int e = names != NULL ? read_pods(endpoints->api, ns, names, pods) : 0;
	for (size_t i = json_array_size(pods); i > 0; i--) {
		if (!is_selected(api_get(json_array_get(pods, i - 1), "metadata.labels"), selector))
			json_array_remove(pods, i - 1);
	}
	return e;
}

static const char *zone_of(const json_t *node)
{
	const char *zone = api_label(node, zone_label);
	return zone != NULL ? zone : "";
}

/* Node name → zone, of the nodes that the Pods run on. */
static json_t *read_zones(struct apiserver_api *api, const json_t *pods)
{
	json_t *zones = json_object();
	const json_t *pod;
	size_t i;
	json_array_foreach (pods, i, pod) {
		const char *name = api_get_string(pod, "spec.nodeName");
		json_t *node = NULL;
		uint64_t revision;
		if (name[0] == '\0' || json_object_get(zones, name) != NULL)
			continue;
		if (apiserver_object_read(api->store, apiserver_resource_find("", "v1", "nodes"),
					  NULL, name, &node, &revision) == 0)
			json_object_set_new(zones, name, json_string(zone_of(node)));
		json_decref(node);
	}
	return zones;
}

/* ---- a Service ---- */

static bool has_selector(const json_t *service)
{
	return json_object_size(api_get(service, "spec.selector")) != 0;
}

static bool selects_pods(const json_t *service)
{
	return has_selector(service) &&
	       !apiserver_is(json_object_get(service, "spec"), "type", "ExternalName");
}

static bool sync_selected(struct apiserver_endpoints *endpoints, const json_t *service,
			  const struct map *slices)
{
	json_t *pods = json_array(), *refused = json_array();
	bool fine = list_pods(endpoints, api_namespace(service), api_get(service, "spec.selector"),
			      pods) == 0;
	if (fine) {
		json_t *zones = read_zones(endpoints->api, pods);
		json_t *groups = apiserver_endpoints_pods_to_groups(service, pods, zones, refused);
		json_t *subsets = apiserver_endpoints_pods_to_subsets(service, pods);
		fine = apiserver_endpoints_write_slices(
			endpoints->api,
			&(struct apiserver_endpoints_of){ service, service, slices }, groups);
		fine = apiserver_endpoints_write(endpoints->api, service, subsets) && fine;
		apiserver_endpoints_report_refused(endpoints->api, service, refused);
		json_decref(zones);
		json_decref(groups);
		json_decref(subsets);
	}
	json_decref(pods);
	json_decref(refused);
	return fine;
}

/* A Service that is being processed. */
struct work {
	const char *ns, *name;
	const json_t *service;	  /* NULL: it does not exist */
	const struct map *slices; /* names of slices with its label; NULL: none */
	bool removed;		  /* it existed before */
};

/* Mirrors Endpoints that a user wrote if the Service has no selector, and removes mirrors
 * otherwise. Removes the Endpoints of a removed Service, whoever wrote them. */
static bool sync_mirror(struct apiserver_endpoints *endpoints, const struct work *work)
{
	json_t *written = NULL;
	uint64_t revision;
	int e = apiserver_object_read(endpoints->api->store,
				      apiserver_resource_find("", "v1", "endpoints"), work->ns,
				      work->name, &written, &revision);
	bool fine = e == 0 || e == ERR_NOTFOUND;
	if (e == 0 && work->service != NULL && !has_selector(work->service) &&
	    apiserver_endpoints_is_mirrored(written)) {
		json_t *groups =
			apiserver_endpoints_subsets_to_groups(json_object_get(written, "subsets"));
		fine = apiserver_endpoints_write_slices(
			endpoints->api,
			&(struct apiserver_endpoints_of){ work->service, written, work->slices },
			groups);
		json_decref(groups);
	} else if (fine) {
		fine = apiserver_endpoints_remove_mirrored(endpoints->api, work->ns, work->name,
							   work->slices);
	}
	if (e == 0 && work->service == NULL &&
	    (work->removed || apiserver_endpoints_is_own(written)))
		fine = apiserver_endpoints_remove(endpoints->api, written) && fine;
	json_decref(written);
	return fine;
}

/* False: try again. */
static bool sync_service(void *ctx, const char *key, void *why)
{
	struct apiserver_endpoints *endpoints = ctx;
	struct slice rest = slice_of(key), ns = slice_cut(&rest, '/');
	CLEANUP(freep) char *ns_text = xstrndup(ns.p, ns.n);
	json_t *service = NULL;
	uint64_t revision;
	bool fine = true;
	int e = apiserver_object_read(endpoints->api->store,
				      apiserver_resource_find("", "v1", "services"), ns_text,
				      rest.p, &service, &revision);
	if (e < 0 && e != ERR_NOTFOUND)
		return false;
	if (e < 0 || !api_is_deleting(service)) {
		struct work work = { ns_text, rest.p, service,
				     apiserver_endpoints_index_get(&endpoints->slices, key),
				     why == &removed };
		fine = sync_mirror(endpoints, &work);
		if (e == 0 && selects_pods(service))
			fine = sync_selected(endpoints, service, work.slices) && fine;
	}
	json_decref(service);
	return fine;
}

static bool sync_due(void *ctx, const struct apiserver_follower *follower)
{
	struct apiserver_endpoints *endpoints = ctx;
	return apiserver_follower_process(follower, &endpoints->due, sync_service, endpoints);
}

static const struct apiserver_follower_ops endpoints_ops = {
	.reset = forget_all,
	.see = see_object,
	.concerns = concerns_endpoints,
	.change = see_change,
	.act = sync_due,
};

struct apiserver_endpoints *apiserver_endpoints_new(struct apiserver_api *api)
{
	struct apiserver_endpoints *endpoints = xcalloc(1, sizeof(*endpoints));
	endpoints->api = api;
	map_init(&endpoints->selectors);
	map_init(&endpoints->due);
	apiserver_endpoints_index_init(&endpoints->pods);
	apiserver_endpoints_index_init(&endpoints->slices);
	endpoints->follower = apiserver_follower_new(api->store, &endpoints_ops, endpoints);
	return endpoints;
}

void apiserver_endpoints_free(struct apiserver_endpoints *endpoints)
{
	if (endpoints == NULL)
		return;
	apiserver_follower_free(endpoints->follower);
	forget_all(endpoints);
	map_done(&endpoints->due);
	free(endpoints);
}

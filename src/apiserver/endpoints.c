/* The endpoints controllers of the embedded API: they follow Services, Pods and Endpoints, and
 * write what should be behind each Service.
 *
 * A Service with a selector gets EndpointSlices (owned by it) and an Endpoints object of its name.
 * Endpoints that somebody wrote for a Service without selector are mirrored into EndpointSlices
 * (owned by the Endpoints object). Labels, names and rules are those of kube-controller-manager, so
 * that a client cannot tell. */
#include "apiserver/endpoints.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/endpoints_write.h"
#include "apiserver/follower.h"
#include "apiserver/key.h"
#include "apiserver/kind_priv.h"
#include "apiserver/rest_priv.h"
#include "base/map.h"
#include "base/mem.h"

static const char service_label[] = "kubernetes.io/service-name";
static const char zone_label[] = "topology.kubernetes.io/zone";

struct apiserver_endpoints {
	struct apiserver_api *api;
	struct apiserver_follower *follower;
	struct map selectors; /* namespace → struct map of Service name → selector (json_t) */
	struct map due;	      /* "namespace/name" of Services to work on; values mean nothing */
};

/* ---- what changed ---- */

static void push_service(struct apiserver_endpoints *endpoints, struct slice ns, const char *name)
{
	CLEANUP(freep) char *key = xasprintf("%.*s/%s", (int)ns.n, ns.p, name);
	map_set(&endpoints->due, slice_of(key), endpoints);
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

/* Services that select the Pod as it was or as it is. */
static void note_pod(struct apiserver_endpoints *endpoints, struct slice ns, struct slice text)
{
	const struct map *services = map_get(&endpoints->selectors, ns);
	const struct map_entry *entry;
	size_t pos = 0;
	if (services == NULL || services->n == 0 || text.n == 0)
		return;
	json_t *pod = json_loadb(text.p, text.n, 0, NULL);
	const json_t *labels = api_get(pod, "metadata.labels");
	while ((entry = map_next(services, &pos)) != NULL) {
		if (is_selected(labels, entry->value))
			push_service(endpoints, ns, entry->key);
	}
	json_decref(pod);
}

/* Somebody changed or removed a slice: it may be one of ours. */
static void note_slice(struct apiserver_endpoints *endpoints, struct slice ns, struct slice text)
{
	json_t *slice = text.n != 0 ? json_loadb(text.p, text.n, 0, NULL) : NULL;
	const char *service = api_label(slice, service_label);
	if (service != NULL && service[0] != '\0')
		push_service(endpoints, ns, service);
	json_decref(slice);
}

struct noted {
	struct slice group, plural, ns, text, before;
	const char *name;
	bool removed;
};

static void note_object(struct apiserver_endpoints *endpoints, const struct noted *noted)
{
	bool core = noted->group.n == 0;
	if (core && slice_is(noted->plural, "services")) {
		if (noted->removed) {
			forget_selector(endpoints, noted->ns, noted->name);
			push_service(endpoints, noted->ns, noted->name);
		} else {
			note_service(endpoints, noted->ns, noted->name, noted->text);
		}
	} else if (core && slice_is(noted->plural, "pods")) {
		note_pod(endpoints, noted->ns, noted->text);
		note_pod(endpoints, noted->ns, noted->before);
	} else if (core && slice_is(noted->plural, "endpoints")) {
		push_service(endpoints, noted->ns, noted->name);
	} else if (slice_is(noted->group, "discovery.k8s.io") &&
		   slice_is(noted->plural, "endpointslices")) {
		note_slice(endpoints, noted->ns, noted->text);
		note_slice(endpoints, noted->ns, noted->before);
	}
}

static void see_object(void *ctx, const struct apiserver_row *row)
{
	struct noted noted = { .text = row->value };
	apiserver_key_split(row->key, &noted.group, &noted.plural, &noted.ns, &noted.name);
	/* Every Service is worked on at the start, whatever its Pods are. */
	if (slice_is(noted.plural, "services") || slice_is(noted.plural, "endpoints"))
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
	map_init(&endpoints->selectors);
}

/* ---- gathering ---- */

/* The first pair of the selector as it stands in a Pod's text: most Pods are sorted out by it,
 * without being parsed. */
static char *selector_pair(json_t *selector)
{
	const char *key;
	json_t *value;
	json_object_foreach (selector, key, value) {
		json_t *pair = json_pack("{sO}", key, value);
		char *text = json_dumps(pair, JSON_COMPACT);
		json_decref(pair);
		memmove(text, text + 1, strlen(text));
		text[strlen(text) - 1] = '\0';
		return text;
	}
	return NULL;
}

struct pods_search {
	json_t *selector, *pods;
	char *pair;
};

static int take_pod(void *ctx, const struct apiserver_row *row)
{
	struct pods_search *search = ctx;
	if (memmem(row->value.p, row->value.n, search->pair, strlen(search->pair)) == NULL)
		return 0;
	json_t *pod = json_loadb(row->value.p, row->value.n, 0, NULL);
	if (is_selected(api_get(pod, "metadata.labels"), search->selector))
		json_array_append(search->pods, pod);
	json_decref(pod);
	return 0;
}

static int list_pods(struct apiserver_api *api, const char *ns, json_t *selector, json_t *pods)
{
	CLEANUP(strbuf_done) struct strbuf prefix = STRBUF_INIT;
	struct pods_search search = { selector, pods, selector_pair(selector) };
	uint64_t at;
	apiserver_key(&prefix, apiserver_resource_find("", "v1", "pods")->kind, ns, NULL);
	struct apiserver_range range = { .prefix = prefix.s, .skip_damaged = true };
	int e = apiserver_store_list(api->store, &range, take_pod, &search, &at, NULL);
	free(search.pair);
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
	return json_object_size(api_get(service, "spec.selector")) != 0 &&
	       !apiserver_is(json_object_get(service, "spec"), "type", "ExternalName");
}

static bool sync_selected(struct apiserver_endpoints *endpoints, const json_t *service)
{
	json_t *pods = json_array(), *refused = json_array();
	bool fine = list_pods(endpoints->api, api_namespace(service),
			      api_get(service, "spec.selector"), pods) == 0;
	if (fine) {
		json_t *zones = read_zones(endpoints->api, pods);
		json_t *groups = apiserver_groups_from_pods(service, pods, zones, refused);
		json_t *subsets = apiserver_subsets_from_pods(service, pods);
		fine = apiserver_endpoints_write_slices(endpoints->api, service, service, groups);
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

/* Without a selector: what somebody wrote as Endpoints is mirrored. `service` may be NULL: it is
 * gone, and what was made for it goes. */
static bool sync_unselected(struct apiserver_endpoints *endpoints, const json_t *service,
			    const char *ns, const char *name)
{
	json_t *written = NULL;
	uint64_t revision;
	int e = apiserver_object_read(endpoints->api->store,
				      apiserver_resource_find("", "v1", "endpoints"), ns, name,
				      &written, &revision);
	bool fine = e == 0 || e == ERR_NOTFOUND;
	if (e == 0 && service == NULL && apiserver_endpoints_is_own(written))
		fine = apiserver_endpoints_remove(endpoints->api, written);
	else if (e == 0 && service != NULL && apiserver_endpoints_is_mirrored(written)) {
		json_t *groups = apiserver_groups_from_subsets(json_object_get(written, "subsets"));
		fine = apiserver_endpoints_write_slices(endpoints->api, service, written, groups);
		json_decref(groups);
	}
	json_decref(written);
	return fine;
}

/* False: it is to be tried again. */
static bool sync_service(struct apiserver_endpoints *endpoints, const char *key)
{
	struct slice rest = slice_of(key), ns = slice_cut(&rest, '/');
	CLEANUP(freep) char *ns_text = xstrndup(ns.p, ns.n);
	json_t *service = NULL;
	uint64_t revision;
	int e = apiserver_object_read(endpoints->api->store,
				      apiserver_resource_find("", "v1", "services"), ns_text,
				      rest.p, &service, &revision);
	bool fine;
	if (e < 0 && e != ERR_NOTFOUND)
		return false;
	if (e == 0 && api_is_deleting(service))
		fine = true;
	else if (e == 0 && has_selector(service))
		fine = sync_selected(endpoints, service);
	else
		fine = sync_unselected(endpoints, service, ns_text, rest.p);
	json_decref(service);
	return fine;
}

static bool act(void *ctx)
{
	struct apiserver_endpoints *endpoints = ctx;
	struct map todo = endpoints->due;
	const struct map_entry *entry;
	size_t pos = 0;
	map_init(&endpoints->due);
	while ((entry = map_next(&todo, &pos)) != NULL) {
		if (!sync_service(endpoints, entry->key))
			map_set(&endpoints->due, slice_of(entry->key), endpoints);
	}
	map_done(&todo);
	return endpoints->due.n != 0;
}

static const struct apiserver_follower_ops endpoints_ops = {
	.reset = forget_all,
	.see = see_object,
	.change = see_change,
	.act = act,
};

struct apiserver_endpoints *apiserver_endpoints_new(struct apiserver_api *api)
{
	struct apiserver_endpoints *endpoints = xcalloc(1, sizeof(*endpoints));
	endpoints->api = api;
	map_init(&endpoints->selectors);
	map_init(&endpoints->due);
	endpoints->follower = apiserver_follower_new(api->store, &endpoints_ops, endpoints);
	return endpoints;
}

void apiserver_endpoints_free(struct apiserver_endpoints *endpoints)
{
	if (endpoints == NULL)
		return;
	apiserver_follower_free(endpoints->follower);
	forget_all(endpoints);
	map_done(&endpoints->selectors);
	map_done(&endpoints->due);
	free(endpoints);
}

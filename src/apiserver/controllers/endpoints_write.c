/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the EndpointSlices, Endpoints and Events of the endpoints controllers, with their labels
 * and owners. Objects that have the right content already are not written. */
#include "apiserver/controllers/endpoints_write.h"

#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "apiserver/controllers/endpoints.h"
#include "apiserver/controllers/endpoints_slices.h"
#include "apiserver/kind/service.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/request/object.h"
#include "apiserver/request/request.h"
#include "apiserver/rules/members.h"
#include "apiserver/store/key.h"
#include "apiserver/verb/delete.h"
#include "apiserver/verb/write.h"
#include "base/clock.h"
#include "base/mem.h"

static const char manager[] = "fairlead";
static const char service_label[] = "kubernetes.io/service-name";
static const char slice_manager_label[] = "endpointslice.kubernetes.io/managed-by";
static const char headless_label[] = "service.kubernetes.io/headless";
static const char endpoints_manager_label[] = "endpoints.kubernetes.io/managed-by";
static const char endpoints_manager[] = "endpoint-controller";
static const char mirroring_manager[] = "endpointslicemirroring-controller.k8s.io";
static const char skip_mirror_label[] = "endpointslice.kubernetes.io/skip-mirror";

static const struct apiserver_resource *slices_resource(void)
{
	return apiserver_resource_find("discovery.k8s.io", "v1", "endpointslices");
}

static const struct apiserver_resource *endpoints_resource(void)
{
	return apiserver_resource_find("", "v1", "endpoints");
}

int apiserver_endpoints_read(struct apiserver_api *api, const struct apiserver_resource *resource,
			     const char *ns, const char *name, json_t *list)
{
	json_t *object = NULL;
	uint64_t revision;
	int e = apiserver_object_read(api->store, resource, ns, name, &object, &revision);
	if (e == 0)
		json_array_append_new(list, object);
	return e == ERR_NOTFOUND || e == ERR_DAMAGED ? 0 : e;
}

/* ---- one write ---- */

static bool create_object(struct apiserver_api *api, const struct apiserver_resource *resource,
			  const char *ns, json_t *object)
{
	struct apiserver_status status = APISERVER_STATUS_INIT;
	json_t *stored = NULL;
	int e = apiserver_write_new(&(struct apiserver_writing){ .api = api,
								 .resource = resource,
								 .ns = ns,
								 .subresource = "",
								 .manager = manager,
								 .status = &status },
				    object, &stored);
	/* No retry helps in a namespace that is being deleted or gone, or for an invalid object. */
	bool fine = e == 0 || status.code == 403 || status.code == 404 || status.code == 422;
	json_decref(stored);
	apiserver_status_done(&status);
	return fine;
}

static bool change_object(struct apiserver_api *api, const struct apiserver_resource *resource,
			  json_t *object)
{
	struct apiserver_status status = APISERVER_STATUS_INIT;
	json_t *old = NULL, *stored = NULL;
	uint64_t revision;
	const char *ns = api_namespace(object);
	int e = apiserver_object_read(api->store, resource, ns, api_name(object), &old, &revision);
	if (e == 0)
		e = apiserver_write_change(&(struct apiserver_writing){ .api = api,
									.resource = resource,
									.ns = ns,
									.subresource = "",
									.manager = manager,
									.status = &status },
					   old, revision, object, &stored);
	bool fine = e == 0 || status.code == 422;
	json_decref(old);
	json_decref(stored);
	apiserver_status_done(&status);
	return fine;
}

static bool remove_object(struct apiserver_api *api, const struct apiserver_resource *resource,
			  const json_t *object)
{
	return apiserver_delete_as_system(api, resource, api_namespace(object), api_name(object),
					  api_uid(object), "");
}

/* ---- labels and owners ---- */

static bool is_headless(const json_t *service)
{
	return apiserver_service_is_headless(json_object_get(service, "spec"));
}

/* The owner's labels without those that identify a slice. */
static json_t *copy_labels(const json_t *from)
{
	static const char *const reserved[] = { service_label, slice_manager_label,
						headless_label };
	json_t *labels = json_deep_copy(api_get(from, "metadata.labels"));
	if (!json_is_object(labels)) {
		json_decref(labels);
		labels = json_object();
	}
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		json_object_del(labels, reserved[i]);
	return labels;
}

static bool is_service(const json_t *owner)
{
	return strcmp(api_kind(owner), "Service") == 0;
}

static const char *slice_manager(const json_t *owner)
{
	return is_service(owner) ? "endpointslice-controller.k8s.io" : mirroring_manager;
}

static json_t *slice_labels(const json_t *service, const json_t *owner)
{
	json_t *labels = copy_labels(owner);
	if (is_headless(service) && is_service(owner))
		json_object_set_new(labels, headless_label, json_string(""));
	json_object_set_new(labels, service_label, json_string(api_name(service)));
	json_object_set_new(labels, slice_manager_label, json_string(slice_manager(owner)));
	return labels;
}

static json_t *owner_references(const json_t *owner)
{
	return json_pack("[{ss,ss,ss,ss,sb,sb}]", "apiVersion", "v1", "kind", api_kind(owner),
			 "name", api_name(owner), "uid", api_uid(owner), "controller", 1,
			 "blockOwnerDeletion", 1);
}

/* ---- slices ---- */

struct slices_search {
	const char *ns, *service, *managed_by;
	const struct map *names; /* of all slices of the Service; NULL: none */
};

static bool is_sought(const struct slices_search *search, const json_t *slice)
{
	const json_t *labels = api_get(slice, "metadata.labels");
	return apiserver_is(labels, service_label, search->service) &&
	       apiserver_is(labels, slice_manager_label, search->managed_by) &&
	       !api_is_deleting(slice);
}

static int list_slices(struct apiserver_api *api, const struct slices_search *search, json_t *found)
{
	const struct map_entry *entry;
	size_t pos = 0;
	int e = 0;
	while (e == 0 && search->names != NULL && (entry = map_next(search->names, &pos)) != NULL)
		e = apiserver_endpoints_read(api, slices_resource(), search->ns, entry->key, found);
	for (size_t i = json_array_size(found); i > 0; i--) {
		if (!is_sought(search, json_array_get(found, i - 1)))
			json_array_remove(found, i - 1);
	}
	return e;
}

static bool has_name(const json_t *objects, const char *name)
{
	const json_t *object;
	size_t i;
	json_array_foreach (objects, i, object) {
		if (strcmp(api_name(object), name) == 0)
			return true;
	}
	return false;
}

/* Adds slices with the right content but wrong labels or owner to the plan. */
static void add_relabelled(const json_t *present, const json_t *labels, const json_t *owners,
			   struct apiserver_endpoints_slices_plan *plan)
{
	json_t *slice;
	size_t i;
	json_array_foreach (present, i, slice) {
		if ((!json_equal(api_get(slice, "metadata.labels"), labels) ||
		     !json_equal(api_get(slice, "metadata.ownerReferences"), owners)) &&
		    !has_name(plan->change, api_name(slice)) &&
		    !has_name(plan->remove, api_name(slice)))
			json_array_append_new(plan->change, json_deep_copy(slice));
	}
}

static bool write_plan(struct apiserver_api *api, const json_t *service, json_t *labels,
		       json_t *owners, const struct apiserver_endpoints_slices_plan *plan)
{
	const char *ns = api_namespace(service);
	CLEANUP(freep) char *base = xasprintf("%s-", api_name(service));
	bool fine = true;
	json_t *item;
	size_t i;
	json_array_foreach (plan->change, i, item) {
		json_object_set(json_object_get(item, "metadata"), "labels", labels);
		json_object_set(json_object_get(item, "metadata"), "ownerReferences", owners);
		fine = change_object(api, slices_resource(), item) && fine;
	}
	json_array_foreach (plan->create, i, item) {
		json_object_set_new(item, "apiVersion", json_string("discovery.k8s.io/v1"));
		json_object_set_new(item, "kind", json_string("EndpointSlice"));
		json_object_set_new(item, "metadata",
				    json_pack("{ss,sO,sO}", "generateName", base, "labels", labels,
					      "ownerReferences", owners));
		fine = create_object(api, slices_resource(), ns, item) && fine;
	}
	json_array_foreach (plan->remove, i, item)
		fine = remove_object(api, slices_resource(), item) && fine;
	return fine;
}

bool apiserver_endpoints_write_slices(struct apiserver_api *api,
				      const struct apiserver_endpoints_of *of, const json_t *groups)
{
	const json_t *service = of->service, *owner = of->owner;
	struct apiserver_endpoints_slices_plan plan;
	const char *types[3] = { NULL };
	json_t *present = json_array(), *family;
	size_t i;
	if (is_service(owner)) { /* mirrored ones keep no empty slice */
		json_array_foreach (api_get(service, "spec.ipFamilies"), i, family) {
			if (i < 2)
				types[i] = api_text(family);
		}
	}
	struct slices_search search = { api_namespace(service), api_name(service),
					slice_manager(owner), of->names };
	bool fine = list_slices(api, &search, present) == 0;
	if (fine) {
		json_t *labels = slice_labels(service, owner), *owners = owner_references(owner);
		apiserver_endpoints_slices_plan(groups, types, present, &plan);
		add_relabelled(present, labels, owners, &plan);
		fine = write_plan(api, service, labels, owners, &plan);
		apiserver_endpoints_slices_plan_done(&plan);
		json_decref(labels);
		json_decref(owners);
	}
	json_decref(present);
	return fine;
}

bool apiserver_endpoints_remove_mirrored(struct apiserver_api *api, const char *ns,
					 const char *name, const struct map *names)
{
	json_t *present = json_array();
	struct slices_search search = { ns, name, mirroring_manager, names };
	bool fine = list_slices(api, &search, present) == 0;
	const json_t *slice;
	size_t i;
	json_array_foreach (present, i, slice)
		fine = remove_object(api, slices_resource(), slice) && fine;
	json_decref(present);
	return fine;
}

/* ---- Endpoints ---- */

bool apiserver_endpoints_is_own(const json_t *written)
{
	return apiserver_is(api_get(written, "metadata.labels"), endpoints_manager_label,
			    endpoints_manager);
}

bool apiserver_endpoints_is_derived(const json_t *object)
{
	static const char *const managers[] = { "endpointslice-controller.k8s.io",
						mirroring_manager };
	const json_t *labels = api_get(object, "metadata.labels");
	if (strcmp(api_kind(object), "Endpoints") == 0)
		return apiserver_endpoints_is_own(object);
	if (strcmp(api_kind(object), "EndpointSlice") != 0)
		return false;
	return apiserver_is(labels, slice_manager_label, managers[0]) ||
	       apiserver_is(labels, slice_manager_label, managers[1]);
}

bool apiserver_endpoints_is_mirrored(const json_t *written)
{
	return !api_is_deleting(written) &&
	       !apiserver_is(api_get(written, "metadata.labels"), skip_mirror_label, "true") &&
	       api_annotation(written, "control-plane.alpha.kubernetes.io/leader") == NULL;
}

bool apiserver_endpoints_remove(struct apiserver_api *api, const json_t *written)
{
	return remove_object(api, endpoints_resource(), written);
}

static json_t *endpoints_labels(const json_t *service)
{
	json_t *labels = copy_labels(service);
	if (is_headless(service))
		json_object_set_new(labels, headless_label, json_string(""));
	json_object_set_new(labels, endpoints_manager_label, json_string(endpoints_manager));
	return labels;
}

static bool same_subsets(const json_t *left, const json_t *right)
{
	if (json_array_size(left) == 0 || json_array_size(right) == 0)
		return json_array_size(left) == json_array_size(right);
	return json_equal(left, right);
}

bool apiserver_endpoints_write(struct apiserver_api *api, const json_t *service,
			       const json_t *subsets)
{
	const char *ns = api_namespace(service), *name = api_name(service);
	json_t *labels = endpoints_labels(service), *object = NULL;
	uint64_t revision;
	int e = apiserver_object_read(api->store, endpoints_resource(), ns, name, &object,
				      &revision);
	bool fine = e == 0 || e == ERR_NOTFOUND;
	if (e == ERR_NOTFOUND) {
		object = json_pack("{ss,ss,s{ss,sO},sO}", "apiVersion", "v1", "kind", "Endpoints",
				   "metadata", "name", name, "labels", labels, "subsets", subsets);
		fine = create_object(api, endpoints_resource(), ns, object);
	} else if (e == 0 && !api_is_deleting(object) &&
		   (!same_subsets(json_object_get(object, "subsets"), subsets) ||
		    !json_equal(api_get(object, "metadata.labels"), labels))) {
		json_object_set(json_object_get(object, "metadata"), "labels", labels);
		json_object_set(object, "subsets", api_tree(subsets));
		fine = change_object(api, endpoints_resource(), object);
	}
	json_decref(labels);
	json_decref(object);
	return fine;
}

/* ---- Events ---- */

void apiserver_endpoints_report_refused(struct apiserver_api *api, const json_t *service,
					const json_t *refused)
{
	const json_t *item;
	size_t i;
	json_array_foreach (refused, i, item) {
		const char *pod = api_get_string(item, "pod");
		char now[API_TIME_TEXT_MAX];
		/* A fixed name, so that the Event is written once. */
		CLEANUP(freep) char *name = xasprintf("%s.refused.%s", api_name(service), pod);
		CLEANUP(freep)
		char *message = xasprintf(
			"Pod %s has the address %s, which no endpoint may have (loopback, "
			"link-local, multicast and unspecified addresses are refused); it is left "
			"out",
			pod, api_get_string(item, "address"));
		api_time_format(clock_wall_ns(), now);
		json_t *event = json_pack("{ss,ss,s{ss},s{ss,ss,ss,ss,ss},ss,ss,ss,s{ss},ss,ss,si}",
					  "apiVersion", "v1", "kind", "Event", "metadata", "name",
					  name, "involvedObject", "apiVersion", "v1", "kind",
					  "Service", "namespace", api_namespace(service), "name",
					  api_name(service), "uid", api_uid(service), "type",
					  "Warning", "reason", "FailedToCreateEndpoint", "message",
					  message, "source", "component", "fairlead",
					  "firstTimestamp", now, "lastTimestamp", now, "count", 1);
		IGNORE(create_object(api, apiserver_resource_find("", "v1", "events"),
				     api_namespace(service), event));
		json_decref(event);
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fills the empty DNS settings of a VSphereVM from the addresses of its claims. A claim is called
 * VM-DEVICE-POOL and has the VM as an owner. CAPV copies the devices of the VSphereMachine into the
 * VSphereVM whenever one of them changes, so the machine is filled first. */
#include "controller/ipam/capv.h"

#include <stdio.h>
#include <string.h>

#include "api/kind.h"
#include "api/machine/bind.h"
#include "api/machine/machine.h"
#include "api/machine/merge.h"
#include "api/machine/problem.h"
#include "api/meta.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "controller/ipam/claim_status.h"
#include "controller/ipam/request_error.h"
#include "controller/ipam/watches.h"
#include "kube/client/client.h"
#include "kube/client/discovery.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"

#define INFRASTRUCTURE_GROUP "infrastructure.cluster.x-k8s.io"
#define FIELD_MANAGER	     "fairlead-ipam"

enum { PATCH_TRIES = 5, VERSION_MAX = 64 };

/* An object of CAPV; its version is the one that its owner reference has, or the server's if that is no longer
 * served. */
struct capv_ref {
	struct api_kind kind;
	char version[VERSION_MAX];
	char *name;
};

struct filling {
	struct controller_ctx *ctx;
	const struct ipam_claim *claim;
	struct arena arena;
	struct capv_ref vm, machine; /* no name: there is none */
	json_t *vm_object;
	VEC(json_t *) objects; /* addresses, pools and defaults; references */
	struct machine_merged merged;
	size_t n_devices;
	bool is_changed; /* an object was patched */
};

static void filling_done(struct filling *filling)
{
	for (size_t i = 0; i < filling->objects.n; i++)
		json_decref(filling->objects.v[i]);
	vec_done(&filling->objects);
	json_decref(filling->vm_object);
	arena_done(&filling->arena);
}

/* ---- which machine ---- */

static bool is_on(const struct controller_ctx *ctx)
{
	struct kube_obj *config = kube_store_get(ctx->stores[IPAM_CONFIG], slice_of(ctx->ns),
						 SLICE(IPAM_CONFIG_NAME));
	if (config == NULL)
		return false;
	const json_t *data = json_object_get(kube_tree_of(config), "data");
	bool on = strcmp(api_text(json_object_get(data, "capv")), "true") == 0;
	kube_obj_unref(config);
	return on;
}

/* Cuts "-NUMBER" off the end. */
static bool cut_number(struct slice *text)
{
	size_t n = text->n;
	while (n > 0 && ascii_isdigit(text->p[n - 1]))
		n--;
	if (n == text->n || n < 2 || text->p[n - 1] != '-')
		return false;
	text->n = n - 1;
	return true;
}

/* The name of the VM that a claim of this name may belong to; empty: none. */
static struct slice vm_name_of(const char *claim)
{
	struct slice name = slice_of(claim);
	return cut_number(&name) && cut_number(&name) ? name : (struct slice){ 0 };
}

/* The object's owner of this kind. `name` empty: of any name. False: it has none. */
static bool find_owner(struct filling *filling, const json_t *object, const char *kind_name,
		       struct slice name, struct capv_ref *ret)
{
	size_t i;
	json_t *owner;
	json_array_foreach (api_tree(api_get(object, "metadata.ownerReferences")), i, owner) {
		const char *api_version = api_text(json_object_get(owner, "apiVersion"));
		struct slice version = slice_of(api_version);
		struct slice group = slice_cut(&version, '/');
		const char *owner_name = api_text(json_object_get(owner, "name"));
		if (!slice_is(group, INFRASTRUCTURE_GROUP) ||
		    strcmp(api_text(json_object_get(owner, "kind")), kind_name) != 0 ||
		    (name.n != 0 && !slice_is(name, owner_name)) || version.n == 0 ||
		    version.n >= VERSION_MAX || !api_name_is_path_segment(version.p))
			continue;
		memcpy(ret->version, version.p, version.n);
		ret->version[version.n] = '\0';
		ret->name = arena_strdup(&filling->arena, owner_name);
		ret->kind = (struct api_kind){ .group = INFRASTRUCTURE_GROUP,
					       .version = ret->version,
					       .kind = kind_name,
					       .namespaced = true };
		return true;
	}
	return false;
}

static struct kube_ref ref_of(const struct filling *filling, const struct capv_ref *of)
{
	return (struct kube_ref){ .kind = &of->kind, .ns = filling->claim->o.ns, .name = of->name };
}

/* *ret is NULL if it does not exist, also because its kind or version is unknown. */
static int read_object(struct filling *filling, const struct kube_ref *ref, json_t **ret)
{
	struct kube_status st = { 0 };
	*ret = NULL;
	int r = kube_get(filling->ctx->conn, ref, ret, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	char what[128];
	snprintf(what, sizeof(what), "read of %s '%.64s'", ref->kind->kind, ref->name);
	r = ipam_note_error(filling->ctx, what, r, &st);
	kube_status_done(&st);
	return r;
}

/* Owner references keep the version in which they were written, which a later CAPV may no longer serve.
 * 1: the reference has another version from now on; 0: it is right as it is. */
static int use_served_version(struct filling *filling, struct capv_ref *of)
{
	struct kube_status st = { 0 };
	CLEANUP(freep) char *version = NULL;
	int r = kube_find_version(filling->ctx->conn, of->kind.group, of->kind.plural, &version,
				  &st);
	r = ipam_note_error(filling->ctx, "versions of " INFRASTRUCTURE_GROUP, r, &st);
	kube_status_done(&st);
	if (r < 0 || version[0] == '\0' || strlen(version) >= VERSION_MAX ||
	    strcmp(version, of->version) == 0)
		return r;
	snprintf(of->version, sizeof(of->version), "%s", version);
	return 1;
}

/* An object of CAPV; *ret is NULL if it does not exist. */
static int read_capv_object(struct filling *filling, struct capv_ref *of, json_t **ret)
{
	struct kube_ref ref = ref_of(filling, of);
	int r = read_object(filling, &ref, ret);
	if (r < 0 || *ret != NULL)
		return r;
	r = use_served_version(filling, of);
	return r > 0 ? read_object(filling, &ref, ret) : r;
}

/* The claim's VSphereVM, and the VSphereMachine of that. vm_object stays NULL if there is none. */
static int find_vm(struct filling *filling, struct slice name)
{
	const struct ipam_claim *claim = filling->claim;
	struct kube_ref claim_ref = { .kind = ipam_claim_kind(filling->ctx),
				      .ns = claim->o.ns,
				      .name = claim->o.name };
	json_t *object;
	int r = read_object(filling, &claim_ref, &object);
	bool owned = r == 0 && find_owner(filling, object, "VSphereVM", name, &filling->vm);
	json_decref(object);
	if (!owned)
		return r;
	filling->vm.kind.plural = "vspherevms";
	r = read_capv_object(filling, &filling->vm, &filling->vm_object);
	if (find_owner(filling, filling->vm_object, "VSphereMachine", (struct slice){ 0 },
		       &filling->machine))
		filling->machine.kind.plural = "vspheremachines";
	return r;
}

/* ---- its addresses ---- */

static void add_from_store(struct filling *filling, struct kube_obj *obj)
{
	if (obj == NULL)
		return;
	vec_push(&filling->objects, json_incref((json_t *)(uintptr_t)kube_tree_of(obj)));
	kube_obj_unref(obj);
}

static bool is_our_pool(const json_t *ref)
{
	return strcmp(api_text(json_object_get(ref, "apiGroup")), IPAM_GROUP) == 0 &&
	       ipam_is_pool_kind(api_text(json_object_get(ref, "kind")));
}

/* 1: the address exists, or another provider makes it, which has no name servers for us; 0: it is
 * missing. */
static int add_address(struct filling *filling, const char *name, const json_t *pool_ref)
{
	struct kube_ref ref = { .kind = ipam_address_kind(filling->ctx),
				.ns = filling->claim->o.ns,
				.name = name };
	char pool_key[IPAM_KEY_MAX];
	json_t *address;
	int r = read_object(filling, &ref, &address);
	if (r < 0)
		return r;
	if (address == NULL)
		return is_our_pool(pool_ref) ? 0 : 1;
	vec_push(&filling->objects, address);
	if (is_our_pool(api_get(address, "spec.poolRef"))) {
		ipam_pool_key(pool_key, api_get_string(address, "spec.poolRef.kind"), ref.ns,
			      api_get_string(address, "spec.poolRef.name"));
		add_from_store(filling, ipam_find_pool(filling->ctx, pool_key));
	}
	return 1;
}

/* 1: all addresses of the machine exist; 0: one is missing, whose claim is bound later. */
static int gather_addresses(struct filling *filling, const struct machine *machine)
{
	for (size_t i = 0; i < machine->n_devices; i++) {
		const json_t *pools = api_get(
			filling->vm_object,
			machine_device_field(machine, i, "addressesFromPools", &filling->arena));
		for (size_t j = 0; j < machine->devices[i].n_pools; j++) {
			int r = add_address(filling,
					    machine_claim_name(machine, i, j, &filling->arena),
					    json_array_get(pools, j));
			if (r <= 0)
				return r;
		}
	}
	return 1;
}

/* 1: `merged` has what each device should have; 0: it is too early. */
static int merge_nameservers(struct filling *filling)
{
	struct machine_problems problems = { .arena = &filling->arena };
	struct machine machine;
	machine_read(filling->vm_object, filling->vm.name, &problems, &machine);
	int r = gather_addresses(filling, &machine);
	if (r <= 0)
		return r;
	add_from_store(filling,
		       kube_store_get(filling->ctx->stores[IPAM_CONFIG], slice_of(filling->ctx->ns),
				      SLICE(IPAM_CONFIG_NAME)));
	machine_bind(&machine,
		     &(struct machine_objects){ .v = filling->objects.v, .n = filling->objects.n },
		     true, &problems);
	machine_merge(&machine, &(struct machine_merge_opts){ 0 }, &filling->arena,
		      &filling->merged);
	filling->n_devices = machine.n_devices;
	return 1;
}

/* ---- writing ---- */

static void fill_list(json_t *patch, const json_t *device, size_t index, const char *field,
		      const struct machine_list *list)
{
	char path[96];
	if (list->n == 0 || json_array_size(json_object_get(device, field)) > 0)
		return;
	json_t *texts = json_array();
	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(texts, json_string(list->v[i]));
	snprintf(path, sizeof(path), "/spec/network/devices/%zu/%s", index, field);
	json_array_append_new(
		patch, json_pack("{s:s, s:s, s:o}", "op", "add", "path", path, "value", texts));
}

/* A JSON patch of the empty fields, which holds for this version of the object; NULL: none is empty. */
static json_t *make_patch(const struct filling *filling, const json_t *object)
{
	const json_t *devices = api_get(object, "spec.network.devices");
	json_t *patch =
		json_pack("[{s:s, s:s, s:s}]", "op", "add", "path", "/metadata/resourceVersion",
			  "value", api_resource_version(object));
	for (size_t i = 0; i < MIN(filling->n_devices, json_array_size(devices)); i++) {
		const json_t *device = json_array_get(devices, i);
		fill_list(patch, device, i, "nameservers", &filling->merged.devices[i].addresses);
		fill_list(patch, device, i, "searchDomains", &filling->merged.devices[i].search);
	}
	if (json_array_size(patch) > 1)
		return patch;
	json_decref(patch);
	return NULL;
}

static int send_patch(struct filling *filling, const struct kube_ref *ref, const json_t *patch)
{
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	struct kube_status st = { 0 };
	char what[128];
	api_kind_path(&path, ref->kind, ref->ns, ref->name, NULL);
	strbuf_adds(&path, "?fieldManager=" FIELD_MANAGER);
	struct kube_request request = { .method = "PATCH",
					.path = path.s,
					.body = patch,
					.content_type = "application/json-patch+json" };
	int r = kube_call(filling->ctx->conn, &request, NULL, &st);
	filling->is_changed = filling->is_changed || r == 0;
	if (r == ERR_NOTFOUND)
		r = 0;
	snprintf(what, sizeof(what), "name servers of %s '%.64s'", ref->kind->kind, ref->name);
	r = ipam_note_error(filling->ctx, what, r, &st);
	kube_status_done(&st);
	return r;
}

static int fill_object(struct filling *filling, struct capv_ref *of)
{
	struct kube_ref ref = ref_of(filling, of);
	int r = ERR_CONFLICT;
	for (int i = 0; r == ERR_CONFLICT && i < PATCH_TRIES; i++) {
		json_t *object;
		r = read_capv_object(filling, of, &object);
		json_t *patch = r == 0 && object != NULL ? make_patch(filling, object) : NULL;
		if (patch != NULL)
			r = send_patch(filling, &ref, patch);
		json_decref(patch);
		json_decref(object);
	}
	return r;
}

/* IP-15: each pool may be within the limits, and all together not. */
static void emit_cut(const struct filling *filling)
{
	CLEANUP(strbuf_done) struct strbuf cut = STRBUF_INIT;
	if (!filling->is_changed || filling->merged.n_cut == 0 || filling->ctx->events == NULL)
		return;
	for (size_t i = 0; i < filling->merged.n_cut; i++)
		strbuf_addf(&cut, "%s%s '%s'", i > 0 ? ", " : "",
			    filling->merged.cut[i].is_domain ? "search domain" : "server",
			    filling->merged.cut[i].text);
	events_emit(
		filling->ctx->events,
		&(struct event){ .regarding = filling->vm_object,
				 .warning = true,
				 .reason = "NameserversCut",
				 .action = "Fill" },
		"guests hold %d name servers, and %d search domains of %d characters in all; not "
		"written: %s",
		MACHINE_GUEST_SERVERS_MAX, MACHINE_GUEST_DOMAINS_MAX,
		MACHINE_GUEST_DOMAIN_CHARACTERS_MAX, cut.s);
}

int ipam_fill_vsphere_vm(struct controller_ctx *ctx, const struct ipam_claim *claim)
{
	struct slice vm_name = vm_name_of(claim->o.name);
	if (vm_name.n == 0 || !is_on(ctx))
		return 0;
	CLEANUP(filling_done) struct filling filling = { .ctx = ctx, .claim = claim };
	arena_init(&filling.arena);
	int r = find_vm(&filling, vm_name);
	if (r == 0 && filling.vm_object != NULL)
		r = merge_nameservers(&filling);
	if (r > 0) {
		r = filling.machine.name != NULL ? fill_object(&filling, &filling.machine) : 0;
		if (r == 0)
			r = fill_object(&filling, &filling.vm);
		if (r == 0)
			emit_cut(&filling);
	}
	/* What the API does not accept is shown on the claim: without it the machine would wait in silence. */
	return ipam_report_refusal(ctx, claim, r);
}

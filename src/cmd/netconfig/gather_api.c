/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks an API server for a machine's objects, by name: nothing is listed. The versions of CAPV's
 * and of the IPAM provider's kinds differ between clusters, so that the server's own choice is
 * asked for first. */
#include "cmd/netconfig/gather_api.h"

#include <string.h>

#include "api/kind.h"
#include "api/machine/bind.h"
#include "api/machine/machine.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "kube/client/discovery.h"

#define INFRASTRUCTURE_GROUP "infrastructure.cluster.x-k8s.io"
#define IPAM_GROUP	     "ipam.cluster.x-k8s.io"

/* Where the controller runs: by deploy/operator/ipam.yaml, by clusterctl, in `fairlead up`. */
static const char *const controller_namespaces[] = { "fairlead", "fairlead-ipam-system",
						     "default" };

struct fetcher {
	const struct kubecli *cli;
	struct gathered *gathered;
	/* The version of each kind that was asked for; "" if it is not served. */
	struct {
		char *group, *plural, *version;
	} kinds[16];
	size_t n_kinds;
};

/* The version to ask for, or "" when the server does not have the kind; NULL after a message. */
static const char *find_version(struct fetcher *fetcher, const char *group, const char *plural)
{
	struct kube_status status = { 0 };
	char *version;
	for (size_t i = 0; i < fetcher->n_kinds; i++) {
		if (strcmp(fetcher->kinds[i].group, group) == 0 &&
		    strcmp(fetcher->kinds[i].plural, plural) == 0)
			return fetcher->kinds[i].version;
	}
	if (fetcher->n_kinds == ARRAY_LEN(fetcher->kinds))
		return "";
	int r = kube_find_version(fetcher->cli->conn, group, plural, &version, &status);
	if (r < 0)
		kubecli_say_status(fetcher->cli, group, &status);
	kube_status_done(&status);
	if (r < 0)
		return NULL;
	fetcher->kinds[fetcher->n_kinds].group = xstrdup(group);
	fetcher->kinds[fetcher->n_kinds].plural = xstrdup(plural);
	fetcher->kinds[fetcher->n_kinds++].version = version;
	return version;
}

/* What a user may not read is left out where it is optional: name servers of pools and defaults. */
static bool report_refusal(const struct fetcher *fetcher, const char *what, int code, bool optional,
			   const struct kube_status *status)
{
	if (code == ERR_NOTFOUND)
		return true;
	if (code == ERR_DENIED && optional) {
		kubecli_say(fetcher->cli, "warning: %s is left out: %s", what, status->message);
		return true;
	}
	kubecli_say_status(fetcher->cli, what, status);
	return false;
}

/* The object, a reference that `gathered` owns, or NULL when there is none. False after a message. */
static bool fetch_object(struct fetcher *fetcher, struct api_kind kind, const char *ns,
			 const char *name, bool optional, const json_t **ret)
{
	struct kube_status status = { 0 };
	json_t *object = NULL;
	bool ok = true;
	*ret = NULL;
	if (kind.group[0] != '\0')
		kind.version = find_version(fetcher, kind.group, kind.plural);
	if (kind.version == NULL || kind.version[0] == '\0')
		return kind.version != NULL;
	struct kube_ref ref = { .kind = &kind, .ns = kind.namespaced ? ns : NULL, .name = name };
	int r = kube_get(fetcher->cli->conn, &ref, &object, &status);
	if (r < 0) {
		CLEANUP(freep) char *what = xasprintf("%s %s/%s", kind.kind, ns, name);
		ok = report_refusal(fetcher, what, r, optional, &status);
	}
	kube_status_done(&status);
	if (r < 0)
		return ok;
	vec_push(&fetcher->gathered->objects, object);
	*ret = object;
	return true;
}

static bool is_in_namespace(const json_t *object, const char *ns)
{
	const char *own = api_namespace(object);
	return strcmp(own[0] != '\0' ? own : "default", ns) == 0;
}

static bool is_given(const struct fetcher *fetcher, const char *kind, const char *ns,
		     const char *name, const json_t **ret)
{
	for (size_t i = 0; i < fetcher->gathered->objects.n; i++) {
		const json_t *object = fetcher->gathered->objects.v[i];
		if (strcmp(api_kind(object), kind) == 0 && strcmp(api_name(object), name) == 0 &&
		    (ns == NULL || is_in_namespace(object, ns))) {
			*ret = object;
			return true;
		}
	}
	return false;
}

/* Unless the files have it. */
static bool want_object(struct fetcher *fetcher, struct api_kind kind, const char *ns,
			const char *name, bool optional, const json_t **ret)
{
	return is_given(fetcher, kind.kind, kind.namespaced ? ns : NULL, name, ret) ||
	       fetch_object(fetcher, kind, ns, name, optional, ret);
}

static bool want_machine(struct fetcher *fetcher, const char *name)
{
	static const struct api_kind kinds[] = {
		{ .kind = "VSphereVM", .plural = "vspherevms" },
		{ .kind = "VSphereMachine", .plural = "vspheremachines" },
		{ .kind = "VSphereMachineTemplate", .plural = "vspheremachinetemplates" },
	};
	struct gathered *gathered = fetcher->gathered;
	const char *ns = kubecli_ns(fetcher->cli, &(struct api_kind){ .namespaced = true });
	if (gathered->machine != NULL)
		return true;
	if (name == NULL || !api_name_is_path_segment(name)) {
		kubecli_say(fetcher->cli, "name the machine with --machine");
		return false;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds) && gathered->machine == NULL; i++) {
		struct api_kind kind = kinds[i];
		kind.group = INFRASTRUCTURE_GROUP;
		kind.namespaced = true;
		if (!fetch_object(fetcher, kind, ns, name, false, &gathered->machine))
			return false;
	}
	if (gathered->machine == NULL)
		kubecli_say(fetcher->cli,
			    "%s has no VSphereVM, VSphereMachine or VSphereMachineTemplate '%s' in "
			    "the namespace '%s'",
			    kube_client_text(fetcher->cli->client), name, ns);
	gathered->name = name;
	return gathered->machine != NULL;
}

/* The pool's own object may have name servers. Kinds of other providers are named by the rule that
 * all of them follow. */
static bool want_pool(struct fetcher *fetcher, const json_t *address, const char *ns)
{
	const json_t *ref = api_get(address, "spec.poolRef"), *pool;
	const char *group = api_text(json_object_get(ref, "apiGroup"));
	const char *name = api_text(json_object_get(ref, "name"));
	const char *word = api_text(json_object_get(ref, "kind"));
	const struct api_kind *known = api_kind_find(group, word);
	CLEANUP(freep) char *plural = xasprintf("%ss", word);
	if (!api_name_is_path_segment(group) || !api_name_is_path_segment(word) || name[0] == '\0')
		return true;
	for (char *at = plural; *at != '\0'; at++)
		*at = ascii_lower(*at);
	struct api_kind kind = {
		.group = group, .kind = word, .plural = plural, .namespaced = true
	};
	return want_object(fetcher, known != NULL ? *known : kind, ns, name, true, &pool);
}

static bool want_address(struct fetcher *fetcher, const char *ns, const char *claim_name)
{
	const struct api_kind *claims = api_kind_find(IPAM_GROUP, "IPAddressClaim");
	const struct api_kind *addresses = api_kind_find(IPAM_GROUP, "IPAddress");
	const json_t *claim = NULL, *address = NULL;
	if (!want_object(fetcher, *claims, ns, claim_name, false, &claim))
		return false;
	const char *bound = api_get_string(claim, "status.addressRef.name");
	const char *name = claim != NULL ? bound : claim_name;
	if (name[0] == '\0')
		return true; /* not bound: reported later, with all others */
	if (!want_object(fetcher, *addresses, ns, name, false, &address))
		return false;
	return address == NULL || want_pool(fetcher, address, ns);
}

static bool want_addresses(struct fetcher *fetcher)
{
	struct arena arena;
	arena_init(&arena);
	struct machine_problems problems = { .arena = &arena };
	struct machine machine;
	bool ok = true;
	machine_read(fetcher->gathered->machine, fetcher->gathered->name, &problems, &machine);
	const char *ns = machine.ns[0] != '\0' ? machine.ns : "default";
	for (size_t i = 0; i < machine.n_devices && ok; i++) {
		for (size_t j = 0; j < machine.devices[i].n_pools && ok; j++)
			ok = want_address(fetcher, ns, machine_claim_name(&machine, i, j, &arena));
	}
	arena_done(&arena);
	return ok;
}

static bool search_defaults(struct fetcher *fetcher)
{
	const struct api_kind *kind = api_kind_find("", "ConfigMap");
	const char *first = NULL;
	for (size_t i = 0; i < ARRAY_LEN(controller_namespaces); i++) {
		const char *ns = controller_namespaces[i];
		const json_t *found;
		if (!fetch_object(fetcher, *kind, ns, MACHINE_DEFAULTS_CONFIGMAP, true, &found))
			return false;
		if (found != NULL && first != NULL)
			kubecli_say(fetcher->cli,
				    "warning: the ConfigMap '" MACHINE_DEFAULTS_CONFIGMAP
				    "' is in the namespaces '%s' and '%s': the first one is used, "
				    "--defaults-namespace chooses",
				    first, ns);
		else if (found != NULL)
			first = ns;
	}
	return true;
}

/* `ns` NULL: in any of the files, else where the controller may run. */
static bool want_defaults(struct fetcher *fetcher, const char *ns)
{
	const struct api_kind *kind = api_kind_find("", "ConfigMap");
	const json_t *found;
	if (is_given(fetcher, kind->kind, ns, MACHINE_DEFAULTS_CONFIGMAP, &found))
		return true;
	if (ns == NULL)
		return search_defaults(fetcher);
	if (!fetch_object(fetcher, *kind, ns, MACHINE_DEFAULTS_CONFIGMAP, true, &found))
		return false;
	if (found == NULL)
		kubecli_say(fetcher->cli,
			    "warning: there is no ConfigMap '" MACHINE_DEFAULTS_CONFIGMAP
			    "' in the namespace '%s'",
			    ns);
	return true;
}

bool gather_api(const struct kubecli *cli, const char *name, const char *defaults_ns,
		struct gathered *gathered)
{
	struct fetcher fetcher = { .cli = cli, .gathered = gathered };
	bool ok = want_machine(&fetcher, name) && want_addresses(&fetcher) &&
		  want_defaults(&fetcher, defaults_ns);
	for (size_t i = 0; i < fetcher.n_kinds; i++) {
		free(fetcher.kinds[i].group);
		free(fetcher.kinds[i].plural);
		free(fetcher.kinds[i].version);
	}
	return ok;
}

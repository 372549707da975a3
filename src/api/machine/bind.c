/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Claims and IPAddresses of a machine's devices: which belong to it, whether all exist, and whether
 * they fit to each other and to the device. The checks are those of CAPV, so that what passes here
 * passes there. */
#include "api/machine/bind.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "api/machine/nameservers.h"
#include "api/meta.h"
#include "api/tree.h"

#define IPAM_GROUP "ipam.cluster.x-k8s.io"

struct binder {
	struct machine *machine;
	const struct machine_objects *objects;
	bool dns_only;
	struct machine_problems *problems;
	/* The pool that is bound just now: */
	size_t device, pool;
	const json_t *ref;     /* its entry in the machine */
	const json_t *address; /* its IPAddress */
	const json_t *from;    /* the object of the pool, or NULL */
};

static bool has_group(const json_t *object, const char *group)
{
	struct slice rest = slice_of(api_version(object));
	struct slice found = slice_cut(&rest, '/');
	return rest.p != NULL ? slice_is(found, group) : group[0] == '\0';
}

static bool same_namespace(const char *left, const char *right)
{
	return strcmp(left[0] != '\0' ? left : "default", right[0] != '\0' ? right : "default") ==
	       0;
}

/* With `ns` NULL, in any namespace. */
static const json_t *find_object(const struct binder *binder, const char *group, const char *kind,
				 const char *ns, const char *name)
{
	for (size_t i = 0; i < binder->objects->n; i++) {
		const json_t *object = binder->objects->v[i];
		if (strcmp(api_kind(object), kind) == 0 && has_group(object, group) &&
		    strcmp(api_name(object), name) == 0 &&
		    (ns == NULL || same_namespace(api_namespace(object), ns)))
			return object;
	}
	return NULL;
}

static const char *field_of_pool(const struct binder *binder)
{
	char name[MACHINE_FIELD_MAX];
	snprintf(name, sizeof(name), "addressesFromPools[%zu]", binder->pool);
	return machine_device_field(binder->machine, binder->device, name, binder->problems->arena);
}

/* What is wrong with an address matters only where it is written. */
PRINTF_LIKE(3, 4)
static void report_address(const struct binder *binder, const char *field, const char *fmt, ...)
{
	char text[512];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	(binder->dns_only ? machine_warn : machine_report)(binder->problems, binder->address, field,
							   "%s", text);
}

static void report_unbound(const struct binder *binder, const json_t *claim)
{
	const json_t *condition;
	const char *message = "";
	size_t i;
	json_array_foreach (api_get(claim, "status.conditions"), i, condition) {
		if (strcmp(api_text(json_object_get(condition, "type")), "Ready") == 0)
			message = api_text(json_object_get(condition, "message"));
	}
	machine_report(binder->problems, claim, "",
		       "the claim '%s' has no address yet%s%.200s: a machine is configured when "
		       "all its claims are bound",
		       api_name(claim), message[0] != '\0' ? ": " : "", message);
}

static void report_missing(const struct binder *binder, const char *name)
{
	const json_t *other = find_object(binder, IPAM_GROUP, "IPAddress", NULL, name);
	const char *field = field_of_pool(binder);
	if (other != NULL)
		machine_report(binder->problems, binder->machine->object, field,
			       "the IPAddress '%s' is in the namespace '%s', the machine in '%s'",
			       name, api_namespace(other), binder->machine->ns);
	else
		machine_report(binder->problems, binder->machine->object, field,
			       "there is no IPAddress '%s': a machine is configured when all its "
			       "claims are bound",
			       name);
}

/* NULL after a report. */
static const json_t *find_address(const struct binder *binder)
{
	const char *ns = binder->machine->ns;
	const char *name = machine_claim_name(binder->machine, binder->device, binder->pool,
					      binder->problems->arena);
	const json_t *claim = find_object(binder, IPAM_GROUP, "IPAddressClaim", ns, name);
	if (claim != NULL) {
		name = api_get_string(claim, "status.addressRef.name");
		if (name[0] == '\0') {
			report_unbound(binder, claim);
			return NULL;
		}
	}
	const json_t *address = find_object(binder, IPAM_GROUP, "IPAddress", ns, name);
	if (address == NULL)
		report_missing(binder, name);
	else if (api_is_deleting(address))
		machine_report(binder->problems, address, "metadata.deletionTimestamp",
			       "the IPAddress '%s' is being deleted", name);
	return address == NULL || api_is_deleting(address) ? NULL : address;
}

/* Two pools of one name may differ in their kind: InClusterIPPool and GlobalInClusterIPPool. */
static void warn_about_kind(const struct binder *binder, const json_t *used)
{
	const char *kind = api_text(json_object_get(binder->ref, "kind"));
	const char *used_kind = api_text(json_object_get(used, "kind"));
	if (kind[0] != '\0' && used_kind[0] != '\0' && strcmp(kind, used_kind) != 0)
		machine_warn(binder->problems, binder->address, "spec.poolRef.kind",
			     "the pool of the address is of the kind '%.100s', but device %zu of "
			     "the machine names the kind '%.100s'",
			     used_kind, binder->device, kind);
}

static void warn_about_prefix(const struct binder *binder, const json_t *used)
{
	const char *kind = api_text(json_object_get(used, "kind"));
	if (!binder->dns_only && (strcmp(kind, "InClusterPrefixPool") == 0 ||
				  strcmp(kind, "GlobalInClusterPrefixPool") == 0))
		machine_warn(binder->problems, binder->address, "spec.poolRef.kind",
			     "the IPAddress stands for a prefix (its pool is of the kind %s): "
			     "device %zu "
			     "gets the prefix's first address",
			     kind, binder->device);
}

static void check_pool_ref(const struct binder *binder)
{
	const json_t *used = api_get(binder->address, "spec.poolRef");
	const char *name = api_text(json_object_get(binder->ref, "name"));
	const char *used_name = api_text(json_object_get(used, "name"));
	if (json_object_get(binder->ref, "group") != NULL)
		machine_warn(binder->problems, binder->machine->object, field_of_pool(binder),
			     "the pool has 'group': the field is called apiGroup, and has no "
			     "version");
	if (strcmp(name, used_name) != 0)
		machine_warn(binder->problems, binder->address, "spec.poolRef.name",
			     "the address is from the pool '%.100s', but device %zu of the machine "
			     "names '%.100s'; it is used, because its name says device %zu, pool "
			     "%zu",
			     used_name, binder->device, name, binder->device, binder->pool);
	warn_about_kind(binder, used);
	warn_about_prefix(binder, used);
	if (json_object_get(binder->address, "nameservers") != NULL)
		machine_report(binder->problems, binder->address, "nameservers",
			       "this belongs into the spec, as spec.nameservers");
}

/* The object of the address' pool, or NULL: it need not be given. */
static const json_t *find_pool(const struct binder *binder)
{
	const json_t *used = api_get(binder->address, "spec.poolRef");
	struct slice rest = slice_of(api_text(json_object_get(used, "apiGroup")));
	struct slice group = slice_cut(&rest, '/');
	const char *kind = api_text(json_object_get(used, "kind"));
	const char *name = api_text(json_object_get(used, "name"));
	char *copy = arena_strndup(binder->problems->arena, group.p, group.n);
	const json_t *local = find_object(binder, copy, kind, api_namespace(binder->address), name);
	bool global = slice_starts(slice_of(kind), SLICE("Global"));
	return local == NULL && global ? find_object(binder, copy, kind, NULL, name) : local;
}

/* Its length, from the address or else from the pool; -1 after a report. */
static int read_prefix(const struct binder *binder, int family)
{
	const json_t *prefix = api_get(binder->address, "spec.prefix");
	int most = family == AF_INET ? 32 : 128;
	if (prefix == NULL)
		prefix = api_get(binder->from, "spec.prefix");
	if (prefix == NULL) {
		report_address(
			binder, "spec",
			"the address has no prefix: the number of bits of its network, such as 24");
		return -1;
	}
	json_int_t number = json_is_integer(prefix) ? json_integer_value(prefix) : -1;
	if (number < 0 || number > most) {
		report_address(binder, "spec.prefix",
			       "the prefix of an IPv%d address is a number from 0 to %d",
			       family == AF_INET ? 4 : 6, most);
		return -1;
	}
	return (int)number;
}

/* ---- addresses that no guest can use ---- */

/* Warnings: the objects may be right for a network that is unusual. */
static void warn_about_address(const struct binder *binder, int family, const char *ip)
{
	const struct machine_ip_block *block = machine_ip_find_block(family, ip);
	if (!binder->dns_only && block != NULL)
		machine_warn(binder->problems, binder->address, "spec.address",
			     "'%s' %s: a guest cannot use it", ip, block->what);
}

/* Routers of IPv6 have link-local addresses, too. */
static void warn_about_gateway(const struct binder *binder, int family, const char *ip, int prefix)
{
	const char *text = api_get_string(binder->address, "spec.gateway");
	char gateway[MACHINE_IP_TEXT_MAX];
	if (binder->dns_only || machine_ip_parse(text, gateway) != family)
		return;
	if (strcmp(gateway, ip) == 0)
		machine_warn(binder->problems, binder->address, "spec.gateway",
			     "the gateway '%s' is the address itself", gateway);
	else if (prefix >= 0 && !machine_ip_share_bits(family, gateway, ip, prefix) &&
		 !(family == AF_INET6 && machine_ip_share_bits(family, gateway, "fe80::", 10)))
		machine_warn(binder->problems, binder->address, "spec.gateway",
			     "the gateway '%s' is not in the network of the address, %s/%d",
			     gateway, ip, prefix);
}

/* A field of the IPAddress; no value but a string is an address, and others are shown. */
static const char *show_field(const struct binder *binder, const char *field)
{
	const json_t *value = api_get(binder->address, field);
	return json_is_null(value) ? "" : machine_show(value, binder->problems->arena);
}

static void add_gateway(const struct binder *binder, int family)
{
	struct machine_device *device = &binder->machine->devices[binder->device];
	const char **slot = family == AF_INET ? &device->gateway4 : &device->gateway6;
	const char *text = show_field(binder, "spec.gateway");
	const char *field = "spec.gateway";
	char gateway[MACHINE_IP_TEXT_MAX];
	if (text[0] == '\0')
		return;
	int found = machine_ip_parse(text, gateway);
	if (found == 0)
		report_address(
			binder, field, "the gateway '%.100s' %s", text,
			machine_ip_refusal(text, "is not an IP address", binder->problems->arena));
	else if (found != family)
		report_address(binder, field,
			       "the gateway '%s' is not of the same family as the address",
			       gateway);
	else if (*slot != NULL && strcmp(*slot, gateway) != 0)
		report_address(binder, field,
			       "the gateway '%s' is not the one that device %zu has already, '%s'",
			       gateway, binder->device, *slot);
	else
		*slot = arena_strdup(binder->problems->arena, gateway);
}

static void add_address(const struct binder *binder)
{
	struct machine_device *device = &binder->machine->devices[binder->device];
	const char *text = show_field(binder, "spec.address");
	char ip[MACHINE_IP_TEXT_MAX];
	int family = machine_ip_parse(text, ip);
	if (family == 0) {
		report_address(
			binder, "spec.address", "'%.100s' %s", text,
			machine_ip_refusal(text, "is not an IP address", binder->problems->arena));
		return;
	}
	int prefix = read_prefix(binder, family);
	warn_about_address(binder, family, ip);
	warn_about_gateway(binder, family, ip, prefix);
	add_gateway(binder, family);
	size_t other = machine_find_ip(binder->machine, binder->device, ip);
	if (other != binder->machine->n_devices)
		report_address(binder, "spec.address", "device %zu has the address '%s' already",
			       other, ip);
	if (prefix < 0 || other != binder->machine->n_devices)
		return;
	machine_list_add(&device->addresses, binder->problems->arena,
			 arena_printf(binder->problems->arena, "%s/%d", ip, prefix));
}

/* Metal3's pools have servers only, under another name. */
static bool read_pool_nameservers(const struct binder *binder, struct machine_nameservers *ret)
{
	const json_t *servers = api_get(binder->from, "spec.dnsServers");
	if (machine_read_nameservers(api_get(binder->from, "spec.nameservers"), binder->from,
				     "spec.nameservers", binder->problems, ret))
		return true;
	machine_read_servers(servers, binder->from, "spec.dnsServers", binder->problems,
			     &ret->addresses);
	return json_array_size(servers) != 0;
}

static bool read_default_nameservers(const struct binder *binder, struct machine_nameservers *ret)
{
	const json_t *map = find_object(binder, "", "ConfigMap", binder->objects->defaults_ns,
					MACHINE_DEFAULTS_CONFIGMAP);
	const json_t *text = api_get(map, "data.nameservers");
	return json_is_string(text) &&
	       machine_parse_default_nameservers(api_text_slice(text), map, "data.nameservers",
						 binder->problems, ret);
}

static void add_nameservers(const struct binder *binder)
{
	struct machine_device *device = &binder->machine->devices[binder->device];
	const char *annotation = api_annotation(binder->address, MACHINE_NAMESERVERS_ANNOTATION);
	struct machine_nameservers found = { 0 };
	bool any = machine_read_nameservers(api_get(binder->address, "spec.nameservers"),
					    binder->address, "spec.nameservers", binder->problems,
					    &found);
	if (!any && annotation != NULL) {
		/* Without an entry, too (IP-11): the address was bound when its pool had none. */
		IGNORE(machine_parse_nameservers(
			slice_of(annotation), binder->address,
			"metadata.annotations[" MACHINE_NAMESERVERS_ANNOTATION "]",
			binder->problems, &found));
		any = true;
	}
	if (!any)
		any = read_pool_nameservers(binder, &found);
	if (!any)
		IGNORE(read_default_nameservers(binder, &found));
	machine_list_join(&device->from_addresses.search, binder->problems->arena, &found.search);
	machine_list_join(&device->from_addresses.addresses, binder->problems->arena,
			  &found.addresses);
}

static void bind_pool(struct binder *binder)
{
	binder->address = find_address(binder);
	if (binder->address == NULL)
		return;
	check_pool_ref(binder);
	binder->from = find_pool(binder);
	add_address(binder);
	add_nameservers(binder);
}

void machine_bind(struct machine *machine, const struct machine_objects *objects, bool dns_only,
		  struct machine_problems *problems)
{
	struct binder binder = {
		.machine = machine, .objects = objects, .dns_only = dns_only, .problems = problems
	};
	for (size_t i = 0; i < machine->n_devices; i++) {
		const json_t *pools = api_get(
			machine->object,
			machine_device_field(machine, i, "addressesFromPools", problems->arena));
		for (size_t j = 0; j < machine->devices[i].n_pools; j++) {
			binder.device = i;
			binder.pool = j;
			binder.ref = json_array_get(pools, j);
			bind_pool(&binder);
		}
	}
}

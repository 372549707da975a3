/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads status.items of DNSNames. */
#include "api/explain/sightings.h"

#include <string.h>

#include "api/meta.h"
#include "api/time.h"
#include "api/tree.h"
#include "base/clock.h"
#include "base/compiler.h"

enum { TTL_MIN_S = 5, TTL_MAX_S = 86400 }; /* as the controller bounds them */

/* What is looked for: a name, or one of the addresses. */
struct wanted {
	const char *name;
	const struct explain_address *addresses;
	size_t n;
};

static bool read_times(const json_t *info, struct explain_sighting *ret)
{
	uint64_t ttl_s, lookup_ns;
	if (slice_u64(api_text_slice(json_object_get(info, "ttl")), &ttl_s) < 0 ||
	    api_time_parse(api_text(json_object_get(info, "nextlookuptime")), &lookup_ns) < 0)
		return false;
	uint64_t ttl_ns = MIN(MAX(ttl_s, (uint64_t)TTL_MIN_S), (uint64_t)TTL_MAX_S) * NS_PER_S;
	ret->lookup_ns = lookup_ns;
	ret->reported_ns = lookup_ns > ttl_ns ? lookup_ns - ttl_ns : 0;
	if (api_time_parse(api_text(json_object_get(info, "firstseen")), &ret->first_ns) < 0)
		ret->first_ns = 0;
	return true;
}

static bool is_wanted(const struct wanted *wanted, const struct explain_sighting *sighting)
{
	if (wanted->name == NULL)
		return wanted->n != 0 &&
		       bsearch(&sighting->address, wanted->addresses, wanted->n,
			       sizeof(*wanted->addresses), explain_address_compare) != NULL;
	return strcmp(sighting->name, wanted->name) == 0 ||
	       strcmp(sighting->canonical, wanted->name) == 0;
}

static void read_item(const json_t *object, const json_t *item, const struct wanted *wanted,
		      struct explain_sightings *ret)
{
	const json_t *list = json_object_get(item, "info");
	const char *name = api_text(json_object_get(item, "dnsname"));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *info = json_array_get(list, i);
		const json_t *ip = json_object_get(info, "ip");
		struct explain_sighting sighting = { .ns = api_namespace(object),
						     .object = api_name(object),
						     .name = name,
						     .canonical = api_text(json_object_get(
							     info, "canonicalname")) };
		if (name[0] != '\0' &&
		    explain_address_parse(api_text_slice(ip), &sighting.address) &&
		    is_wanted(wanted, &sighting) && read_times(info, &sighting))
			vec_push(&ret->list, sighting);
	}
}

static void read_names(const json_t *names, const struct wanted *wanted,
		       struct explain_sightings *ret)
{
	*ret = (struct explain_sightings){ 0 };
	for (size_t i = 0; i < json_array_size(names); i++) {
		const json_t *object = json_array_get(names, i);
		const json_t *items = api_get(object, "status.items");
		for (size_t k = 0; k < json_array_size(items); k++)
			read_item(object, json_array_get(items, k), wanted, ret);
	}
}

void explain_sightings_about(const json_t *names, const struct explain_subject *subject,
			     struct explain_sightings *ret)
{
	struct wanted wanted = { .name = subject->name.text };
	if (subject->address.n != 0)
		wanted = (struct wanted){ .addresses = &subject->address, .n = 1 };
	read_names(names, &wanted, ret);
}

void explain_sightings_at(const json_t *names, const struct explain_address *addresses,
			  size_t count, struct explain_sightings *ret)
{
	read_names(names, &(struct wanted){ .addresses = addresses, .n = count }, ret);
}

void explain_sightings_done(struct explain_sightings *sightings)
{
	vec_done(&sightings->list);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorts objects by name, and compares those of one name, as the controller does. */
#include "cmd/plan/claims.h"

#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "base/mem.h"
#include "cmd/plan/reads.h"
#include "dns/types.h"

struct claim {
	struct plan_object *object;
	size_t at; /* in the list of objects */
};

static const struct provider_rrset *set_of(const struct plan_object *object)
{
	return &object->record.wanted.set;
}

static int compare_claims(const void *left, const void *right)
{
	const struct claim *a = left, *b = right;
	int order = strcmp(set_of(a->object)->name, set_of(b->object)->name);
	return order != 0 ? order : a->at < b->at ? -1 : a->at > b->at;
}

static const char *secret_namespace(const struct plan_object *object)
{
	const char *given = object->record.spec.secret_namespace;
	return given != NULL && given[0] != '\0' ? given : api_namespace(object->record.object);
}

static bool has_same_account(const struct plan_object *left, const struct plan_object *right)
{
	if (left->provider != right->provider)
		return false;
	if (left->account != NULL && right->account != NULL)
		return left->account == right->account;
	return left->provider->caps.has_no_secret ||
	       (strcmp(secret_namespace(left), secret_namespace(right)) == 0 &&
		strcmp(left->record.spec.secret_name, right->record.spec.secret_name) == 0);
}

/* Do the two want sets that cannot be at one place? */
static bool collides(const struct plan_object *left, const struct plan_object *right)
{
	const struct dnsrecord_set *mine = &left->record.wanted, *other = &right->record.wanted;
	bool has_cname = mine->set.type == DNS_TYPE_CNAME || other->set.type == DNS_TYPE_CNAME;
	bool is_other_zone =
		mine->zone != NULL && other->zone != NULL && strcmp(mine->zone, other->zone) != 0;
	return (has_cname || mine->set.type == other->set.type) && !is_other_zone &&
	       has_same_account(left, right);
}

/* Creation times have one form and compare as texts. */
static bool goes_first(const struct claim *other, const struct claim *mine)
{
	const char *time =
		api_get_string(other->object->record.object, "metadata.creationTimestamp");
	const char *my_time =
		api_get_string(mine->object->record.object, "metadata.creationTimestamp");
	if (other->object->record.applied != NULL)
		return true;
	if (time[0] == '\0' || my_time[0] == '\0')
		return time[0] == my_time[0] ? other->at < mine->at : time[0] != '\0';
	int order = strcmp(time, my_time);
	return order < 0 || (order == 0 && strcmp(api_uid(other->object->record.object),
						  api_uid(mine->object->record.object)) < 0);
}

static void check_claim(const struct claim *mine, const struct claim *others, size_t count)
{
	struct plan_object *object = mine->object;
	if (object->record.applied != NULL || object->withdraws || object->problem != NULL)
		return;
	for (size_t i = 0; i < count; i++) {
		const json_t *other = others[i].object->record.object;
		if (&others[i] == mine || !collides(object, others[i].object) ||
		    !goes_first(&others[i], mine))
			continue;
		object->problem =
			xasprintf("the name '%s' belongs to the DNSRecord '%s' in "
				  "namespace '%s'; delete one of the two",
				  set_of(object)->name, api_name(other), api_namespace(other));
		return;
	}
}

void plan_claims_check(struct plan_object *const *objects, size_t count)
{
	CLEANUP(freep) struct claim *claims = xcalloc(count + 1, sizeof(*claims));
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		if (objects[i]->provider != NULL && objects[i]->record.problem == NULL)
			claims[n++] = (struct claim){ objects[i], i };
	}
	qsort(claims, n, sizeof(*claims), compare_claims);
	for (size_t first = 0, end; first < n; first = end) {
		for (end = first + 1; end < n && strcmp(set_of(claims[first].object)->name,
							set_of(claims[end].object)->name) == 0;)
			end++;
		for (size_t i = first; i < end && end - first > 1; i++)
			check_claim(&claims[i], claims + first, end - first);
	}
}

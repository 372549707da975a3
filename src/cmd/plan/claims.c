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
static bool is_older(const struct claim *left, const struct claim *right)
{
	const json_t *object = left->object->record.object, *other = right->object->record.object;
	const char *time = api_get_string(object, "metadata.creationTimestamp");
	const char *other_time = api_get_string(other, "metadata.creationTimestamp");
	if (time[0] == '\0' || other_time[0] == '\0')
		return time[0] == other_time[0] ? left->at < right->at : time[0] != '\0';
	int order = strcmp(time, other_time);
	return order < 0 || (order == 0 && strcmp(api_uid(object), api_uid(other)) < 0);
}

static bool is_published(const struct claim *claim)
{
	return claim->object->record.applied != NULL;
}

static bool precedes(const struct claim *left, const struct claim *right)
{
	return is_published(left) != is_published(right) ? is_published(left)
							 : is_older(left, right);
}

static void sort_claims(struct claim *claims, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct claim moved = claims[i];
		size_t at = i;
		for (; at != 0 && precedes(&moved, &claims[at - 1]); at--)
			claims[at] = claims[at - 1];
		claims[at] = moved;
	}
}

/* The name is another's: `owners` have it. */
static bool is_taken(const struct claim *mine, const struct claim *owners, size_t count)
{
	struct plan_object *object = mine->object;
	if (is_published(mine) || object->withdraws || object->problem != NULL)
		return false;
	for (size_t i = 0; i < count; i++) {
		const json_t *other = owners[i].object->record.object;
		if (!collides(object, owners[i].object))
			continue;
		object->problem =
			xasprintf("the name '%s' belongs to the DNSRecord '%s' in "
				  "namespace '%s'; delete one of the two",
				  set_of(object)->name, api_name(other), api_namespace(other));
		return true;
	}
	return false;
}

/* Those of one name. Who waits for it keeps it from no other. */
static void check_name(struct claim *claims, size_t count)
{
	size_t n_owners = 0; /* at the front */
	sort_claims(claims, count);
	for (size_t i = 0; i < count; i++) {
		if (!is_taken(&claims[i], claims, n_owners))
			claims[n_owners++] = claims[i];
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
		check_name(claims + first, end - first);
	}
}

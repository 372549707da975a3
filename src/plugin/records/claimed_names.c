/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Claims by object and by name. A name is known as long as it, a wildcard below it or a longer name is
 * claimed: readers find wildcards by the closest name that exists (table.h). */
#include "plugin/records/claimed_names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "dns/types.h"

#define AREA "plugin/records"

/* A name that exists. */
struct place {
	struct records_claim *own, *wild; /* oldest first */
	size_t longer;			  /* names with one label more that exist */
};

struct records_claims {
	struct records_table table;
	struct map objects; /* struct records_claim */
	struct map places;  /* by lower-case wire name */
	size_t max, n[RECORDS_CLAIM_STATES];
	uint64_t n_refused;
};

/* ---- states ---- */

static void enter_state(struct records_claims *claims, struct records_claim *claim,
			enum records_claim_state state)
{
	claim->state = state;
	claims->n[state]++;
}

static void leave_state(struct records_claims *claims, const struct records_claim *claim)
{
	assert(claims->n[claim->state] != 0);
	claims->n[claim->state]--;
}

static void log_shadowed(const struct records_claim *claim, const struct records_claim *by)
{
	char name[DNS_NAME_TEXT_MAX], type[DNS_MNEMONIC_MAX];
	dns_name_to_text(claim->name, true, name);
	log_warn(AREA, "DNSRecord %s is not served: the older object %s has %s%s, type %s",
		 claim->object, by->object, claim->is_wild ? "*." : "", name,
		 dns_type_str(by->type, type));
}

static void change_state(struct records_claims *claims, struct records_claim *claim,
			 const struct records_claim *shadowed_by)
{
	enum records_claim_state state = shadowed_by != NULL ? RECORDS_SHADOWED : RECORDS_SERVED;
	if (claim->state == state)
		return;
	leave_state(claims, claim);
	enter_state(claims, claim, state);
	if (shadowed_by != NULL)
		log_shadowed(claim, shadowed_by);
}

/* ---- which are served ---- */

/* The claim before which this one has to stand back; NULL: it is served. `first` is the oldest of the
 * list, in which all before `claim` are older. */
static const struct records_claim *find_rival(const struct records_claim *first,
					      const struct records_claim *claim)
{
	bool is_alias = claim->type == DNS_TYPE_CNAME;
	if (claim != first && (is_alias || first->type == DNS_TYPE_CNAME))
		return first;
	while (first != claim && first->type != claim->type)
		first = first->next;
	return first != claim ? first : NULL;
}

static void choose_sets(struct records_claims *claims, struct records_claim *first,
			struct records_sets *out)
{
	out->n = 0;
	for (struct records_claim *claim = first; claim != NULL; claim = claim->next) {
		const struct records_claim *rival = find_rival(first, claim);
		change_state(claims, claim, rival);
		if (rival != NULL)
			continue;
		assert(out->n < RECORDS_TYPES);
		out->v[out->n++] = (struct records_set){ .type = claim->type,
							 .n = claim->n,
							 .ttl_s = claim->ttl_s,
							 .data = (const uint8_t *)claim->data.s,
							 .data_n = claim->data.n };
	}
}

/* ---- places ---- */

static struct slice key_of(const uint8_t *name)
{
	return (struct slice){ (const char *)name, dns_name_len(name) };
}

static void publish_place(struct records_claims *claims, const uint8_t *name,
			  const struct place *place)
{
	struct records_sets own, wild;
	choose_sets(claims, place->own, &own);
	choose_sets(claims, place->wild, &wild);
	records_table_set(&claims->table, name, &own, &wild);
}

static const uint8_t *shorten(const uint8_t *name)
{
	return name + 1 + name[0];
}

/* The place of a name, with those of its ancestors down to two labels; new ones are not in the table
 * yet, but their ancestors are. */
static struct place *make_place(struct records_claims *claims, const uint8_t *name)
{
	struct place *place = map_get(&claims->places, key_of(name));
	if (place != NULL)
		return place;
	place = xcalloc(1, sizeof(*place));
	map_set(&claims->places, key_of(name), place);
	if (dns_name_labels(name) > RECORDS_LABELS_MIN) {
		const uint8_t *above = shorten(name);
		bool is_new = !map_has(&claims->places, key_of(above));
		struct place *parent = make_place(claims, above);
		parent->longer++;
		if (is_new)
			publish_place(claims, above, parent);
	}
	return place;
}

/* Where nothing is left of it, and then of its ancestors. */
static void drop_place(struct records_claims *claims, const uint8_t *name)
{
	for (;;) {
		struct place *place = map_get(&claims->places, key_of(name));
		if (place->own != NULL || place->wild != NULL || place->longer != 0)
			return;
		records_table_remove(&claims->table, name);
		free(map_del(&claims->places, key_of(name)));
		if (dns_name_labels(name) <= RECORDS_LABELS_MIN)
			return;
		name = shorten(name);
		place = map_get(&claims->places, key_of(name));
		assert(place->longer != 0);
		place->longer--;
	}
}

/* ---- claims ---- */

static struct records_claim **list_of(struct place *place, const struct records_claim *claim)
{
	return claim->is_wild ? &place->wild : &place->own;
}

static void link_claim(struct place *place, struct records_claim *claim)
{
	struct records_claim **at = list_of(place, claim);
	while (*at != NULL && !records_claim_is_older(claim, *at))
		at = &(*at)->next;
	claim->next = *at;
	*at = claim;
}

static void unlink_claim(struct place *place, struct records_claim *claim)
{
	struct records_claim **at = list_of(place, claim);
	while (*at != claim)
		at = &(*at)->next;
	*at = claim->next;
}

static bool is_linked(const struct records_claim *claim)
{
	return claim->state == RECORDS_SERVED || claim->state == RECORDS_SHADOWED;
}

static size_t count_linked(const struct records_claims *claims)
{
	return claims->n[RECORDS_SERVED] + claims->n[RECORDS_SHADOWED];
}

/* `old`: what the same object had before, or NULL. Where it is for the same name it goes in the same
 * step, so that the name has the one or the other, never none. Returns what is left to be dropped. */
static struct records_claim *serve_claim(struct records_claims *claims, struct records_claim *claim,
					 struct records_claim *old)
{
	struct place *place = make_place(claims, claim->name);
	if (old != NULL && is_linked(old) && dns_name_eq_case(old->name, claim->name)) {
		unlink_claim(place, old);
		leave_state(claims, old);
		records_claim_free(TAKE_PTR(old));
	}
	enter_state(claims, claim, RECORDS_SERVED);
	link_claim(place, claim);
	publish_place(claims, claim->name, place);
	return old;
}

static void withdraw_claim(struct records_claims *claims, struct records_claim *claim)
{
	struct place *place = map_get(&claims->places, key_of(claim->name));
	unlink_claim(place, claim);
	leave_state(claims, claim);
	publish_place(claims, claim->name, place);
	drop_place(claims, claim->name);
}

static void log_refused(const struct records_claim *claim)
{
	log_warn(AREA, "DNSRecord %s is not served: %s", claim->object, claim->reason);
}

static void drop_claim(struct records_claims *claims, struct records_claim *claim)
{
	if (claim == NULL)
		return;
	if (is_linked(claim))
		withdraw_claim(claims, claim);
	else
		leave_state(claims, claim);
	records_claim_free(claim);
}

void records_claims_remove(struct records_claims *claims, const char *object)
{
	drop_claim(claims, map_del(&claims->objects, slice_of(object)));
}

static void refuse_over_limit(struct records_claims *claims, struct records_claim *claim)
{
	if (claims->n[RECORDS_OVER_LIMIT] == 0)
		log_warn(AREA,
			 "DNSRecord %s is not served: there are %zu others; raise max_records",
			 claim->object, claims->max);
	enter_state(claims, claim, RECORDS_OVER_LIMIT);
}

void records_claims_set(struct records_claims *claims, const char *object, const json_t *tree)
{
	struct records_claim *old = map_get(&claims->objects, slice_of(object));
	struct records_claim *claim = records_claim_new(object, tree);
	if (claim == NULL) {
		records_claims_remove(claims, object);
		return;
	}
	bool has_room = count_linked(claims) < claims->max;
	if (old != NULL && records_claim_equal(old, claim) &&
	    (old->state != RECORDS_OVER_LIMIT || !has_room)) {
		records_claim_free(claim); /* something else of the object has changed */
		return;
	}
	map_set(&claims->objects, slice_of(object), claim);
	if (claim->state == RECORDS_INVALID) {
		log_refused(claim);
		claims->n_refused++;
		enter_state(claims, claim, RECORDS_INVALID);
	} else if (!has_room && (old == NULL || !is_linked(old))) {
		refuse_over_limit(claims, claim);
	} else {
		old = serve_claim(claims, claim, old);
	}
	drop_claim(claims, old);
}

/* ---- life ---- */

struct records_claims *records_claims_new(size_t max)
{
	struct records_claims *claims = xcalloc(1, sizeof(*claims));
	records_table_init(&claims->table);
	map_init(&claims->objects);
	map_init(&claims->places);
	claims->max = max;
	return claims;
}

void records_claims_free(struct records_claims *claims)
{
	const struct map_entry *e;
	if (claims == NULL)
		return;
	for (size_t pos = 0; (e = map_next(&claims->objects, &pos)) != NULL;)
		records_claim_free(e->value);
	for (size_t pos = 0; (e = map_next(&claims->places, &pos)) != NULL;)
		free(e->value);
	map_done(&claims->objects);
	map_done(&claims->places);
	records_table_done(&claims->table);
	free(claims);
}

const struct records_table *records_claims_table(const struct records_claims *claims)
{
	return &claims->table;
}

size_t records_claims_count(const struct records_claims *claims, enum records_claim_state state)
{
	return claims->n[state];
}

uint64_t records_claims_refused(const struct records_claims *claims)
{
	return claims->n_refused;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing changes into an UPDATE. Prerequisites of all changes come first, then their records. */
#include "provider/rfc2136/message_priv.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "dns/types.h"
#include "dns/update.h"
#include "provider/rfc2136/rdata_priv.h"
#include "provider/shared/job.h"

enum {
	FIXED_BYTES = 10,	   /* of a record, beside its owner and data */
	POINTER_BYTES = 2,	   /* for the zone's name in an owner */
	EXCLUSION_BYTES = 12 * 12, /* at most, of a CNAME */
};

/* The first label of a mark's name, before the set's type. */
#define MARK_LABEL "_fairlead-owner"

/* A CNAME is alone at its name. Servers answer NOERROR and ignore the addition that would break that,
 * so the types that people use are excluded where something else would be half done by then. */
static const uint16_t beside_cname[] = {
	DNS_TYPE_A,   DNS_TYPE_AAAA,  DNS_TYPE_TXT,   DNS_TYPE_MX,   DNS_TYPE_NS,
	DNS_TYPE_SRV, DNS_TYPE_NAPTR, DNS_TYPE_DNAME, DNS_TYPE_SVCB, DNS_TYPE_HTTPS,
};

/* One edit while it is written. */
struct writing {
	struct dns_update *update;
	struct arena *arena;
	const struct rfc2136_batch *batch;
	const struct provider_change *change;
	const struct provider_edit *edit;
	enum rfc2136_owned owned;
	uint8_t name[DNS_NAME_MAX], mark_name[DNS_NAME_MAX];
};

void rfc2136_mark_name(const struct provider_rrset *set, char out[RFC2136_MARK_NAME_MAX])
{
	char type[DNS_MNEMONIC_MAX], lower[DNS_MNEMONIC_MAX] = "";
	const char *text = dns_type_str(set->type, type);
	for (size_t i = 0; text[i] != '\0'; i++)
		lower[i] = ascii_lower(text[i]);
	snprintf(out, RFC2136_MARK_NAME_MAX, MARK_LABEL "-%s.%s", lower, set->name);
}

static bool has_mark(const struct rfc2136_batch *batch, const struct provider_edit *edit)
{
	return batch->has_marks && edit->set.owner != NULL;
}

/* A set whose own name is nearly as long as names can be has no mark. */
static bool fits_mark(const struct provider_rrset *set)
{
	char mark_name[RFC2136_MARK_NAME_MAX];
	uint8_t wire[DNS_NAME_MAX];
	rfc2136_mark_name(set, mark_name);
	return dns_name_from_text(slice_of(mark_name), wire) >= 0;
}

static bool drops_mark(const struct rfc2136_batch *batch, const struct provider_edit *edit)
{
	return batch->drops_marks && edit->set.owner != NULL && fits_mark(&edit->set);
}

static bool has_any_mark(const struct rfc2136_batch *batch, const struct provider_edit *edit)
{
	return has_mark(batch, edit) || drops_mark(batch, edit);
}

/* ---- checking ---- */

static const char *explain_value(int code)
{
	switch (code) {
	case ERR_UNSUPPORTED:
		return "records of this type are not supported";
	case ERR_LIMIT:
		return "the value is too long for a message";
	default:
		return "this is not a value of the type";
	}
}

static bool check_values(struct provider_change *change, const struct provider_rrset *set,
			 struct arena *arena)
{
	char type[DNS_MNEMONIC_MAX];
	for (size_t i = 0; i < set->n_values; i++) {
		struct dns_update_rdata unused;
		int r = rfc2136_rdata_make(set->type, set->values[i], arena, &unused);
		if (r == 0)
			continue;
		provider_change_fail(
			change, PROVIDER_INVALID, "%s record set '%s', value '%.80s': %s",
			dns_type_str(set->type, type), set->name, set->values[i], explain_value(r));
		return false;
	}
	return true;
}

static bool check_name(struct provider_change *change, const struct rfc2136_batch *batch,
		       const char *name)
{
	uint8_t wire[DNS_NAME_MAX];
	if (dns_name_from_text(slice_of(name), wire) < 0) {
		provider_change_fail(change, PROVIDER_INVALID, "'%.270s' is not a domain name",
				     name);
		return false;
	}
	if (dns_name_is_below(wire, batch->zone))
		return true;
	char zone[DNS_NAME_TEXT_MAX];
	dns_name_to_text(batch->zone, true, zone);
	provider_change_fail(change, PROVIDER_INVALID, "'%s' is outside of the zone '%s'", name,
			     zone);
	return false;
}

/* The set's own name was checked before: its mark's name can be nothing but too long. */
static bool check_mark(struct provider_change *change, const struct rfc2136_batch *batch,
		       const struct provider_edit *edit)
{
	if (!has_mark(batch, edit) || fits_mark(&edit->set))
		return true;
	provider_change_fail(change, PROVIDER_INVALID,
			     "the owner record of '%.40s...' would have a name of more than 253 "
			     "characters: use a shorter name, or set the Secret's key "
			     "'OwnerRecords' to 'false'",
			     edit->set.name);
	return false;
}

static bool check_edit(struct provider_change *change, const struct rfc2136_batch *batch,
		       const struct provider_edit *edit, struct arena *arena)
{
	return check_name(change, batch, edit->set.name) && check_mark(change, batch, edit) &&
	       check_values(change, &edit->set, arena) &&
	       ((edit->guard != PROVIDER_GUARD_EQUAL && edit->guard != PROVIDER_GUARD_OWNED) ||
		check_values(change, &edit->before, arena));
}

size_t rfc2136_message_check(const struct rfc2136_batch *batch)
{
	struct arena arena;
	size_t n_bad = 0;
	arena_init(&arena);
	for (size_t i = 0; i < batch->n_changes; i++) {
		struct provider_change *change = &batch->changes[i];
		bool is_good = true;
		for (size_t j = 0; j < change->n_edits && is_good; j++)
			is_good = check_edit(change, batch, &change->edits[j], &arena);
		n_bad += !is_good;
		arena_reset(&arena);
	}
	arena_done(&arena);
	return n_bad;
}

/* ---- prerequisites ---- */

/* Is there another edit of this change at the same name? With a type: one that deletes that set. */
static bool has_neighbour(const struct writing *writing, uint16_t deleted_type)
{
	for (size_t i = 0; i < writing->change->n_edits; i++) {
		const struct provider_edit *other = &writing->change->edits[i];
		if (other == writing->edit || strcmp(other->set.name, writing->edit->set.name) != 0)
			continue;
		if (deleted_type == DNS_TYPE_ANY ||
		    (other->set.type == deleted_type && other->set.n_values == 0))
			return true;
	}
	return false;
}

/* The guard says that there is no such set. */
static bool is_new(const struct writing *writing)
{
	const struct provider_edit *edit = writing->edit;
	switch (edit->guard) {
	case PROVIDER_GUARD_NONE:
		return false;
	case PROVIDER_GUARD_ABSENT:
		return true;
	case PROVIDER_GUARD_EQUAL:
		return edit->before.n_values == 0;
	case PROVIDER_GUARD_OWNED:
		return writing->owned == RFC2136_OWNED_MISSING;
	}
	return false;
}

static bool is_new_cname(const struct writing *writing)
{
	const struct provider_rrset *set = &writing->edit->set;
	return set->type == DNS_TYPE_CNAME && set->n_values != 0 && is_new(writing) &&
	       !has_neighbour(writing, DNS_TYPE_ANY);
}

static int require_values(struct writing *writing, const uint8_t *name, uint16_t type,
			  const struct provider_rrset *set)
{
	int r = 0;
	for (size_t i = 0; i < set->n_values && r == 0; i++) {
		struct dns_update_rdata rdata;
		r = rfc2136_rdata_make(type, set->values[i], writing->arena, &rdata);
		if (r == 0)
			r = dns_update_require_record(writing->update, name, type, rdata);
	}
	return r;
}

static int require_mark(struct writing *writing)
{
	const char *owner = writing->edit->set.owner;
	struct provider_rrset mark = { .values = &owner, .n_values = 1 };
	return require_values(writing, writing->mark_name, DNS_TYPE_TXT, &mark);
}

/* The values of before, and still no mark. */
static int require_unmarked(struct writing *writing)
{
	const struct provider_edit *edit = writing->edit;
	int r = require_values(writing, writing->name, edit->set.type, &edit->before);
	return r < 0 ? r
		     : dns_update_forbid_rrset(writing->update, writing->mark_name, DNS_TYPE_TXT);
}

static int write_guard(struct writing *writing)
{
	const struct provider_edit *edit = writing->edit;
	if (is_new_cname(writing))
		return dns_update_forbid_name(writing->update, writing->name);
	if (is_new(writing))
		return dns_update_forbid_rrset(writing->update, writing->name, edit->set.type);
	if (edit->guard == PROVIDER_GUARD_EQUAL)
		return require_values(writing, writing->name, edit->set.type, &edit->before);
	if (edit->guard != PROVIDER_GUARD_OWNED)
		return 0;
	return writing->owned == RFC2136_OWNED_UNMARKED ? require_unmarked(writing)
							: require_mark(writing);
}

/* Nothing is at the name that would make the server ignore the addition. A change that is nothing but
 * this addition is left alone: it is read back afterwards. */
static int write_exclusion(struct writing *writing)
{
	const struct provider_edit *edit = writing->edit;
	bool is_alone = writing->change->n_edits == 1 && !has_mark(writing->batch, edit);
	bool is_equal = edit->guard == PROVIDER_GUARD_EQUAL && edit->before.n_values != 0;
	bool is_there = is_equal || (edit->guard == PROVIDER_GUARD_OWNED &&
				     writing->owned == RFC2136_OWNED_UNMARKED);
	if (edit->set.n_values == 0 || is_alone || is_there || is_new_cname(writing))
		return 0;
	if (edit->set.type != DNS_TYPE_CNAME)
		return has_neighbour(writing, DNS_TYPE_CNAME)
			       ? 0
			       : dns_update_forbid_rrset(writing->update, writing->name,
							 DNS_TYPE_CNAME);
	int r = 0;
	for (size_t i = 0; i < ARRAY_LEN(beside_cname) && r == 0; i++) {
		if (!has_neighbour(writing, beside_cname[i]))
			r = dns_update_forbid_rrset(writing->update, writing->name,
						    beside_cname[i]);
	}
	return r;
}

static int write_prerequisites(struct writing *writing)
{
	int r = write_guard(writing);
	return r < 0 ? r : write_exclusion(writing);
}

/* ---- records ---- */

/* Ours only: nobody has read whose the mark is. */
static int drop_mark(struct writing *writing)
{
	struct dns_update_rdata rdata;
	int r = rfc2136_rdata_make(DNS_TYPE_TXT, writing->edit->set.owner, writing->arena, &rdata);
	return r < 0 ? r
		     : dns_update_delete_record(writing->update, writing->mark_name, DNS_TYPE_TXT,
						rdata);
}

static int write_deletion(struct writing *writing)
{
	const struct provider_edit *edit = writing->edit;
	int r = 0;
	if (edit->set.n_values == 0 || !is_new(writing))
		r = dns_update_delete_rrset(writing->update, writing->name, edit->set.type);
	if (r == 0 && has_mark(writing->batch, edit))
		r = dns_update_delete_rrset(writing->update, writing->mark_name, DNS_TYPE_TXT);
	else if (r == 0 && drops_mark(writing->batch, edit))
		r = drop_mark(writing);
	return r;
}

static int add_value(struct writing *writing, const uint8_t *name, uint16_t type, const char *value)
{
	struct dns_update_rdata rdata;
	int r = rfc2136_rdata_make(type, value, writing->arena, &rdata);
	return r < 0 ? r
		     : dns_update_add(writing->update, name, type, writing->edit->set.ttl_s, rdata);
}

static int write_addition(struct writing *writing)
{
	const struct provider_rrset *set = &writing->edit->set;
	int r = 0;
	for (size_t i = 0; i < set->n_values && r == 0; i++)
		r = add_value(writing, writing->name, set->type, set->values[i]);
	if (r == 0 && set->n_values != 0 && has_mark(writing->batch, writing->edit))
		r = add_value(writing, writing->mark_name, DNS_TYPE_TXT, set->owner);
	return r;
}

typedef int (*write_part)(struct writing *writing);

/* One part of all edits of a change. */
static int write_edits(struct writing *writing, size_t index, write_part part)
{
	const struct rfc2136_batch *batch = writing->batch;
	int r = 0;
	writing->change = &batch->changes[index];
	for (size_t i = 0; i < writing->change->n_edits && r == 0; i++) {
		char mark_name[RFC2136_MARK_NAME_MAX];
		writing->edit = &writing->change->edits[i];
		writing->owned = batch->owned != NULL ? batch->owned[index * PROVIDER_EDITS_MAX + i]
						      : RFC2136_OWNED_MISSING;
		rfc2136_mark_name(&writing->edit->set, mark_name);
		if (dns_name_from_text(slice_of(writing->edit->set.name), writing->name) < 0 ||
		    (has_any_mark(batch, writing->edit) &&
		     dns_name_from_text(slice_of(mark_name), writing->mark_name) < 0))
			return ERR_PARSE;
		r = part(writing);
	}
	return r;
}

static int write_changes(struct writing *writing, size_t count)
{
	int r = 0;
	for (size_t i = 0; i < count && r == 0; i++)
		r = write_edits(writing, i, write_prerequisites);
	/* What goes makes room for what comes. */
	for (size_t i = 0; i < count && r == 0; i++) {
		r = write_edits(writing, i, write_deletion);
		if (r == 0)
			r = write_edits(writing, i, write_addition);
	}
	return r;
}

int rfc2136_message_write(const struct rfc2136_batch *batch, size_t count, uint8_t *msg, size_t cap)
{
	struct dns_update update;
	struct arena arena;
	int r = dns_update_start(&update, msg, cap, batch->zone, DNS_CLASS_IN);
	if (r < 0)
		return r;
	arena_init(&arena);
	struct writing writing = { .update = &update, .arena = &arena, .batch = batch };
	r = write_changes(&writing, count);
	arena_done(&arena);
	return r < 0 ? r : (int)update.n;
}

/* Not the whole set: what others have added meanwhile stays. */
static int write_undo(struct writing *writing)
{
	const struct provider_rrset *set = &writing->edit->set;
	struct dns_update_rdata rdata;
	int r = 0;
	for (size_t i = 0; i < set->n_values && r == 0; i++) {
		r = rfc2136_rdata_make(set->type, set->values[i], writing->arena, &rdata);
		if (r == 0)
			r = dns_update_delete_record(writing->update, writing->name, set->type,
						     rdata);
	}
	if (r < 0 || !has_mark(writing->batch, writing->edit))
		return r;
	r = rfc2136_rdata_make(DNS_TYPE_TXT, set->owner, writing->arena, &rdata);
	return r < 0 ? r
		     : dns_update_delete_record(writing->update, writing->mark_name, DNS_TYPE_TXT,
						rdata);
}

int rfc2136_message_undo(const struct rfc2136_batch *batch,
			 const struct provider_edit *const *edits, size_t count, uint8_t *msg,
			 size_t cap)
{
	struct dns_update update;
	struct arena arena;
	int r = dns_update_start(&update, msg, cap, batch->zone, DNS_CLASS_IN);
	arena_init(&arena);
	for (size_t i = 0; i < count && r == 0; i++) {
		struct provider_change change = { .edits = edits[i], .n_edits = 1 };
		struct rfc2136_batch one = { .zone = batch->zone,
					     .changes = &change,
					     .n_changes = 1,
					     .has_marks = batch->has_marks };
		struct writing writing = { .update = &update, .arena = &arena, .batch = &one };
		r = write_edits(&writing, 0, write_undo);
	}
	arena_done(&arena);
	return r < 0 ? r : (int)update.n;
}

/* ---- measuring ---- */

/* An owner without the zone, which is nearly always two labels or more. */
static size_t measure_owner(const char *name)
{
	size_t n = strlen(name), dots = 0;
	while (n > 0 && dots < 2) {
		n--;
		dots += name[n] == '.';
	}
	return n + 1 + POINTER_BYTES + FIXED_BYTES;
}

static struct provider_size measure_values(const struct provider_rrset *set, size_t owner)
{
	struct provider_size size = { .records = set->n_values };
	for (size_t i = 0; i < set->n_values; i++)
		size.bytes += owner + rfc2136_rdata_bytes(set->type, set->values[i]);
	return size;
}

struct provider_size rfc2136_message_measure(const struct provider_change *change)
{
	struct provider_size size = { 0 };
	for (size_t i = 0; i < change->n_edits; i++) {
		const struct provider_edit *edit = &change->edits[i];
		size_t owner = measure_owner(edit->set.name);
		struct provider_size own = measure_values(&edit->set, owner);
		struct provider_size before = measure_values(&edit->before, owner);
		bool has_before =
			edit->guard == PROVIDER_GUARD_EQUAL || edit->guard == PROVIDER_GUARD_OWNED;
		size.records += own.records + 1;
		size.bytes += own.bytes + owner + (has_before ? before.bytes + owner : 0);
		if (change->n_edits > 1)
			size.bytes += owner + EXCLUSION_BYTES;
		if (edit->set.owner != NULL) /* the mark: required, deleted, added */
			size.bytes += 4 * owner + 3 * sizeof(MARK_LABEL "-cname") +
				      strlen(edit->set.owner) + EXCLUSION_BYTES;
	}
	return size;
}

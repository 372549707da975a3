/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conflicts and their sentences. */
#include "provider/rfc2136/conflict_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "dns/types.h"
#include "provider/shared/job.h"

enum { VALUES_SHOWN = 3, VALUE_SHOWN_BYTES = 60 };

static void add_value(struct strbuf *out, const char *value)
{
	struct slice shown = slice_of(value);
	bool is_long = shown.n > VALUE_SHOWN_BYTES;
	shown.n = MIN(shown.n, (size_t)VALUE_SHOWN_BYTES);
	strbuf_add_quoted(out, shown);
	if (is_long)
		strbuf_adds(out, "...");
}

static void add_values(struct strbuf *out, const struct provider_rrset *set)
{
	for (size_t i = 0; i < set->n_values && i < VALUES_SHOWN; i++) {
		strbuf_adds(out, i == 0 ? "" : ", ");
		add_value(out, set->values[i]);
	}
	strbuf_addf(out, "%s (TTL %u)", set->n_values > VALUES_SHOWN ? ", ..." : "",
		    (unsigned)set->ttl_s);
}

/* A CNAME is alone at its name. */
static bool is_excluded(const struct provider_edit *edit, const struct rfc2136_read *read)
{
	uint16_t other = read->answer.other_type;
	return edit->set.n_values != 0 && other != 0 &&
	       (edit->set.type == DNS_TYPE_CNAME || other == DNS_TYPE_CNAME);
}

/* The change itself deletes what is in the way. */
static bool is_deleted(const struct provider_change *change, const struct provider_edit *edit,
		       uint16_t type)
{
	for (size_t i = 0; i < change->n_edits; i++) {
		const struct provider_rrset *set = &change->edits[i].set;
		if (set->n_values == 0 && set->type == type &&
		    strcmp(set->name, edit->set.name) == 0)
			return true;
	}
	return false;
}

static void explain_excluded(struct provider_change *change, const struct provider_edit *edit,
			     const struct rfc2136_read *read)
{
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	char type[DNS_MNEMONIC_MAX], other[DNS_MNEMONIC_MAX];
	if (read->answer.other_value != NULL) {
		strbuf_adds(&value, " ");
		add_value(&value, read->answer.other_value);
	}
	provider_change_fail(
		change, PROVIDER_CONFLICT,
		"'%s' has a record of type %s%s, and a CNAME is alone at its name: the "
		"%s record set was not written",
		edit->set.name, dns_type_str(read->answer.other_type, other),
		value.s != NULL ? value.s : "", dns_type_str(edit->set.type, type));
}

static void explain_found(struct provider_change *change, const struct provider_edit *edit,
			  const struct provider_rrset *found, const char *what)
{
	CLEANUP(strbuf_done) struct strbuf values = STRBUF_INIT;
	char type[DNS_MNEMONIC_MAX];
	if (found->n_values == 0) {
		provider_change_fail(change, PROVIDER_CONFLICT, "the %s record set '%s' is missing",
				     dns_type_str(edit->set.type, type), edit->set.name);
		return;
	}
	add_values(&values, found);
	provider_change_fail(change, PROVIDER_CONFLICT, "the %s record set '%s' %s: %s",
			     dns_type_str(edit->set.type, type), edit->set.name, what, values.s);
}

/* Prerequisites do not see TTLs. */
static bool has_equal_values(const struct provider_rrset *left, const struct provider_rrset *right)
{
	struct provider_rrset same = *left;
	same.ttl_s = right->ttl_s;
	return provider_rrset_equal(&same, right);
}

static bool is_guard_broken(const struct provider_edit *edit, const struct provider_rrset *found,
			    bool has_mark)
{
	switch (edit->guard) {
	case PROVIDER_GUARD_NONE:
		return false;
	case PROVIDER_GUARD_ABSENT:
		return found->n_values != 0;
	case PROVIDER_GUARD_EQUAL:
		return !has_equal_values(found, &edit->before);
	case PROVIDER_GUARD_OWNED:
		return found->n_values != 0 && !has_mark;
	}
	return false;
}

bool rfc2136_conflict_is_as_before(const struct provider_edit *edit,
				   const struct provider_rrset *found)
{
	return edit->may_lack_mark && has_equal_values(found, &edit->before);
}

bool rfc2136_conflict_before(struct provider_change *change, const struct rfc2136_read *read,
			     bool has_mark)
{
	const struct provider_edit *edit = &change->edits[read->edit];
	const struct provider_rrset *found = &read->answer.set;
	if (is_guard_broken(edit, found, has_mark)) {
		explain_found(change, edit, found,
			      edit->guard == PROVIDER_GUARD_EQUAL ? "was changed by another writer"
								  : PROVIDER_NOT_OURS);
		return true;
	}
	if (!is_excluded(edit, read) || is_deleted(change, edit, read->answer.other_type))
		return false;
	explain_excluded(change, edit, read);
	return true;
}

bool rfc2136_conflict_beside(struct provider_change *change, const struct rfc2136_read *read)
{
	const struct provider_edit *edit = &change->edits[read->edit];
	struct rfc2136_read other = *read;
	if (read->answer.set.n_values == 0 || is_deleted(change, edit, read->type))
		return false;
	other.answer.other_type = read->type;
	other.answer.other_value = read->answer.set.values[0];
	explain_excluded(change, edit, &other);
	return true;
}

bool rfc2136_conflict_is_misplaced(const struct provider_edit *edit,
				   const struct rfc2136_read *read, const char *zone)
{
	const char *apex = read->answer.zone;
	return edit->set.n_values != 0 && read->answer.set.n_values == 0 && apex != NULL &&
	       strlen(apex) > strlen(zone);
}

static void explain_zone(struct provider_change *change, const struct provider_edit *edit,
			 const char *zone, const char *longer_zone)
{
	char type[DNS_MNEMONIC_MAX];
	provider_change_fail(change, PROVIDER_OTHER_ZONE, PROVIDER_OTHER_ZONE_TEXT,
			     dns_type_str(edit->set.type, type), edit->set.name, zone, longer_zone);
}

void rfc2136_conflict_set_unsettled(struct provider_change *change,
				    const struct provider_edit *edit,
				    const struct provider_rrset *found)
{
	CLEANUP(strbuf_done) struct strbuf values = STRBUF_INIT;
	char type[DNS_MNEMONIC_MAX];
	bool shows_other = found != NULL && found->n_values != 0;
	if (shows_other)
		add_values(&values, found);
	change->code = PROVIDER_UNKNOWN;
	change->is_unsettled = true;
	err_text_set(
		ERR_TEXT(change->error), "the server has accepted the %s record set '%s', but %s%s",
		dns_type_str(edit->set.type, type), edit->set.name,
		shows_other ? "still shows " : "does not show it", shows_other ? values.s : "");
}

struct rfc2136_read rfc2136_conflict_zone_read(const struct provider_rrset *set, size_t change,
					       size_t edit)
{
	return (struct rfc2136_read){
		.name = set->name, .finds_zone = true, .change = change, .edit = edit
	};
}

bool rfc2136_conflict_is_other_zone(struct provider_change *change, const struct rfc2136_read *read,
				    const char *zone)
{
	const struct provider_edit *edit = &change->edits[read->edit];
	const struct rfc2136_answer *answer = &read->answer;
	if (answer->longer_zone == NULL ||
	    (answer->is_delegated && edit->guard == PROVIDER_GUARD_NONE))
		return false;
	explain_zone(change, edit, zone, answer->longer_zone);
	free(change->longer_zone);
	change->longer_zone = answer->is_delegated ? NULL : xstrdup(answer->longer_zone);
	return true;
}

/* Nothing is at its name, or all that is there is another zone's. */
static void explain_unserved(struct provider_change *change, const struct provider_edit *edit,
			     const struct rfc2136_read *read, const char *zone)
{
	char type[DNS_MNEMONIC_MAX];
	if (rfc2136_conflict_is_misplaced(edit, read, zone))
		explain_zone(change, edit, zone, read->answer.zone);
	else
		provider_change_fail(change, PROVIDER_CONFLICT,
				     "the server has accepted the %s record set '%s', but does not "
				     "serve it: another writer has removed it",
				     dns_type_str(edit->set.type, type), edit->set.name);
}

void rfc2136_conflict_after(struct provider_change *change, const struct rfc2136_read *read,
			    const char *zone)
{
	const struct provider_edit *edit = &change->edits[read->edit];
	const struct provider_rrset *found = &read->answer.set;
	if (provider_rrset_equal(&edit->set, found))
		return;
	if (is_excluded(edit, read))
		explain_excluded(change, edit, read);
	else if (found->n_values == 0)
		explain_unserved(change, edit, read, zone);
	else
		explain_found(change, edit, found,
			      "was written, but the server has another by now");
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Guards of edits: what must be there before a set is written. */
#include "provider/guard_priv.h"

#include <string.h>

#include "base/strbuf.h"
#include "dns/types.h"
#include "provider/code.h"

enum { VALUES_SHOWN = 3 };

static bool has_owner(const struct provider_rrset *set, const char *owner)
{
	return owner != NULL && set->owner != NULL && strcmp(set->owner, owner) == 0;
}

/* Written when no marks were kept yet. */
static bool is_unmarked(const struct provider_edit *edit, const struct provider_rrset *found)
{
	return edit->may_lack_mark && found->owner == NULL &&
	       provider_rrset_equal(&edit->before, found);
}

static bool is_as_wanted(const struct provider_edit *edit, const struct provider_rrset *found)
{
	return provider_rrset_equal(&edit->set, found) &&
	       (edit->set.n_values == 0 || edit->set.owner == NULL ||
		has_owner(found, edit->set.owner));
}

static bool guard_holds(const struct provider_edit *edit, const struct provider_rrset *found,
			bool maybe_applied)
{
	bool is_missing = found->n_values == 0;
	bool is_ours = maybe_applied && provider_rrset_equal(&edit->set, found);
	switch (edit->guard) {
	case PROVIDER_GUARD_NONE:
		return true;
	case PROVIDER_GUARD_ABSENT:
		return is_missing || is_ours;
	case PROVIDER_GUARD_EQUAL:
		return provider_rrset_equal(&edit->before, found) ||
		       provider_rrset_equal(&edit->set, found);
	case PROVIDER_GUARD_OWNED:
		return is_missing || has_owner(found, edit->set.owner) || is_unmarked(edit, found);
	}
	return false;
}

bool provider_guard_is_applied(const struct provider_edit *edits, size_t count,
			       const struct provider_rrset *found)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_as_wanted(&edits[i], &found[i]))
			return false;
	}
	return true;
}

static void explain_found(const struct provider_edit *edit, const struct provider_rrset *found,
			  struct err_text err)
{
	CLEANUP(strbuf_done) struct strbuf values = STRBUF_INIT;
	char buf[DNS_MNEMONIC_MAX];
	const char *type = dns_type_str(edit->set.type, buf);
	if (found->n_values == 0) {
		err_text_set(err, "the %s record set '%s' is missing", type, edit->set.name);
		return;
	}
	for (size_t i = 0; i < found->n_values && i < VALUES_SHOWN; i++) {
		strbuf_adds(&values, i == 0 ? "" : ", ");
		strbuf_add_quoted(&values, slice_of(found->values[i]));
	}
	err_text_set(err, "the %s record set '%s' " PROVIDER_NOT_OURS ": %s%s (TTL %u)", type,
		     edit->set.name, values.s, found->n_values > VALUES_SHOWN ? ", ..." : "",
		     (unsigned)found->ttl_s);
}

enum provider_guard_answer provider_guard_check(const struct provider_edit *edits, size_t count,
						const struct provider_rrset *found,
						bool maybe_applied, struct err_text err)
{
	for (size_t i = 0; i < count; i++) {
		bool is_gone = edits[i].set.n_values == 0 && found[i].n_values == 0;
		if (is_gone || guard_holds(&edits[i], &found[i], maybe_applied))
			continue;
		explain_found(&edits[i], &found[i], err);
		return PROVIDER_GUARD_BROKEN;
	}
	return provider_guard_is_applied(edits, count, found) ? PROVIDER_GUARD_DONE
							      : PROVIDER_GUARD_HOLDS;
}

size_t provider_guard_drop_deleted(struct provider_edit *edits, size_t count,
				   const struct provider_rrset *found)
{
	size_t kept = 0;
	for (size_t i = 0; i < count; i++) {
		if (edits[i].set.n_values == 0 && found[i].n_values == 0)
			continue;
		edits[kept++] = edits[i];
	}
	return kept;
}

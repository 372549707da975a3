/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One write of an object: its change, and who owns the changed fields afterwards. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/apply/compare_priv.h"
#include "api/apply/entry_priv.h"
#include "api/apply/managed.h"
#include "api/apply/type_priv.h"
#include "api/fields/fieldset.h"

/* One write. `from` is the object before it, without managedFields. */
struct managed_write {
	const struct api_managed_write *request;
	struct managed_type type;
	struct fieldset *reset; /* NULL: nothing */
	json_t *from;
	bool create;
	int64_t now_s;
};
/* Borrows the request, which must outlive `write`. Free with managed_write_done. */
void managed_write_init(struct managed_write *write, const struct api_managed_write *request);
void managed_write_done(struct managed_write *write);
/* Whether `version` is the request's apiVersion or one of the others that the kind still has. */
bool managed_write_has_version(const struct api_managed_write *write, const char *version);
/* Adapts entries to the present schema: those in versions that are no longer served are dropped,
 * and what became atomic is owned as one field. */
void managed_write_reconcile(const struct managed_write *write, struct managed_entries *entries);

/* A comparison, as this version sees it and as others do: what this write cannot change counts only
 * for the latter. */
struct managed_changes {
	struct managed_change own, others;
};
void managed_changes_init(const struct managed_write *write, const json_t *to,
			  struct managed_changes *changes);
void managed_changes_done(struct managed_changes *changes);

/* The fields that other writers lose by a write. */
struct managed_losses {
	struct {
		size_t at; /* the entry's place */
		struct fieldset *set;
	} * v;
	size_t n, cap;
};
void managed_losses_done(struct managed_losses *losses);
/* The changed fields that others own; the entry `self` (NULL: none) is left out. */
void managed_write_conflicts(const struct managed_write *write, struct managed_entries *entries,
			     const char *self, const struct managed_changes *changes,
			     struct managed_losses *ret);
/* Removes these fields, and those that the write removes, from the entries of others. Entries that
 * own nothing any more are dropped. */
void managed_write_take_ownership(const struct managed_write *write,
				  struct managed_entries *entries, const char *self,
				  const struct managed_changes *changes,
				  const struct managed_losses *losses);
/* The writer's own entry; added if it is missing. */
struct managed_entry *managed_write_own_entry(const struct managed_write *write,
					      struct managed_entries *entries, const char *manager,
					      bool applied);
/* Makes an updater the owner of what changed between write->from and `to`. */
void managed_write_update(const struct managed_write *write, struct managed_entries *entries,
			  const json_t *to, const char *manager);

/* Replaces a set by what an operation makes of it and another. */
void managed_set_combine(struct fieldset **fieldset,
			 struct fieldset *(*op)(struct fieldset *, struct fieldset *),
			 struct fieldset *with);
/* The set without fields that nobody owns: those that identify the object, and those that the
 * server counts. */
struct fieldset *managed_set_remove_unowned(struct fieldset *fieldset);

/* A deep copy of the object with these managedFields, which may be NULL; takes ownership of them. */
json_t *managed_object_with_fields(const json_t *object, json_t *managed);

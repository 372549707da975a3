/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries of managedFields: which writer owns which fields. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "api/fields/fieldset.h"
#include "base/compiler.h"

/* By what a writer is known. */
struct managed_writer {
	const char *manager, *api_version, *subresource;
	bool applied;
};

/* One writer's entry. */
struct managed_entry {
	char *id; /* see managed_entry_id; NULL: not needed yet */
	char *manager, *api_version, *subresource;
	bool applied;
	int64_t time_s; /* 0: none */
	struct fieldset *set;
	/* The set as it was read, its form in managedFields and the whole entry there, both
	 * borrowed; all are NULL where that form may not be the one that managed_entries_write
	 * makes. */
	struct fieldset *read_set;
	json_t *fields, *read;
	int64_t read_time_s;
};
struct managed_entries {
	struct managed_entry *v;
	size_t n, cap;
};
void managed_entries_done(struct managed_entries *entries);
void managed_entries_copy(struct managed_entries *to, const struct managed_entries *from);
/* `written`: the value is one of managed_entries_write and lives as long as `entries`; sets that stay
 * as they are are then not written anew. ERR_PARSE, ERR_LIMIT. */
MUST_CHECK int managed_entries_read(struct managed_entries *entries, const json_t *managed_fields,
				    bool written);
/* Sorted; NULL when there are none. */
json_t *managed_entries_write(const struct managed_entries *entries);
/* Names, operation, version and subresource as one text; the entry's. */
const char *managed_entry_id(struct managed_entry *entry);
struct managed_entry *managed_entries_find(struct managed_entries *entries, const char *id);
/* The writer's entry; added if it is missing. */
struct managed_entry *managed_entries_add(struct managed_entries *entries,
					  const struct managed_writer *writer);
void managed_entries_del(struct managed_entries *entries, size_t index);
/* Takes ownership of `set`. */
void managed_entry_set(struct managed_entry *entry, struct fieldset *set);
/* Merges the oldest updaters into one when there are more than ten. */
void managed_entries_cap(struct managed_entries *entries);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Edits: what record sets should be, and what must be there before. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "provider/rrset.h"

/* What must hold for an edit; otherwise its change is PROVIDER_CONFLICT, and nothing was written. */
enum provider_guard {
	PROVIDER_GUARD_NONE,   /* overwrites and deletes whatever there is */
	PROVIDER_GUARD_ABSENT, /* there is no such set */
	PROVIDER_GUARD_EQUAL,  /* the set equals `before` */
	/* There is no such set, or it has the owner mark of `set`. In an account without marks: the set
	 * equals `before`, or is missing where that has no values. */
	PROVIDER_GUARD_OWNED,
};

struct provider_edit {
	struct provider_rrset set; /* without values: the set is deleted; missing already is fine */
	enum provider_guard guard;
	struct provider_rrset before; /* for PROVIDER_GUARD_EQUAL and PROVIDER_GUARD_OWNED */
	/* PROVIDER_GUARD_OWNED: a set that equals `before` and has no mark is ours, too: it was written when
	 * the account had none. */
	bool may_lack_mark;
};

/* Bytes of copies with all their texts; what provider_edits_copy() needs. */
size_t provider_edits_bytes(const struct provider_edit *edits, size_t count);
/* Copies into `room`, which is aligned for pointers; the copies begin there. */
struct provider_edit *provider_edits_copy(const struct provider_edit *edits, size_t count,
					  char *room);
/* Copies in one piece of memory, which free() ends. */
struct provider_edit *provider_edits_dup(const struct provider_edit *edits,
					 size_t count) MUST_CHECK;

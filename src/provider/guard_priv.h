/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Guards of edits, judged by what was read. `found` has one set for each edit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err_text.h"
#include "provider/provider.h"

enum provider_guard_answer {
	PROVIDER_GUARD_HOLDS,  /* the edits may be written */
	PROVIDER_GUARD_DONE,   /* all is as wanted already, and may be so */
	PROVIDER_GUARD_BROKEN, /* `err` has a sentence */
};

/* `maybe_applied`: what equals the wanted state may be our own write. */
enum provider_guard_answer provider_guard_check(const struct provider_edit *edits, size_t count,
						const struct provider_rrset *found,
						bool maybe_applied, struct err_text err);
/* Everything that was found is as wanted. */
bool provider_guard_is_applied(const struct provider_edit *edits, size_t count,
			       const struct provider_rrset *found);
/* Takes deletions of missing sets out; returns how many edits are left. */
size_t provider_guard_drop_deleted(struct provider_edit *edits, size_t count,
				   const struct provider_rrset *found);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every plugin a Corefile may name: those of CoreDNS 1.15 in chain order, with ours among them, and
 * others that are known to stand in Corefiles. One that this program does not have is refused with
 * a sentence that says what to use instead. Which of them are built the registry knows. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"

enum catalogue_kind {
	CATALOGUE_CHAIN,   /* in the chain, built now or later */
	CATALOGUE_NEVER,   /* of CoreDNS, and will not be built */
	CATALOGUE_OUTSIDE, /* a plugin that CoreDNS itself does not have */
	CATALOGUE_GONE,	   /* was a plugin of CoreDNS, or is another name of one */
};

struct catalogue_row {
	const char *name;
	enum catalogue_kind kind;
	const char *what;    /* a few words; needed as long as it is not built */
	const char *instead; /* what to use (until then); NULL: nothing */
};

/* Ended by a row without name. */
extern const struct catalogue_row catalogue[];

/* The error for a directive that is no plugin of this program, appended to `out`. */
void catalogue_explain(const char *name, struct strbuf *out);

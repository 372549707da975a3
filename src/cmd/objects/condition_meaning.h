/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the conditions of the product's objects mean to `fairlead status` and `fairlead apply --wait`. */
#pragma once

enum condition_meaning {
	CONDITION_IGNORED, /* of another program: nobody knows which status is the bad one */
	CONDITION_FINE,
	CONDITION_NOTE, /* worth a line, but no problem */
	CONDITION_PROBLEM,
};

/* `status` is True, False or Unknown; anything else counts as Unknown. */
enum condition_meaning condition_meaning(const char *type, const char *status);

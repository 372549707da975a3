/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of result classes. */
#include "provider/code.h"

#include <assert.h>

static const struct {
	const char *label, *gardener;
	enum provider_reaction reaction;
} codes[PROVIDER_CODES] = {
#define X(name, label_, reaction_, gardener_)        \
	[PROVIDER_##name] = { .label = label_,       \
			      .gardener = gardener_, \
			      .reaction = PROVIDER_##reaction_ },
	PROVIDER_CODE_MAP(X)
#undef X
};

const char *provider_code_label(enum provider_code code)
{
	assert((int)code < PROVIDER_CODES);
	return codes[code].label;
}

enum provider_reaction provider_code_reaction(enum provider_code code)
{
	assert((int)code < PROVIDER_CODES);
	return codes[code].reaction;
}

const char *provider_code_gardener(enum provider_code code)
{
	assert((int)code < PROVIDER_CODES);
	return codes[code].gardener;
}

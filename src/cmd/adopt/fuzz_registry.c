/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as the value of a TXT record, and as a name with a prefix and a suffix: what is read lies in the value,
 * and a name that is made ends within its limit. */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/adopt/registry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_inside(struct slice part, const char *value)
{
	if (part.n != 0 && (part.p < value || part.p + part.n > value + strlen(value)))
		__builtin_trap();
}

/* The text up to the next line break; what follows is the rest. */
static char *take_line(struct slice *rest)
{
	struct slice line = slice_cut(rest, '\n');
	return xstrndup(line.p != NULL ? line.p : "", line.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct slice rest = { (const char *)data, len };
	CLEANUP(freep) char *value = take_line(&rest), *name = take_line(&rest);
	CLEANUP(freep) char *prefix = take_line(&rest), *suffix = take_line(&rest);
	const struct adopt_affixes affixes = { prefix, suffix };
	struct adopt_registration registration;
	char out[ADOPT_NAME_MAX];
	if (adopt_registry_read(value, &registration)) {
		check_inside(registration.owner, value);
		check_inside(registration.resource, value);
	}
	if (adopt_registry_name(&affixes, name, "CNAME", out) && strlen(out) >= ADOPT_NAME_MAX)
		__builtin_trap();
	if (adopt_registry_name(&affixes, name, NULL, out) && strlen(out) >= ADOPT_NAME_MAX)
		__builtin_trap();
	return 0;
}

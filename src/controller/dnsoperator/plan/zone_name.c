/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of zones in spec.templates: which are valid, what to do about others, one form for all. */
#include "controller/dnsoperator/plan/zone_name.h"

#include "base/mem.h"
#include "base/text/idna.h"
#include "controller/dnsoperator/plan/validate_templates.h"

static bool is_label(struct slice text)
{
	enum { LABEL_MAX = 63 };
	if (text.n == 0 || text.n > LABEL_MAX || text.p[0] == '-' || text.p[text.n - 1] == '-')
		return false;
	for (size_t i = 0; i < text.n; i++) {
		if (!ascii_isdigit(text.p[i]) && !ascii_isalpha(text.p[i]) && text.p[i] != '-')
			return false;
	}
	return true;
}

bool dnsoperator_is_zone(struct slice text)
{
	if (text.n == 0 || text.n > DNSOPERATOR_ZONE_CHARS_MAX)
		return false;
	if (slice_is(text, "."))
		return true;
	bool more = true;
	while (more) {
		more = slice_find(text, '.') >= 0;
		if (!is_label(slice_cut(&text, '.')))
			return false;
	}
	return true;
}

const char *dnsoperator_zone_advice_ascii(struct slice text, struct arena *arena)
{
	bool is_ascii = true;
	for (size_t i = 0; i < text.n; i++)
		is_ascii = is_ascii && (unsigned char)text.p[i] <= 0x7f;
	if (is_ascii)
		return NULL;
	CLEANUP(freep) char *ascii = idna_to_ascii(text);
	if (ascii == NULL || !dnsoperator_is_zone(slice_of(ascii)))
		return "write it in its ASCII form, with xn--";
	return arena_printf(arena, "write it in its ASCII form, %s", ascii);
}

const char *dnsoperator_zone_advice(struct slice text, struct arena *arena)
{
	const char *advice = dnsoperator_zone_advice_ascii(text, arena);
	if (advice != NULL)
		return advice;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '*')
			return "remove the wildcard: a zone includes all names below it";
		if (text.p[i] == '_')
			return "remove labels with an underscore: the zone above includes these "
			       "names";
	}
	return "use \".\" or labels of 1 to 63 letters, digits and inner hyphens, 253 characters "
	       "in "
	       "all";
}

const char *dnsoperator_zone_normal(struct arena *arena, struct slice text)
{
	if (text.n > 1 && text.p[text.n - 1] == '.')
		text.n--;
	char *z = arena_strndup(arena, text.p, text.n);
	for (size_t i = 0; i < text.n; i++)
		z[i] = ascii_lower(z[i]);
	return z;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The characters that a class matches, for the linear matcher. PCRE2 says which they are, so that
 * both matchers have the same idea of case and of Unicode's properties. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct regex_charset {
	uint64_t ascii[2];
	void *code; /* pcre2_code, asked for characters beyond ASCII */
};

/* `pcre` matches one or more characters of the class, and nothing else. */
void regex_charset_init(struct regex_charset *set, const char *pcre);
void regex_charset_done(struct regex_charset *set);
/* `match_data` is a pcre2_match_data, which is overwritten. */
bool regex_charset_has_other(const struct regex_charset *set, uint32_t cp, void *match_data);

static inline bool regex_charset_has(const struct regex_charset *set, uint32_t cp, void *match_data)
{
	if (cp < 128)
		return (set->ascii[cp / 64] >> cp % 64 & 1) != 0;
	return regex_charset_has_other(set, cp, match_data);
}

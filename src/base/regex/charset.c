/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Character classes of the linear matcher: a table for ASCII, PCRE2 for the rest. */
#include "base/regex/charset_priv.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/text/utf8.h"

enum { ASCII = 128 };

void regex_charset_init(struct regex_charset *set, const char *pcre)
{
	unsigned char ascii[ASCII];
	int error;
	PCRE2_SIZE at = 0;
	for (unsigned c = 0; c < ASCII; c++)
		ascii[c] = (unsigned char)c;
	pcre2_code *code =
		pcre2_compile((PCRE2_SPTR)pcre, strlen(pcre), PCRE2_UTF, &error, &at, NULL);
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	/* The whole pattern was compiled before: only memory can be missing. */
	if (code == NULL || data == NULL)
		abort();
	*set = (struct regex_charset){ .code = code };
	const PCRE2_SIZE *run = pcre2_get_ovector_pointer(data);
	for (at = 0; pcre2_match(code, ascii, ASCII, at, 0, data, NULL) > 0; at = run[1]) {
		for (PCRE2_SIZE c = run[0]; c < run[1]; c++)
			set->ascii[c / 64] |= UINT64_C(1) << c % 64;
	}
	pcre2_match_data_free(data);
}

void regex_charset_done(struct regex_charset *set)
{
	pcre2_code_free(set->code);
}

bool regex_charset_has_other(const struct regex_charset *set, uint32_t cp, void *match_data)
{
	char text[4];
	size_t n = utf8_encode(cp, text);
	return pcre2_match(set->code, (PCRE2_SPTR)text, n, 0, PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK,
			   match_data, NULL) >= 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pattern and a subject, split at the first NUL: whatever is accepted is matched by PCRE2 and by
 * the linear matcher, which must agree. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/regex/regex.h"
#include "base/regex/regex_test.h"

enum { SUBJECT_MAX = 300 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_groups(const struct regex *re, const struct regex_scratch *s,
			 struct slice subject)
{
	for (unsigned i = 0; i <= regex_groups(re); i++) {
		struct slice g = regex_group(s, i);
		if (g.n > subject.n ||
		    (g.n > 0 && (g.p < subject.p || g.p + g.n > subject.p + subject.n)))
			abort();
	}
}

/* Where PCRE2 finishes, and means the same, both matchers find the same. */
static void compare_matchers(const struct regex *re, struct slice subject)
{
	struct regex_scratch *linear = regex_scratch_new(regex_groups(re));
	struct regex_scratch *pcre = regex_scratch_new(regex_groups(re));
	bool found = regex_match_linear(re, linear, subject);
	int r = regex_pcre_differs(re) ? -1 : regex_match_pcre(re, pcre, subject);
	if (found)
		check_groups(re, linear, subject);
	if (r >= 0 && (r == 1) != found)
		abort();
	for (unsigned i = 0; r == 1 && i <= regex_groups(re); i++) {
		struct slice a = regex_group(pcre, i), b = regex_group(linear, i);
		if (a.p != b.p || a.n != b.n)
			abort();
	}
	regex_scratch_free(linear);
	regex_scratch_free(pcre);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice subject = { (const char *)data, size };
	struct slice pattern = slice_cut(&subject, '\0');
	struct regex *re;
	if (regex_new(pattern, &re, NULL) < 0)
		return 0;
	/* Time is proportional to the pattern, with its counts written out, times the subject. */
	if (subject.n <= SUBJECT_MAX)
		compare_matchers(re, subject);
	regex_free(re);
	return 0;
}

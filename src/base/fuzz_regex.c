/* A pattern and a subject, split at the first NUL: whatever is accepted matches
 * within limits and gives groups that lie in the subject. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void match(const struct regex *re, struct slice subject)
{
	struct regex_scratch *s = regex_scratch_new(regex_groups(re));
	if (regex_match(re, s, subject) == 1) {
		for (unsigned i = 0; i <= regex_groups(re); i++) {
			struct slice g = regex_group(s, i);
			if (g.n > subject.n ||
			    (g.n > 0 && (g.p < subject.p || g.p + g.n > subject.p + subject.n)))
				abort();
		}
	}
	regex_scratch_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice subject = { (const char *)data, size };
	struct slice pattern = slice_cut(&subject, '\0');
	struct regex *re;
	if (regex_new(pattern, &re, NULL) < 0)
		return 0;
	match(re, subject);
	regex_free(re);
	return 0;
}

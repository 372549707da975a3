/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The models of libcs, one row for each measured fact. */
#include "advise/walk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"

/* One letter for each element, the bare name last: N NXDOMAIN, E no data, S SERVFAIL, D data, d data of
 * A and none of AAAA, h data of A and SERVFAIL for AAAA, o another code, . not known. */
static struct advise_elements make_elements(const char *letters)
{
	static const struct {
		char letter;
		uint8_t a, aaaa;
	} kinds[] = {
		{ 'N', ADVISE_NXDOMAIN, ADVISE_NXDOMAIN }, { 'E', ADVISE_NODATA, ADVISE_NODATA },
		{ 'S', ADVISE_SERVFAIL, ADVISE_SERVFAIL }, { 'D', ADVISE_DATA, ADVISE_DATA },
		{ 'd', ADVISE_DATA, ADVISE_NODATA },	   { 'h', ADVISE_DATA, ADVISE_SERVFAIL },
		{ 'o', ADVISE_OTHER, ADVISE_OTHER },	   { '.', 0, 0 },
		{ 'm', ADVISE_DATA | ADVISE_NXDOMAIN, 0 },
	};
	struct advise_elements elements = { .n = strlen(letters) };
	for (size_t i = 0; i < elements.n; i++) {
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
			if (kinds[k].letter == letters[i]) {
				elements.seen[i][ADVISE_TYPE_A] = kinds[k].a;
				elements.seen[i][ADVISE_TYPE_AAAA] = kinds[k].aaaa;
			}
		}
	}
	return elements;
}

/* The end as a word, the element, and the number of queries of each type. */
static const char *walk(const char *letters, unsigned types, enum advise_libc libc, bool bare_first)
{
	static const char *const ends[] = { "found", "nxdomain", "nodata", "again", "unproven" };
	static char out[64];
	struct advise_elements elements = make_elements(letters);
	struct advise_result result = advise_walk(&elements, types, libc, bare_first);
	snprintf(out, sizeof(out), "%s %zu %zu", ends[result.end], result.element, result.asked);
	return out;
}

static void walks(void **state)
{
	(void)state;
	static const struct {
		const char *elements;
		bool bare_first;
		const char *glibc, *musl;
	} rows[] = {
		/* an external name, ndots 5 and 1 */
		{ "NNNND", false, "found 4 5", "found 4 5" },
		{ "NNNND", true, "found 4 1", "found 4 1" },
		{ "NNNNN", true, "nxdomain 3 5", "nxdomain 4 1" },
		/* svc.ns: musl does not search for names with dots */
		{ "NDN", false, "found 1 2", "found 1 2" },
		{ "NDN", true, "found 1 3", "nxdomain 2 1" },
		/* no data and SERVFAIL at a domain */
		{ "ED", false, "found 1 2", "nodata 0 1" },
		{ "EN", false, "nodata 1 2", "nodata 0 1" },
		{ "EN", true, "nxdomain 0 2", "nxdomain 1 1" },
		{ "SD", false, "found 1 2", "again 0 1" },
		{ "SEN", false, "nodata 2 3", "again 0 1" },
		{ "SN", false, "again 1 2", "again 0 1" },
		{ "NE", false, "nodata 1 2", "nodata 1 2" },
		{ "NE", true, "nodata 0 2", "nodata 1 1" },
		/* one type is enough */
		{ "NdD", false, "found 1 2", "found 1 2" },
		/* not known, and not modelled */
		{ "N.D", false, "unproven 1 2", "unproven 1 2" },
		{ "NhD", false, "unproven 1 2", "unproven 1 2" },
		{ "oD", false, "unproven 0 1", "unproven 0 1" },
		{ "mD", false, "unproven 0 1", "unproven 0 1" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(walk(rows[i].elements, 3, ADVISE_GLIBC, rows[i].bare_first),
				    rows[i].glibc);
		assert_string_equal(walk(rows[i].elements, 3, ADVISE_MUSL, rows[i].bare_first),
				    rows[i].musl);
	}
	/* AAAA alone ends elsewhere than both do. */
	assert_string_equal(walk("NdD", 2, ADVISE_GLIBC, false), "found 2 3");
	assert_string_equal(walk("NdD", 2, ADVISE_MUSL, false), "nodata 1 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(walks) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}

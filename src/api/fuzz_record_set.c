/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any texts as a DNSRecord: the first byte is the type, then a name and values, one per line. What is
 * accepted has the form that api/record_set.h promises, and names and addresses stay as they are when
 * they are read again. */
#include "api/record_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/slice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES_MAX = 16 };

static void expect(bool holds)
{
	if (!holds)
		abort();
}

static void check_name(const char *name)
{
	size_t n = strlen(name);
	expect(n != 0 && n <= API_RECORD_NAME_MAX && name[n - 1] != '.');
	for (size_t i = 0; i < n; i++)
		expect(name[i] == ascii_lower(name[i]));
}

static void check_again(const struct api_dnsrecord *record, const struct api_record_set *set,
			struct arena *arena)
{
	struct api_dnsrecord again = *record;
	struct api_errors errors = { 0 };
	struct api_record_set other;
	again.name = set->name;
	again.values = set->values;
	expect(api_record_set_make(&again, arena, &other, &errors) == 0);
	expect(strcmp(set->name, other.name) == 0 && set->values.n == other.values.n);
	for (size_t i = 0; i < set->values.n; i++)
		expect(strcmp(set->values.v[i], other.values.v[i]) == 0);
}

static void check_record(const struct api_dnsrecord *record)
{
	struct api_errors errors = { 0 };
	struct api_record_set set;
	struct arena arena;
	arena_init(&arena);
	if (api_record_set_make(record, &arena, &set, &errors) == 0) {
		check_name(set.name);
		for (size_t i = 1; i < set.values.n; i++)
			expect(strcmp(set.values.v[i - 1], set.values.v[i]) < 0);
		if (record->record_type != API_RECORD_TXT)
			check_again(record, &set, &arena);
	} else {
		expect(errors.n != 0);
	}
	api_errors_done(&errors);
	arena_done(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct api_dnsrecord record = { .ttl_s = 1 };
	char *lines[LINES_MAX];
	const char *values[LINES_MAX];
	size_t n = 0;
	if (size < 2)
		return 0;
	struct slice rest = { (const char *)data + 1, size - 1 };
	while (rest.p != NULL && n < LINES_MAX) {
		struct slice line = slice_cut(&rest, '\n');
		lines[n++] = xstrndup(line.n != 0 ? line.p : "", line.n);
	}
	record.record_type = data[0] % 4;
	record.name = lines[0];
	for (size_t i = 1; i < n; i++)
		values[i - 1] = lines[i];
	record.values = (struct api_strings){ values, n - 1 };
	check_record(&record);
	for (size_t i = 0; i < n; i++)
		free(lines[i]);
	return 0;
}

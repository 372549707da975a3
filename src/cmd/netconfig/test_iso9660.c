/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Images: found by both sets of names, as a reader walks them; limits. Real readers are in
 * tests/functional/test_netconfig.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "cmd/netconfig/iso9660.h"

enum { SECTOR = 2048 };

static uint32_t read_le(const char *at)
{
	const uint8_t *b = (const uint8_t *)at;
	return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static uint32_t read_be(const char *at)
{
	const uint8_t *b = (const uint8_t *)at;
	return b[3] | (uint32_t)b[2] << 8 | (uint32_t)b[1] << 16 | (uint32_t)b[0] << 24;
}

/* The bytes of the file with the name, by the descriptor in the sector. */
static struct slice find_file(const struct strbuf *image, size_t descriptor, struct slice name)
{
	const char *root = image->s + descriptor * SECTOR + 156;
	const char *at = image->s + (size_t)read_le(root + 2) * SECTOR;
	assert_int_equal(read_le(root + 2), read_be(root + 6));
	while (at[0] != 0) {
		size_t n = (uint8_t)at[32];
		if (slice_eq((struct slice){ at + 33, n }, name))
			return (struct slice){ image->s + (size_t)read_le(at + 2) * SECTOR,
					       read_le(at + 10) };
		at += (uint8_t)at[0];
	}
	return (struct slice){ NULL, 0 };
}

static void files_are_found(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf image = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf again = STRBUF_INIT;
	static char large[3 * SECTOR + 1];
	memset(large, 'x', sizeof(large));
	const struct iso9660_file files[] = { { "a-file", { large, sizeof(large) } },
					      { "empty", { "", 0 } },
					      { "user-data", SLICE("text") } };
	assert_int_equal(iso9660_write("cidata", files, 3, &image), 0);
	assert_int_equal(iso9660_write("cidata", files, 3, &again), 0);
	assert_true(slice_eq(strbuf_slice(&image), strbuf_slice(&again)));
	assert_int_equal(image.n, (25 + 4 + 0 + 1) * SECTOR);
	assert_memory_equal(image.s + 16 * SECTOR, "\1CD001\1", 7);
	assert_memory_equal(image.s + 17 * SECTOR, "\2CD001\1", 7);
	assert_memory_equal(image.s + 18 * SECTOR, "\377CD001\1", 7);
	assert_memory_equal(image.s + 16 * SECTOR + 40, "cidata   ", 9);
	assert_memory_equal(image.s + 17 * SECTOR + 40, "\0c\0i\0d\0a\0t\0a\0 ", 14);
	assert_int_equal(read_le(image.s + 16 * SECTOR + 80), image.n / SECTOR);
	assert_true(slice_eq(find_file(&image, 16, SLICE("A-FILE.;1")), files[0].bytes));
	assert_true(slice_eq(find_file(&image, 16, SLICE("USER-DATA.;1")), SLICE("text")));
	assert_true(slice_eq(find_file(&image, 17, SLICE("\0a\0-\0f\0i\0l\0e")), files[0].bytes));
	assert_int_equal(find_file(&image, 17, SLICE("\0e\0m\0p\0t\0y")).n, 0);
	assert_non_null(find_file(&image, 17, SLICE("\0e\0m\0p\0t\0y")).p);
	assert_null(find_file(&image, 17, SLICE("EMPTY.;1")).p);
}

static void limits_are_reached(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf image = STRBUF_INIT;
	struct iso9660_file files[ISO9660_FILES_MAX + 1];
	static const char *const names[] = {
		"a123456789012345678901234ab", "b", "c", "d", "e", "f", "g", "h", "i"
	};
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		files[i] = (struct iso9660_file){ names[i], SLICE("x") };
	assert_int_equal(strlen(names[0]), ISO9660_NAME_MAX);
	assert_int_equal(iso9660_write("0123456789abcdef", files, ISO9660_FILES_MAX, &image), 0);
	strbuf_reset(&image);
	assert_int_equal(iso9660_write("x", files, ISO9660_FILES_MAX + 1, &image), ERR_LIMIT);
	assert_int_equal(iso9660_write("0123456789abcdefg", files, 1, &image), ERR_LIMIT);
	files[0].name = "a123456789012345678901234abc";
	assert_int_equal(iso9660_write("x", files, 1, &image), ERR_LIMIT);
	files[0] = (struct iso9660_file){ "a", { "", (size_t)ISO9660_FILE_BYTES_MAX + 1 } };
	assert_int_equal(iso9660_write("x", files, 1, &image), ERR_LIMIT);
	assert_int_equal(image.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_found),
		cmocka_unit_test(limits_are_reached),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

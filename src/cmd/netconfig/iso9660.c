/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes ISO 9660 images (ECMA-119) with a second set of folders for Joliet, whose names keep their
 * case. The layout in sectors of 2048 bytes:
 *
 *	0-15  empty               19, 20  path tables, both byte orders    23  root folder
 *	16    primary descriptor  21, 22  the same for Joliet              24  the same for Joliet
 *	17    Joliet's            25-     files
 *	18    end of descriptors */
#include "cmd/netconfig/iso9660.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

enum {
	SECTOR = 2048,
	AT_PRIMARY = 16,
	AT_JOLIET = 17,
	AT_END = 18,
	AT_PATHS = 19,
	AT_JOLIET_PATHS = 21,
	AT_ROOT = 23,
	AT_JOLIET_ROOT = 24,
	AT_FILES = 25,
	RECORD_HEAD = 33, /* bytes of a directory record before its name */
	PATH_TABLE_BYTES = 10,
	FLAG_FOLDER = 2,
	LABEL_BYTES = 32,
};

struct image {
	const char *label;
	const struct iso9660_file *files;
	size_t count;
	uint32_t first[ISO9660_FILES_MAX]; /* sector of each file */
	uint32_t sectors;
	uint8_t *bytes;
};

static void put_le(uint8_t *at, uint32_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static void put_be(uint8_t *at, uint32_t value, size_t size)
{
	for (size_t i = 0; i < size; i++)
		at[size - 1 - i] = (uint8_t)(value >> (8 * i));
}

/* Numbers stand in both byte orders, one after the other. */
static void put_both(uint8_t *at, uint32_t value, size_t size)
{
	put_le(at, value, size);
	put_be(at + size, value, size);
}

/* Text padded with blanks; for Joliet in UCS-2. */
static void put_padded(uint8_t *at, const char *text, size_t size, bool joliet)
{
	size_t width = joliet ? 2 : 1, n = strlen(text);
	for (size_t i = 0; i < size / width; i++) {
		if (joliet)
			at[2 * i] = 0;
		at[width * i + width - 1] = i < n ? (uint8_t)text[i] : ' ';
	}
}

/* A fixed day, 1980-01-01, so that equal files give equal images. */
static void put_day(uint8_t at[7])
{
	memset(at, 0, 7);
	at[0] = 80;
	at[1] = 1;
	at[2] = 1;
}

/* A directory record; returns its length. */
static size_t put_record(uint8_t *at, struct slice name, uint32_t sector, uint32_t size,
			 uint8_t flags)
{
	size_t length = (RECORD_HEAD + name.n + 1) & ~(size_t)1;
	at[0] = (uint8_t)length;
	put_both(at + 2, sector, 4);
	put_both(at + 10, size, 4);
	put_day(at + 18);
	at[25] = flags;
	put_both(at + 28, 1, 2); /* number of the volume */
	at[32] = (uint8_t)name.n;
	memcpy(at + RECORD_HEAD, name.p, name.n);
	return length;
}

/* "META-DATA.;1" for ISO 9660, which readers without Joliet turn into "meta-data"; for Joliet the
 * name in UCS-2. */
static struct slice format_name(const char *name, bool joliet, char out[2 * ISO9660_NAME_MAX + 4])
{
	size_t n = strlen(name);
	for (size_t i = 0; i < n; i++) {
		bool lower = name[i] >= 'a' && name[i] <= 'z';
		if (joliet) {
			out[2 * i] = 0;
			out[2 * i + 1] = name[i];
		} else {
			out[i] = lower ? (char)(name[i] - 'a' + 'A') : name[i];
		}
	}
	if (joliet)
		return (struct slice){ out, 2 * n };
	memcpy(out + n, ".;1", 3);
	return (struct slice){ out, n + 3 };
}

static void put_root(const struct image *image, uint32_t sector, bool joliet)
{
	uint8_t *at = image->bytes + (size_t)sector * SECTOR, *start = at;
	at += put_record(at, (struct slice){ "\0", 1 }, sector, SECTOR, FLAG_FOLDER);
	at += put_record(at, (struct slice){ "\1", 1 }, sector, SECTOR, FLAG_FOLDER);
	for (size_t i = 0; i < image->count; i++) {
		char name[2 * ISO9660_NAME_MAX + 4];
		at += put_record(at, format_name(image->files[i].name, joliet, name),
				 image->first[i], (uint32_t)image->files[i].bytes.n, 0);
	}
	assert(at - start <= SECTOR);
}

/* Path tables list the folders: there is only the root. */
static void put_path_tables(const struct image *image, uint32_t sector, uint32_t root)
{
	uint8_t *little = image->bytes + (size_t)sector * SECTOR, *big = little + SECTOR;
	little[0] = big[0] = 1;
	put_le(little + 2, root, 4);
	put_be(big + 2, root, 4);
	put_le(little + 6, 1, 2);
	put_be(big + 6, 1, 2);
}

static const uint8_t magic[] = { 'C', 'D', '0', '0', '1', 1 };
static const uint8_t ucs2_level_3[] = { '%', '/', 'E' };

static void put_descriptor(const struct image *image, bool joliet)
{
	uint8_t *at = image->bytes + (size_t)(joliet ? AT_JOLIET : AT_PRIMARY) * SECTOR;
	uint32_t paths = joliet ? AT_JOLIET_PATHS : AT_PATHS;
	uint32_t root = joliet ? AT_JOLIET_ROOT : AT_ROOT;
	at[0] = joliet ? 2 : 1;
	memcpy(at + 1, magic, sizeof(magic));
	put_padded(at + 8, "", LABEL_BYTES, joliet);
	put_padded(at + 40, image->label, LABEL_BYTES, joliet);
	put_both(at + 80, image->sectors, 4);
	if (joliet)
		memcpy(at + 88, ucs2_level_3, sizeof(ucs2_level_3));
	put_both(at + 120, 1, 2); /* volumes in the set */
	put_both(at + 124, 1, 2); /* which this one is */
	put_both(at + 128, SECTOR, 2);
	put_both(at + 132, PATH_TABLE_BYTES, 4);
	put_le(at + 140, paths, 4);
	put_be(at + 148, paths + 1, 4);
	put_record(at + 156, (struct slice){ "\0", 1 }, root, SECTOR, FLAG_FOLDER);
	put_padded(at + 190, "", 128, joliet); /* volume set */
	put_padded(at + 318, "", 128, joliet); /* publisher */
	put_padded(at + 446, "", 128, joliet); /* preparer */
	put_padded(at + 574, "", 128, joliet); /* application */
	put_padded(at + 702, "", 37, false);   /* files with copyright, abstract, bibliography */
	put_padded(at + 739, "", 37, false);
	put_padded(at + 776, "", 37, false);
	for (size_t i = 0; i < 4; i++) /* dates that are not given: digits, and a zone of 0 */
		memset(at + 813 + 17 * i, '0', 16);
	at[881] = 1; /* version of the structure */
}

static int place_files(struct image *image)
{
	uint32_t next = AT_FILES;
	if (image->count > ISO9660_FILES_MAX || strlen(image->label) > ISO9660_LABEL_MAX)
		return ERR_LIMIT;
	for (size_t i = 0; i < image->count; i++) {
		size_t n = image->files[i].bytes.n;
		if (n > ISO9660_FILE_BYTES_MAX || strlen(image->files[i].name) > ISO9660_NAME_MAX)
			return ERR_LIMIT;
		assert(i == 0 || strcmp(image->files[i - 1].name, image->files[i].name) < 0);
		image->first[i] = next;
		next += (uint32_t)((n + SECTOR - 1) / SECTOR);
	}
	image->sectors = next;
	return 0;
}

int iso9660_write(const char *label, const struct iso9660_file *files, size_t count,
		  struct strbuf *out)
{
	static const char zeros[SECTOR];
	struct image image = { .label = label, .files = files, .count = count };
	int r = place_files(&image);
	if (r < 0)
		return r;
	assert(out->n == 0);
	for (uint32_t i = 0; i < image.sectors; i++)
		strbuf_add(out, zeros, sizeof(zeros));
	image.bytes = (uint8_t *)out->s;
	put_descriptor(&image, false);
	put_descriptor(&image, true);
	memcpy(image.bytes + (size_t)AT_END * SECTOR, "\377CD001\1", 7);
	put_path_tables(&image, AT_PATHS, AT_ROOT);
	put_path_tables(&image, AT_JOLIET_PATHS, AT_JOLIET_ROOT);
	put_root(&image, AT_ROOT, false);
	put_root(&image, AT_JOLIET_ROOT, true);
	for (size_t i = 0; i < count; i++) {
		if (files[i].bytes.n != 0)
			memcpy(image.bytes + (size_t)image.first[i] * SECTOR, files[i].bytes.p,
			       files[i].bytes.n);
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays a corpus through a fuzz target, so that every crash once found stays a test with any
 * compiler: fuzz_x DIR runs LLVMFuzzerTestOneInput on each file of DIR, on the empty input, and on
 * a fixed number of simple mutations of each file, fewer where the corpus is large. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	MAX_INPUT_BYTES = 1 << 20,
	MUTATIONS_MAX = 200,	  /* of a file */
	MUTATIONS_IN_ALL = 20000, /* of a folder: a corpus that grows does not take ever longer */
};

static uint32_t seed = 2463534242U;

static uint32_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

/* An exact-size heap copy lets the address sanitizer see a read past the end. */
static void run_once(const uint8_t *data, size_t n)
{
	uint8_t *copy = calloc(n != 0 ? n : 1, 1);
	if (copy == NULL)
		abort();
	memcpy(copy, data, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

static void run_mutated(uint8_t *data, size_t n, size_t mutations)
{
	for (size_t i = 0; i < mutations && n > 0; i++) {
		size_t at = next_random() % n;
		uint8_t old = data[at];
		size_t keep = next_random() % 4 == 0 ? at : n;
		data[at] = (uint8_t)next_random();
		run_once(data, keep);
		data[at] = old;
	}
}

static int run_file(const char *path, size_t mutations)
{
	static uint8_t buf[MAX_INPUT_BYTES];
	FILE *f = fopen(path, "rbe");
	if (f == NULL)
		return -1;
	size_t n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	run_once(buf, n);
	run_mutated(buf, n, mutations);
	return 0;
}

static int select_file(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* How many files were replayed; -1: the folder cannot be read. */
static int run_folder(const char *folder)
{
	struct dirent **entries;
	int count = scandir(folder, &entries, select_file, alphasort), files = 0;
	if (count < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		char path[4096];
		size_t mutations = MUTATIONS_IN_ALL / (size_t)count;
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		files += run_file(path, mutations < MUTATIONS_MAX ? mutations : MUTATIONS_MAX) == 0;
		free(entries[i]);
	}
	free(entries);
	return files;
}

int main(int argc, char **argv)
{
	int files = 0;
	run_once((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		int n = run_folder(argv[i]);
		if (n < 0) {
			fprintf(stderr, "cannot open corpus folder '%s'\n", argv[i]);
			return 1;
		}
		files += n;
	}
	printf("%d corpus files replayed\n", files);
	return files > 0 ? 0 : 1;
}

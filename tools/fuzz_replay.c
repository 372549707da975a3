/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays a corpus through a fuzz target, so that every crash once found stays a test with any
 * compiler: fuzz_x DIR runs LLVMFuzzerTestOneInput on each file of DIR, on the empty input, and on
 * a fixed number of simple mutations of each file. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_INPUT_BYTES = 1 << 20, MUTATIONS = 200 };

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

static void run_mutated(uint8_t *data, size_t n)
{
	for (int i = 0; i < MUTATIONS && n > 0; i++) {
		size_t at = next_random() % n;
		uint8_t old = data[at];
		size_t keep = next_random() % 4 == 0 ? at : n;
		data[at] = (uint8_t)next_random();
		run_once(data, keep);
		data[at] = old;
	}
}

static int run_file(const char *path)
{
	static uint8_t buf[MAX_INPUT_BYTES];
	FILE *f = fopen(path, "rbe");
	if (f == NULL)
		return -1;
	size_t n = fread(buf, 1, sizeof(buf), f);
	fclose(f);
	run_once(buf, n);
	run_mutated(buf, n);
	return 0;
}

int main(int argc, char **argv)
{
	int files = 0;
	run_once((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		DIR *d = opendir(argv[i]);
		if (d == NULL) {
			fprintf(stderr, "cannot open corpus folder '%s'\n", argv[i]);
			return 1;
		}
		const struct dirent *e;
		while ((e = readdir(d)) != NULL) {
			char path[4096];
			if (e->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", argv[i], e->d_name);
			if (run_file(path) == 0)
				files++;
		}
		closedir(d);
	}
	printf("%d corpus files replayed\n", files);
	return files > 0 ? 0 : 1;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists of free pieces by size, for each thread. The size of a piece is what malloc made of it, so
 * that pieces need no header. */
#include "api/tree_memory.h"

#include <assert.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include <jansson.h>

#include "api/tree_memory_test.h"
#include "base/compiler.h"

/* A piece on list `i` has room for at least SIZE_FIRST + i * SIZE_STEP bytes: glibc's sizes. */
enum { SIZE_FIRST = 24, SIZE_STEP = 16, SIZES = 16 };

struct piece {
	struct piece *next;
};

static _Thread_local struct {
	struct piece *first[SIZES];
	size_t bytes;
	bool ends_noted; /* release_all runs at the end of this thread */
	bool ended;
} kept;

static pthread_key_t thread_end;

static size_t room_of(size_t list)
{
	return SIZE_FIRST + list * SIZE_STEP;
}

static void release_all(void *unused)
{
	(void)unused;
	kept.ended = true; /* trees may be freed by what ends after this */
	for (size_t i = 0; i < SIZES; i++) {
		while (kept.first[i] != NULL) {
			struct piece *piece = kept.first[i];
			kept.first[i] = piece->next;
			kept.bytes -= room_of(i);
			free(piece);
		}
	}
	assert(kept.bytes == 0);
}

static void *take_piece(size_t size)
{
	size_t list = size <= SIZE_FIRST ? 0 : (size - SIZE_FIRST + SIZE_STEP - 1) / SIZE_STEP;
	if (list >= SIZES || kept.first[list] == NULL)
		return malloc(size);
	struct piece *piece = kept.first[list];
	kept.first[list] = piece->next;
	kept.bytes -= room_of(list);
	return piece;
}

static void note_end(void)
{
	/* Only its not being NULL matters. Without memory for it the pieces of this thread stay. */
	IGNORE(pthread_setspecific(thread_end, &kept));
	kept.ends_noted = true;
}

static void keep_piece(void *memory)
{
	struct piece *piece = memory;
	size_t room = malloc_usable_size(piece); /* 0 for NULL */
	size_t list = (room - SIZE_FIRST) / SIZE_STEP;
	if (room < SIZE_FIRST || list >= SIZES || kept.ended ||
	    kept.bytes + room_of(list) > API_TREE_KEPT_BYTES) {
		free(piece);
		return;
	}
	if (!kept.ends_noted)
		note_end();
	piece->next = kept.first[list];
	kept.first[list] = piece;
	kept.bytes += room_of(list);
}

void api_tree_memory_keep(void)
{
	if (api_tree_memory_works() && pthread_key_create(&thread_end, release_all) == 0)
		json_set_alloc_funcs(take_piece, keep_piece);
}

size_t api_tree_memory_kept(void)
{
	return kept.bytes;
}

bool api_tree_memory_works(void)
{
	return !SANITIZED;
}

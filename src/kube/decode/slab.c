/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A slab has a list of blocks for each size. A block begins at a multiple of its size, so that the
 * block of an object is found by the object's address. Places are handed out in order, so that the
 * pages behind the last one are never touched; those that were given back form a list. */
#include "kube/decode/slab.h"
#include "kube/decode/slab_test.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <sanitizer/asan_interface.h>

#include "base/compiler.h"
#include "base/mem.h"

enum {
	BLOCK_BYTES = 64 * 1024, /* a power of two */
	STEP = 8,		 /* sizes are rounded up to a multiple of it */
	SMALL_MAX = 512,	 /* larger objects have a block of their own */
	SIZES = SMALL_MAX / STEP + 1,
};

struct free_place {
	struct free_place *next;
};

struct block {
	struct kube_slab *slab;
	struct block *next, *prev; /* of its size, among those that have room */
	struct free_place *free;
	size_t bytes;	 /* of the block */
	uint32_t size;	 /* of a place; 0: the block has one large object */
	uint32_t fresh;	 /* where the places begin that were never used */
	uint32_t in_use; /* places */
	bool has_room;	 /* it is in the list */
	_Alignas(STEP) char places[];
};

struct kube_slab {
	pthread_mutex_t lock; /* guards all below, and the blocks */
	struct block *with_room[SIZES];
	size_t mapped_bytes;
	bool freed;
};

/* ---- blocks ---- */

/* As the functions of base/mem.h do. */
static NORETURN void out_of_memory(size_t bytes)
{
	fprintf(stderr, "fairlead: out of memory (asked for %zu bytes)\n", bytes);
	abort();
}

static char *map_pages(size_t bytes)
{
	char *begin = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (begin == MAP_FAILED)
		out_of_memory(bytes);
	return begin;
}

/* The kernel mostly puts a mapping next to the last one, which is aligned then. Otherwise more is mapped,
 * and cut down. */
static struct block *map_block(size_t bytes)
{
	char *begin = map_pages(bytes);
	if ((uintptr_t)begin % BLOCK_BYTES != 0) {
		munmap(begin, bytes);
		begin = map_pages(bytes + BLOCK_BYTES);
		size_t before = (BLOCK_BYTES - (uintptr_t)begin % BLOCK_BYTES) % BLOCK_BYTES;
		if (before != 0)
			munmap(begin, before);
		begin += before;
		if (before != BLOCK_BYTES)
			munmap(begin + bytes, BLOCK_BYTES - before);
	}
	return (struct block *)(void *)begin;
}

static void add_to_list(struct block *block)
{
	struct block **first = &block->slab->with_room[block->size / STEP];
	block->prev = NULL;
	block->next = *first;
	if (*first != NULL)
		(*first)->prev = block;
	*first = block;
	block->has_room = true;
}

static void remove_from_list(struct block *block)
{
	assert(block->has_room);
	*(block->prev != NULL ? &block->prev->next : &block->slab->with_room[block->size / STEP]) =
		block->next;
	if (block->next != NULL)
		block->next->prev = block->prev;
	block->has_room = false;
}

static struct block *add_block(struct kube_slab *slab, uint32_t size, size_t bytes)
{
	struct block *block = map_block(bytes);
	*block = (struct block){
		.slab = slab, .bytes = bytes, .size = size, .fresh = offsetof(struct block, places)
	};
	slab->mapped_bytes += bytes;
	return block;
}

static void remove_block(struct block *block)
{
	assert(block->in_use == 0 && !block->has_room);
	block->slab->mapped_bytes -= block->bytes;
	ASAN_UNPOISON_MEMORY_REGION(block, block->bytes); /* others may get these pages */
	munmap(block, block->bytes);
}

/* ---- places ---- */

static bool is_full(const struct block *block)
{
	return block->free == NULL && block->fresh + block->size > BLOCK_BYTES;
}

static void *take_place(struct block *block)
{
	assert(block != NULL && !is_full(block));
	void *place = block->free;
	if (place != NULL) {
		block->free = block->free->next;
		ASAN_UNPOISON_MEMORY_REGION(place, block->size);
	} else {
		place = (char *)block + block->fresh;
		block->fresh += block->size;
	}
	block->in_use++;
	if (is_full(block))
		remove_from_list(block);
	return place;
}

static void *get_large(struct kube_slab *slab, size_t n)
{
	size_t blocks = (offsetof(struct block, places) + n + BLOCK_BYTES - 1) / BLOCK_BYTES;
	struct block *block = add_block(slab, 0, blocks * BLOCK_BYTES);
	block->in_use = 1;
	return block->places;
}

static void *get_small(struct kube_slab *slab, size_t n)
{
	uint32_t size = (uint32_t)((n + STEP - 1) / STEP * STEP);
	if (slab->with_room[size / STEP] == NULL)
		add_to_list(add_block(slab, size, BLOCK_BYTES));
	return take_place(slab->with_room[size / STEP]);
}

/* A block without objects is unmapped, unless it is the only one with room: an object that is added
 * and removed again and again needs no system call. */
static void put_place(struct block *block, void *memory)
{
	struct free_place *place = memory;
	assert(block->in_use != 0);
	place->next = block->free;
	block->free = place;
	ASAN_POISON_MEMORY_REGION(place + 1, block->size - sizeof(*place));
	block->in_use--;
	if (!block->has_room)
		add_to_list(block);
	bool only = block->next == NULL && block->prev == NULL;
	if (block->in_use == 0 && (!only || block->slab->freed)) {
		remove_from_list(block);
		remove_block(block);
	}
}

/* ---- public ---- */

struct kube_slab *kube_slab_new(void)
{
	struct kube_slab *slab = xcalloc(1, sizeof(*slab));
	pthread_mutex_init(&slab->lock, NULL);
	return slab;
}

static void destroy_slab(struct kube_slab *slab)
{
	assert(slab->freed && slab->mapped_bytes == 0);
	pthread_mutex_destroy(&slab->lock);
	free(slab);
}

void kube_slab_free(struct kube_slab *slab)
{
	if (slab == NULL)
		return;
	pthread_mutex_lock(&slab->lock);
	slab->freed = true;
	for (size_t i = 0; i < SIZES; i++) {
		struct block *next;
		for (struct block *block = slab->with_room[i]; block != NULL; block = next) {
			next = block->next;
			if (block->in_use == 0) {
				remove_from_list(block);
				remove_block(block);
			}
		}
	}
	bool last = slab->mapped_bytes == 0;
	pthread_mutex_unlock(&slab->lock);
	if (last)
		destroy_slab(slab);
}

void *kube_slab_get(struct kube_slab *slab, size_t n)
{
	size_t wanted = n != 0 ? n : 1;
	pthread_mutex_lock(&slab->lock);
	assert(!slab->freed);
	void *place = wanted <= SMALL_MAX ? get_small(slab, wanted) : get_large(slab, wanted);
	pthread_mutex_unlock(&slab->lock);
	return place;
}

void kube_slab_put(void *memory)
{
	char *begin = (char *)memory - (uintptr_t)memory % BLOCK_BYTES;
	struct block *block = (struct block *)(void *)begin;
	struct kube_slab *slab = block->slab;
	pthread_mutex_lock(&slab->lock);
	if (block->size != 0) {
		put_place(block, memory);
	} else {
		block->in_use = 0;
		remove_block(block);
	}
	bool last = slab->freed && slab->mapped_bytes == 0;
	pthread_mutex_unlock(&slab->lock);
	if (last)
		destroy_slab(slab);
}

size_t kube_slab_mapped_bytes(struct kube_slab *slab)
{
	pthread_mutex_lock(&slab->lock);
	size_t n = slab->mapped_bytes;
	pthread_mutex_unlock(&slab->lock);
	return n;
}

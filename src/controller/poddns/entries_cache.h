/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ConfigMap's list as it was parsed last: one copy, which hooks and workers share. A list may have a
 * megabyte, for which the parser takes some 50 ms, and all reviews wait behind one another: a thread
 * parses each new version as soon as the watch has it, and until it is done reviews use the one
 * before. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct controller_ctx;
struct kube_obj;
struct poddns_entries;

enum { PODDNS_VERSION_MAX = 128 };

struct poddns_entries_cache {
	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t parsed;
	struct poddns_entries *current;	  /* NULL: no ConfigMap */
	char version[PODDNS_VERSION_MAX]; /* uid and resourceVersion of what was parsed */
	bool is_known;			  /* `current` is something that was parsed, or nothing */
	char parsing[PODDNS_VERSION_MAX]; /* what is being parsed */
	bool is_parsing;
	/* The thread, which ends when there is nothing to parse. */
	struct kube_obj *next; /* what it parses next; a reference */
	char next_version[PODDNS_VERSION_MAX];
	bool has_thread, is_running; /* it must be joined; it will see `next` */
	pthread_t thread;
};

enum poddns_freshness {
	PODDNS_NEWEST,	   /* that the watch has: waits for the parser */
	PODDNS_MAY_BE_OLD, /* does not, unless nothing was parsed before */
};

void poddns_entries_cache_init(struct poddns_entries_cache *cache);
/* Waits for the thread. */
void poddns_entries_cache_done(struct poddns_entries_cache *cache);
/* The watch has another version: begins to parse it. Does not wait. */
void poddns_entries_cache_prepare(const struct controller_ctx *ctx);
/* A new reference; NULL: there is no ConfigMap. */
struct poddns_entries *poddns_entries_cache_get(const struct controller_ctx *ctx,
						enum poddns_freshness freshness);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads TSIG keys from a file, again and again. Workers hold those that a transfer was begun with. */
#include "plugin/egressfirewall/keys.h"
#include "plugin/egressfirewall/keys_test.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rcu/rcu.h"
#include "base/secret.h"
#include "net/task.h"

#define AREA "plugin/egressfirewall"

/* The file is read once a second while it has no keys: a server that starts before the controller
 * made the first one would otherwise forget short-lived addresses before anybody may ask for them. */
static const uint64_t read_missing_ns = 1 * NS_PER_S;
static const uint64_t read_again_ns = 5 * NS_PER_S;

struct held_keys {
	struct egressfirewall_keys keys;
	atomic_uint refs;
	struct rcu_item item;
};

struct egressfirewall_keyfile {
	char *path;
	struct held_keys *_Atomic now;
	uint64_t read_ns; /* monotonic, the last time */
	char last_error[256];
};

/* ---- text ---- */

static int parse_line(struct slice line, unsigned number, struct egressfirewall_keys *keys,
		      struct err_text reterr)
{
	char reason[160];
	if (keys->n == EGRESSFIREWALL_KEYS_MAX) {
		err_text_set(reterr, "line %u: more than %d keys", number, EGRESSFIREWALL_KEYS_MAX);
		return ERR_LIMIT;
	}
	int r = dns_tsig_key_parse(&keys->v[keys->n], line, ERR_TEXT(reason));
	if (r < 0)
		err_text_set(reterr, "line %u: %s", number, reason);
	else
		keys->n++;
	return r < 0 ? ERR_PARSE : 0;
}

int egressfirewall_keys_parse(struct slice text, struct egressfirewall_keys *ret,
			      struct err_text reterr)
{
	int r = 0;
	if (text.n > EGRESSFIREWALL_KEYS_BYTES_MAX) {
		err_text_set(reterr, "more than %d bytes", EGRESSFIREWALL_KEYS_BYTES_MAX);
		return ERR_LIMIT;
	}
	for (unsigned number = 1; text.p != NULL && r == 0; number++) {
		struct slice line = slice_trim(slice_cut(&text, '\n'));
		if (line.n != 0 && line.p[0] != '#')
			r = parse_line(line, number, ret, reterr);
	}
	if (r < 0)
		egressfirewall_keys_done(ret);
	return r;
}

void egressfirewall_keys_done(struct egressfirewall_keys *keys)
{
	for (size_t i = 0; i < keys->n; i++)
		dns_tsig_key_done(&keys->v[i]);
	keys->n = 0;
}

/* ---- references ---- */

static void free_held(struct held_keys *held)
{
	egressfirewall_keys_done(&held->keys);
	free(held);
}

static void put_held(struct held_keys *held)
{
	unsigned before = atomic_fetch_sub(&held->refs, 1);
	assert(before != 0);
	if (before == 1)
		free_held(held);
}

void egressfirewall_keys_put(const struct egressfirewall_keys *keys)
{
	if (keys != NULL)
		put_held(CONTAINER_OF((uintptr_t)keys, struct held_keys, keys));
}

const struct egressfirewall_keys *egressfirewall_keyfile_hold(
	const struct egressfirewall_keyfile *file)
{
	struct held_keys *held = rcu_get(&file->now);
	atomic_fetch_add(&held->refs, 1);
	return &held->keys;
}

/* The file's own reference goes when no worker can take another. */
static void put_retired(struct rcu_item *item)
{
	put_held(CONTAINER_OF(item, struct held_keys, item));
}

/* ---- the file ---- */

static struct held_keys *new_held(void)
{
	struct held_keys *held = xcalloc(1, sizeof(*held));
	atomic_store(&held->refs, 1);
	return held;
}

static int read_keys(const char *path, struct held_keys **ret, struct err_text reterr)
{
	CLEANUP(secret_done) struct secret text = { 0 };
	char reason[200];
	struct held_keys *held = new_held();
	int r = secret_read(path, &text);
	if (r < 0 && r != -ENOENT)
		err_text_set(reterr, "cannot read '%s': %s", path, err_str(r));
	if (r == 0) {
		r = egressfirewall_keys_parse(secret_slice(&text), &held->keys, ERR_TEXT(reason));
		if (r < 0)
			err_text_set(reterr, "%s: %s", path, reason);
	}
	if (r < 0 && r != -ENOENT) {
		free_held(held);
		return r;
	}
	*ret = held;
	return 0;
}

int egressfirewall_keyfile_new(const char *path, struct egressfirewall_keyfile **ret,
			       struct err_text reterr)
{
	struct held_keys *held;
	int r = read_keys(path, &held, reterr);
	if (r < 0)
		return r;
	struct egressfirewall_keyfile *f = xcalloc(1, sizeof(*f));
	f->path = xstrdup(path);
	rcu_publish(&f->now, held);
	*ret = f;
	return 0;
}

void egressfirewall_keyfile_free(struct egressfirewall_keyfile *file)
{
	if (file == NULL)
		return;
	put_held(rcu_get(&file->now));
	free(file->path);
	free(file);
}

static bool is_same_key(const struct dns_tsig_key *left, const struct dns_tsig_key *right)
{
	return dns_name_eq(left->name, right->name) && left->algorithm == right->algorithm &&
	       left->mac_bytes == right->mac_bytes && secret_eq(&left->secret, &right->secret);
}

static bool is_same(const struct egressfirewall_keys *left, const struct egressfirewall_keys *right)
{
	for (size_t i = 0; i < left->n && left->n == right->n; i++) {
		if (!is_same_key(&left->v[i], &right->v[i]))
			return false;
	}
	return left->n == right->n;
}

static void log_once(struct egressfirewall_keyfile *file, const char *error)
{
	if (strcmp(file->last_error, error) == 0)
		return;
	snprintf(file->last_error, sizeof(file->last_error), "%s", error);
	log_error(AREA, "%s; the keys before stay in use", error);
}

static void read_again(void *ctx)
{
	struct egressfirewall_keyfile *f = ctx;
	struct held_keys *held, *old = rcu_get(&f->now);
	char error[256];
	uint64_t now_ns = clock_mono_ns();
	if (old->keys.n != 0 && now_ns < f->read_ns + read_again_ns)
		return;
	f->read_ns = now_ns;
	if (read_keys(f->path, &held, ERR_TEXT(error)) < 0) {
		log_once(f, error);
		return;
	}
	f->last_error[0] = '\0';
	if (is_same(&held->keys, &old->keys)) {
		free_held(held);
		return;
	}
	log_info(AREA, "read %zu TSIG key%s from \"%s\"", held->keys.n,
		 held->keys.n == 1 ? "" : "s", f->path);
	rcu_publish(&f->now, held);
	rcu_defer(&old->item, put_retired);
}

void egressfirewall_keyfile_watch(struct egressfirewall_keyfile *file, struct task_owner *tasks)
{
	task_every(tasks, read_missing_ns, read_again, file);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two tables: objects with the Secret of each, and Secrets with their credentials and number of users. */
#include "controller/dnsrecord/secrets/kept_credentials.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/dnsrecord/secrets/credentials.h"

struct use {
	char *uid;
	char *ns;     /* of the object */
	char *secret; /* "namespace/name" */
	bool has_left;
};

struct kept_secret {
	size_t n_users; /* uses that have not left */
	bool is_releasing;
	struct dnsrecord_credentials credentials;
	size_t bytes; /* of them; 0: nothing is kept */
};

void dnsrecord_kept_init(struct dnsrecord_kept *kept)
{
	*kept = (struct dnsrecord_kept){ 0 };
	pthread_mutex_init(&kept->lock, NULL);
	map_init(&kept->uses);
	map_init(&kept->secrets);
	map_init(&kept->namespaces);
}

static void free_use(struct use *use)
{
	if (use == NULL)
		return;
	free(use->uid);
	free(use->ns);
	free(use->secret);
	free(use);
}

void dnsrecord_kept_done(struct dnsrecord_kept *kept)
{
	const struct map_entry *entry;
	size_t pos = 0;
	while ((entry = map_next(&kept->uses, &pos)) != NULL)
		free_use(entry->value);
	pos = 0;
	while ((entry = map_next(&kept->secrets, &pos)) != NULL) {
		struct kept_secret *secret = entry->value;
		dnsrecord_credentials_done(&secret->credentials);
		free(secret);
	}
	pos = 0;
	while ((entry = map_next(&kept->namespaces, &pos)) != NULL)
		free(entry->value);
	map_done(&kept->uses);
	map_done(&kept->secrets);
	map_done(&kept->namespaces);
	pthread_mutex_destroy(&kept->lock);
}

/* ---- bytes ---- */

static void add_bytes(struct dnsrecord_kept *kept, const char *ns, size_t bytes)
{
	size_t *share = map_get(&kept->namespaces, slice_of(ns));
	if (share == NULL) {
		share = xcalloc(1, sizeof(*share));
		map_set(&kept->namespaces, slice_of(ns), share);
	}
	*share += bytes;
	kept->bytes += bytes;
}

static void drop_credentials(struct dnsrecord_kept *kept, const char *ns,
			     struct kept_secret *secret)
{
	size_t *share = map_get(&kept->namespaces, slice_of(ns));
	dnsrecord_credentials_done(&secret->credentials);
	if (secret->bytes == 0)
		return;
	assert(share != NULL && *share >= secret->bytes && kept->bytes >= secret->bytes);
	*share -= secret->bytes;
	kept->bytes -= secret->bytes;
	secret->bytes = 0;
	if (*share == 0)
		free(map_del(&kept->namespaces, slice_of(ns)));
}

static bool has_room(const struct dnsrecord_kept *kept, const char *ns, size_t bytes)
{
	const size_t *share = map_get(&kept->namespaces, slice_of(ns));
	return bytes <= DNSRECORD_KEPT_SECRET_MAX_BYTES &&
	       bytes + (share != NULL ? *share : 0) <= DNSRECORD_KEPT_NAMESPACE_MAX_BYTES &&
	       bytes + kept->bytes <= DNSRECORD_KEPT_MAX_BYTES;
}

/* ---- the tables ---- */

static void write_secret(const struct dnsrecord_use *use, struct strbuf *out)
{
	strbuf_addf(out, "%s/%s", use->secret_ns, use->secret_name);
}

static bool is_secret(const struct use *found, const struct dnsrecord_use *use)
{
	size_t n = strlen(use->secret_ns);
	return strncmp(found->secret, use->secret_ns, n) == 0 && found->secret[n] == '/' &&
	       strcmp(found->secret + n + 1, use->secret_name) == 0;
}

static bool is_object(const struct use *found, const struct dnsrecord_use *use)
{
	return found != NULL && strcmp(found->uid, use->uid) == 0;
}

static struct kept_secret *find_secret(const struct dnsrecord_kept *kept, const char *ns,
				       const char *secret)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	strbuf_addf(&key, "%s %s", ns, secret);
	return map_get(&kept->secrets, strbuf_slice(&key));
}

static struct kept_secret *make_secret(struct dnsrecord_kept *kept, const char *ns,
				       const char *secret)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct kept_secret *made = find_secret(kept, ns, secret);
	if (made != NULL)
		return made;
	made = xcalloc(1, sizeof(*made));
	strbuf_addf(&key, "%s %s", ns, secret);
	map_set(&kept->secrets, strbuf_slice(&key), made);
	return made;
}

static void drop_unused(struct dnsrecord_kept *kept, const char *ns, const char *secret)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
	struct kept_secret *found = find_secret(kept, ns, secret);
	if (found == NULL || found->n_users != 0 || found->is_releasing)
		return;
	drop_credentials(kept, ns, found);
	strbuf_addf(&key, "%s %s", ns, secret);
	free(map_del(&kept->secrets, strbuf_slice(&key)));
}

/* The use stays, so that it is known to have ended. */
static void leave_secret(struct dnsrecord_kept *kept, struct use *use)
{
	struct kept_secret *secret = find_secret(kept, use->ns, use->secret);
	if (use->has_left)
		return;
	assert(secret != NULL && secret->n_users != 0);
	use->has_left = true;
	secret->n_users--;
	drop_unused(kept, use->ns, use->secret);
}

static void drop_use(struct dnsrecord_kept *kept, const char *key)
{
	struct use *found = map_get(&kept->uses, slice_of(key));
	if (found == NULL)
		return;
	leave_secret(kept, found);
	map_del(&kept->uses, slice_of(key));
	free_use(found);
}

static struct use *add_use(struct dnsrecord_kept *kept, const struct dnsrecord_use *use)
{
	CLEANUP(strbuf_done) struct strbuf secret = STRBUF_INIT;
	struct use *made = xcalloc(1, sizeof(*made));
	write_secret(use, &secret);
	*made = (struct use){ xstrdup(use->uid), xstrdup(use->ns), xstrdup(secret.s), true };
	map_set(&kept->uses, slice_of(use->key), made);
	return made;
}

/* ---- users ---- */

static bool begin_use(struct dnsrecord_kept *kept, const struct dnsrecord_use *use)
{
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	struct use *found = map_get(&kept->uses, slice_of(use->key));
	write_secret(use, &name);
	struct kept_secret *secret = make_secret(kept, use->ns, name.s);
	if (secret->is_releasing)
		return false;
	if (!is_object(found, use) || !is_secret(found, use)) {
		secret->n_users++; /* it may be dropped otherwise */
		drop_use(kept, use->key);
		secret->n_users--;
		found = add_use(kept, use);
	}
	if (found->has_left)
		secret->n_users++;
	found->has_left = false;
	return true;
}

bool dnsrecord_kept_begin(struct dnsrecord_kept *kept, const struct dnsrecord_use *use)
{
	pthread_mutex_lock(&kept->lock);
	bool is_begun = begin_use(kept, use);
	pthread_mutex_unlock(&kept->lock);
	return is_begun;
}

bool dnsrecord_kept_has(struct dnsrecord_kept *kept, const struct dnsrecord_use *use)
{
	pthread_mutex_lock(&kept->lock);
	const struct use *found = map_get(&kept->uses, slice_of(use->key));
	bool has = is_object(found, use) && is_secret(found, use) && !found->has_left;
	pthread_mutex_unlock(&kept->lock);
	return has;
}

void dnsrecord_kept_drop(struct dnsrecord_kept *kept, const char *key)
{
	pthread_mutex_lock(&kept->lock);
	drop_use(kept, key);
	pthread_mutex_unlock(&kept->lock);
}

char *dnsrecord_kept_secret_of(struct dnsrecord_kept *kept, const char *key, char **ret_uid)
{
	char *secret = NULL;
	pthread_mutex_lock(&kept->lock);
	const struct use *found = map_get(&kept->uses, slice_of(key));
	if (found != NULL && !found->has_left) {
		secret = xstrdup(found->secret);
		*ret_uid = xstrdup(found->uid);
	}
	pthread_mutex_unlock(&kept->lock);
	return secret;
}

/* ---- credentials ---- */

/* What the object uses, if it is what it asks for; NULL: it is not. Under the lock. */
static struct kept_secret *secret_in_use(const struct dnsrecord_kept *kept,
					 const struct dnsrecord_use *use)
{
	const struct use *found = map_get(&kept->uses, slice_of(use->key));
	if (!is_object(found, use) || !is_secret(found, use) || found->has_left)
		return NULL;
	return find_secret(kept, found->ns, found->secret);
}

void dnsrecord_kept_store(struct dnsrecord_kept *kept, const struct dnsrecord_use *use,
			  const struct dnsrecord_credentials *credentials)
{
	pthread_mutex_lock(&kept->lock);
	struct kept_secret *secret = secret_in_use(kept, use);
	size_t bytes = dnsrecord_credentials_bytes(credentials);
	bool is_same = secret != NULL && secret->bytes != 0 &&
		       secret->credentials.hash == credentials->hash;
	if (secret != NULL && !is_same) {
		drop_credentials(kept, use->ns, secret);
		if (bytes != 0 && has_room(kept, use->ns, bytes)) {
			dnsrecord_credentials_copy(credentials, &secret->credentials);
			secret->bytes = bytes;
			add_bytes(kept, use->ns, bytes);
		}
	}
	pthread_mutex_unlock(&kept->lock);
}

bool dnsrecord_kept_recall(struct dnsrecord_kept *kept, const struct dnsrecord_use *use,
			   struct dnsrecord_credentials *ret)
{
	pthread_mutex_lock(&kept->lock);
	const struct kept_secret *secret = secret_in_use(kept, use);
	bool is_kept = secret != NULL && secret->bytes != 0;
	if (is_kept)
		dnsrecord_credentials_copy(&secret->credentials, ret);
	pthread_mutex_unlock(&kept->lock);
	return is_kept;
}

/* ---- release ---- */

/* While another's release runs, this object must not leave: the other one may have seen it as a user, and then
 * nobody would remove the finalizer. */
static enum dnsrecord_release begin_release(struct dnsrecord_kept *kept,
					    const struct dnsrecord_use *use)
{
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	struct use *found = map_get(&kept->uses, slice_of(use->key));
	write_secret(use, &name);
	struct kept_secret *secret = find_secret(kept, use->ns, name.s);
	if (secret != NULL && secret->is_releasing)
		return DNSRECORD_RELEASE_BUSY;
	if (is_object(found, use) && is_secret(found, use))
		leave_secret(kept, found);
	else if (found == NULL)
		add_use(kept, use);
	secret = make_secret(kept, use->ns, name.s);
	if (secret->n_users != 0)
		return DNSRECORD_RELEASE_LEFT;
	secret->is_releasing = true;
	return DNSRECORD_RELEASE_BEGUN;
}

enum dnsrecord_release dnsrecord_kept_begin_release(struct dnsrecord_kept *kept,
						    const struct dnsrecord_use *use)
{
	pthread_mutex_lock(&kept->lock);
	enum dnsrecord_release release = begin_release(kept, use);
	pthread_mutex_unlock(&kept->lock);
	return release;
}

void dnsrecord_kept_end_release(struct dnsrecord_kept *kept, const struct dnsrecord_use *use)
{
	CLEANUP(strbuf_done) struct strbuf name = STRBUF_INIT;
	write_secret(use, &name);
	pthread_mutex_lock(&kept->lock);
	struct kept_secret *secret = find_secret(kept, use->ns, name.s);
	assert(secret != NULL && secret->is_releasing);
	secret->is_releasing = false;
	drop_unused(kept, use->ns, name.s);
	pthread_mutex_unlock(&kept->lock);
}

bool dnsrecord_kept_has_left(struct dnsrecord_kept *kept, const struct dnsrecord_use *use)
{
	pthread_mutex_lock(&kept->lock);
	const struct use *found = map_get(&kept->uses, slice_of(use->key));
	bool has_left = is_object(found, use) && (found->has_left || !is_secret(found, use));
	pthread_mutex_unlock(&kept->lock);
	return has_left;
}

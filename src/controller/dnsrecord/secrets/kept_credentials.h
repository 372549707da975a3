/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which DNSRecords use which Secret, and what each Secret had when it was last read: a deletion can use that
 * when the Secret is gone. A restart loses all of it; a finalizer of the Secret (secret_hold.h) outlives one.
 *
 * Bounded: a Secret that is too large, or one too many of a namespace, is not kept. Credentials are kept for
 * each namespace that uses them, since a Secret can stop to allow one. Thread-safe. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/map.h"

struct dnsrecord_credentials;

enum {
	DNSRECORD_KEPT_SECRET_MAX_BYTES = 64 << 10,
	DNSRECORD_KEPT_NAMESPACE_MAX_BYTES = 256 << 10,
	DNSRECORD_KEPT_MAX_BYTES = 64 << 20,
};

struct dnsrecord_kept {
	pthread_mutex_t lock;
	struct map uses;    /* struct use, by the object's key */
	struct map secrets; /* struct kept_secret, by the namespace that uses it and the Secret */
	struct map namespaces; /* size_t: bytes kept for it */
	size_t bytes;
};

/* One object, and the Secret that its spec names. */
struct dnsrecord_use {
	const char *key, *uid, *ns; /* of the object */
	const char *secret_ns, *secret_name;
};

void dnsrecord_kept_init(struct dnsrecord_kept *kept);
/* Wipes. */
void dnsrecord_kept_done(struct dnsrecord_kept *kept);

/* Before the Secret is read: from now on the object uses it, and no other. False: the Secret's finalizer is
 * being removed at this moment; try again. */
bool dnsrecord_kept_begin(struct dnsrecord_kept *kept, const struct dnsrecord_use *use);
/* Does the object use it, by the last dnsrecord_kept_begin? */
bool dnsrecord_kept_has(struct dnsrecord_kept *kept, const struct dnsrecord_use *use);
/* Remembers a copy, in place of an older one. */
void dnsrecord_kept_store(struct dnsrecord_kept *kept, const struct dnsrecord_use *use,
			  const struct dnsrecord_credentials *credentials);
/* A copy of what was stored; false: nothing was. */
bool dnsrecord_kept_recall(struct dnsrecord_kept *kept, const struct dnsrecord_use *use,
			   struct dnsrecord_credentials *ret);
/* The object is gone, or is not ours. */
void dnsrecord_kept_drop(struct dnsrecord_kept *kept, const char *key);

enum dnsrecord_release {
	DNSRECORD_RELEASE_BUSY, /* another object's release runs: nothing has changed; try again */
	DNSRECORD_RELEASE_LEFT, /* other objects of its namespace use the Secret */
	/* None does, as far as is known here, and dnsrecord_kept_begin fails until dnsrecord_kept_end_release. */
	DNSRECORD_RELEASE_BEGUN,
};

/* The object has no use for the Secret any more. */
enum dnsrecord_release dnsrecord_kept_begin_release(struct dnsrecord_kept *kept,
						    const struct dnsrecord_use *use);
void dnsrecord_kept_end_release(struct dnsrecord_kept *kept, const struct dnsrecord_use *use);
/* Is it known that the object does not use the Secret any more, whatever an older copy of the object says? */
bool dnsrecord_kept_has_left(struct dnsrecord_kept *kept, const struct dnsrecord_use *use);
/* The Secret that the object uses, as "namespace/name", and the object's uid, for the caller to free; NULL: none,
 * and `ret_uid` is not written. */
char *dnsrecord_kept_secret_of(struct dnsrecord_kept *kept, const char *key, char **ret_uid);

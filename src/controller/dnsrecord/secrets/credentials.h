/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Secret of a DNSRecord: read at each reconcile, so that a rotated one is used without a restart
 * (DR-28). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err_text.h"
#include "base/secret.h"
#include "api/tree.h"

struct kube_conn;
struct provider_credential;

struct dnsrecord_credentials {
	struct provider_credential *v;
	struct secret *values;
	size_t n;
	uint64_t hash; /* of keys and values, by the key of this process */
	/* Of the Secret that was read: it has our finalizer; it is being deleted. */
	bool is_held, is_deleting;
	bool is_missing; /* after a failure: there is no such Secret */
};

/* False: its provider needs no Secret. */
bool dnsrecord_needs_secret(const json_t *record);

/* Those of a DNSRecord; none where its provider needs no Secret. `any_namespace`: a Secret of another
 * namespace needs no annotation. 0, or ERR_CONFIG with a sentence that has
 * no value of the Secret; other codes: the API did not answer. */
int dnsrecord_credentials_read(struct kube_conn *conn, bool any_namespace, const json_t *record,
			       struct dnsrecord_credentials *ret, struct err_text err);
/* Keys and values; `ret` is { 0 } or what dnsrecord_credentials_done left. */
void dnsrecord_credentials_copy(const struct dnsrecord_credentials *from,
				struct dnsrecord_credentials *ret);
/* The memory of keys and values. */
size_t dnsrecord_credentials_bytes(const struct dnsrecord_credentials *credentials);
/* Wipes. For CLEANUP too. */
void dnsrecord_credentials_done(struct dnsrecord_credentials *credentials);

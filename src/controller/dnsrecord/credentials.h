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
};

/* Those of a DNSRecord; none where its provider needs no Secret. `any_namespace`: a Secret of another
 * namespace needs no annotation. 0, or ERR_CONFIG with a sentence that has
 * no value of the Secret; other codes: the API did not answer. */
int dnsrecord_credentials_read(struct kube_conn *conn, bool any_namespace, const json_t *record,
			       struct dnsrecord_credentials *ret, struct err_text err);
/* Wipes. For CLEANUP too. */
void dnsrecord_credentials_done(struct dnsrecord_credentials *credentials);

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the Secret, and decides whether objects of another namespace may use it. */
#include "controller/dnsrecord/secrets/credentials.h"

#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "controller/dnsrecord/plan/names.h"
#include "kube/client/client.h"
#include "provider/provider.h"

void dnsrecord_credentials_done(struct dnsrecord_credentials *credentials)
{
	for (size_t i = 0; i < credentials->n; i++) {
		free((void *)(uintptr_t)credentials->v[i].name);
		secret_done(&credentials->values[i]);
	}
	free(credentials->v);
	free(credentials->values);
	*credentials = (struct dnsrecord_credentials){ 0 };
}

void dnsrecord_credentials_copy(const struct dnsrecord_credentials *from,
				struct dnsrecord_credentials *ret)
{
	*ret = (struct dnsrecord_credentials){ .n = from->n, .hash = from->hash };
	ret->v = xcalloc(from->n + 1, sizeof(*ret->v));
	ret->values = xcalloc(from->n + 1, sizeof(*ret->values));
	for (size_t i = 0; i < from->n; i++) {
		secret_set(&ret->values[i], secret_slice(&from->values[i]));
		ret->v[i] = (struct provider_credential){ xstrdup(from->v[i].name),
							  secret_slice(&ret->values[i]) };
	}
}

size_t dnsrecord_credentials_bytes(const struct dnsrecord_credentials *credentials)
{
	size_t bytes = 0;
	for (size_t i = 0; i < credentials->n; i++)
		bytes += strlen(credentials->v[i].name) + credentials->values[i].n +
			 sizeof(credentials->v[i]) + sizeof(credentials->values[i]);
	return bytes;
}

/* The tree of a Secret is wiped before it is freed. */
static void forget_secret(json_t *secret)
{
	const char *key;
	json_t *value;
	json_object_foreach (json_object_get(secret, "data"), key, value) {
		struct slice text = api_text_slice(value);
		if (json_is_string(value))
			explicit_bzero((void *)(uintptr_t)text.p, text.n);
	}
	json_decref(secret);
}

static bool allows(const json_t *secret, const char *ns)
{
	struct slice rest = slice_of(api_annotation(secret, DNSRECORD_ALLOW_FROM));
	while (rest.n != 0) {
		struct slice one = slice_trim(slice_cut(&rest, ','));
		if (slice_is(one, "*") || slice_is(one, ns))
			return true;
	}
	return false;
}

static int decode_all(const json_t *secret, struct dnsrecord_credentials *ret)
{
	json_t *data = json_object_get(secret, "data"), *value;
	size_t n = json_object_size(data);
	const char *key;
	ret->v = xcalloc(n + 1, sizeof(*ret->v));
	ret->values = xcalloc(n + 1, sizeof(*ret->values));
	json_object_foreach (data, key, value) {
		struct secret *bytes = &ret->values[ret->n];
		if (!json_is_string(value) || secret_base64(api_text_slice(value), bytes) < 0)
			return ERR_PARSE;
		ret->v[ret->n++] =
			(struct provider_credential){ xstrdup(key), secret_slice(bytes) };
		ret->hash ^=
			hash_bytes(hash_process_key(), bytes->p != NULL ? bytes->p : "", bytes->n) +
			hash_bytes(hash_process_key(), key, strlen(key)) * 3;
	}
	return 0;
}

bool dnsrecord_needs_secret(const json_t *record)
{
	const struct provider *provider = provider_find(api_get_string(record, "spec.type"));
	return provider == NULL || !provider->caps.has_no_secret;
}

int dnsrecord_credentials_read(struct kube_conn *conn, bool any_namespace, const json_t *record,
			       struct dnsrecord_credentials *ret, struct err_text err)
{
	*ret = (struct dnsrecord_credentials){ 0 };
	if (!dnsrecord_needs_secret(record))
		return 0;
	const char *ns = api_namespace(record);
	const json_t *reference = api_get(record, "spec.secretRef");
	const char *named = api_get_string(reference, "namespace");
	struct kube_ref ref = { .kind = api_kind_find("", "Secret"),
				.ns = named[0] != '\0' ? named : ns,
				.name = api_get_string(reference, "name") };
	bool is_free = any_namespace || strcmp(ref.ns, ns) == 0;
	struct kube_status status = { 0 };
	json_t *secret = NULL;
	int r = kube_get(conn, &ref, &secret, &status);
	ret->is_missing = r == ERR_NOTFOUND;
	ret->is_deleting = api_is_deleting(secret);
	ret->is_held = api_has_finalizer(secret, DNSRECORD_SECRET_FINALIZER);
	if (!is_free && (r == ERR_NOTFOUND || (r == 0 && !allows(secret, ns)))) {
		/* One sentence: nobody learns which Secrets other namespaces have. */
		err_text_set(
			err,
			"namespace '%s' has no Secret '%s' whose annotation " DNSRECORD_ALLOW_FROM
			" names the namespace '%s'",
			ref.ns, ref.name, ns);
		r = ERR_CONFIG;
	} else if (r == ERR_NOTFOUND || r == ERR_DENIED || r == ERR_CONFIG) {
		err_text_set(err, "the Secret '%s' in namespace '%s' cannot be read: %s", ref.name,
			     ref.ns, r == ERR_NOTFOUND ? "it does not exist" : err_str(r));
		r = ERR_CONFIG;
	} else if (r < 0) {
		err_text_set(err, "%s", status.message[0] != '\0' ? status.message : err_str(r));
	} else if (decode_all(secret, ret) < 0) {
		err_text_set(err, "the Secret '%s' in namespace '%s' has invalid data", ref.name,
			     ref.ns);
		r = ERR_CONFIG;
	}
	kube_status_done(&status);
	forget_secret(secret);
	return r;
}

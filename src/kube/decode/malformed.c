/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports objects that cannot be decoded. The name for the report is read with a filter that wants
 * nothing else, as far as the object can be parsed. */
#include "kube/decode/malformed.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "kube/decode/filter.h"

enum { NAMESPACE, NAME };
static const struct kube_filter_row rows[] = {
	{ "metadata.namespace", NAMESPACE, 0 },
	{ "metadata.name", NAME, 0 },
};

struct object_name {
	char text[2][256];
};

static int on_value(void *ctx, int id, enum kube_json_type type, struct slice text)
{
	struct object_name *w = ctx;
	if (id < 0 || type != KUBE_JSON_STRING || text.n >= sizeof(w->text[id]))
		return 0;
	for (size_t i = 0; i < text.n; i++)
		w->text[id][i] = (char)(text.p[i] >= ' ' && text.p[i] <= '~' ? text.p[i] : '.');
	w->text[id][text.n] = '\0';
	return 0;
}

static bool was_reported(const struct kube_malformed *malformed, uint64_t hash)
{
	for (uint32_t i = 0; i < malformed->count && i < KUBE_MALFORMED_MAX; i++) {
		if (malformed->reported[i] == hash)
			return true;
	}
	return false;
}

bool kube_malformed_report(struct kube_malformed *malformed, const char *plural, struct slice json,
			   int why, char *out, size_t len)
{
	uint64_t hash = hash_bytes(hash_process_key(), json.p, json.n);
	struct object_name w = { 0 };
	if (was_reported(malformed, hash))
		return false;
	malformed->reported[malformed->count++ % KUBE_MALFORMED_MAX] = hash;
	struct kube_filter *filter = kube_filter_new(rows, sizeof(rows) / sizeof(rows[0]));
	IGNORE(kube_filter_parse(filter, json, on_value, &w)); /* as far as it goes */
	kube_filter_free(filter);
	const char *ns = w.text[NAMESPACE], *name = w.text[NAME];
	snprintf(out, len, "%s: '%s%s%s' cannot be read and is left out: %s", plural, ns,
		 ns[0] != '\0' ? "/" : "", name[0] != '\0' ? name : "(without a name)",
		 err_str(why));
	return true;
}

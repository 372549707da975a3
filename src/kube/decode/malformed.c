/* The name is read with a decoder that wants nothing else, as far as the object can be read. */
#include "kube/decode/malformed.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/hash.h"
#include "kube/decode/sax.h"

enum { NAMESPACE, NAME };
static const struct kube_sax_row rows[] = {
	{ "metadata.namespace", NAMESPACE, 0 },
	{ "metadata.name", NAME, 0 },
};

struct who {
	char text[2][256];
};

static int on_value(void *ctx, int id, enum kube_sax_type type, struct slice text)
{
	struct who *w = ctx;
	if (id < 0 || type != KUBE_SAX_STRING || text.n >= sizeof(w->text[id]))
		return 0;
	for (size_t i = 0; i < text.n; i++)
		w->text[id][i] = (char)(text.p[i] >= ' ' && text.p[i] <= '~' ? text.p[i] : '.');
	w->text[id][text.n] = '\0';
	return 0;
}

static bool was_said(const struct kube_bad *bad, uint64_t hash)
{
	for (uint32_t i = 0; i < bad->n && i < KUBE_BAD_MAX; i++) {
		if (bad->said[i] == hash)
			return true;
	}
	return false;
}

bool kube_bad_say(struct kube_bad *bad, const char *plural, struct slice json, int why, char *out,
		  size_t len)
{
	uint64_t hash = hash_bytes(hash_process_key(), json.p, json.n);
	struct who w = { 0 };
	if (was_said(bad, hash))
		return false;
	bad->said[bad->n++ % KUBE_BAD_MAX] = hash;
	struct kube_sax *s = kube_sax_new(rows, sizeof(rows) / sizeof(rows[0]));
	IGNORE(kube_sax_parse(s, json, on_value, &w)); /* as far as it goes */
	kube_sax_free(s);
	const char *ns = w.text[NAMESPACE], *name = w.text[NAME];
	snprintf(out, len, "%s: '%s%s%s' cannot be read and is left out: %s", plural, ns,
		 ns[0] != '\0' ? "/" : "", name[0] != '\0' ? name : "(without a name)",
		 err_str(why));
	return true;
}

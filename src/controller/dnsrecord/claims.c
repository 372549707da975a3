/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks for another DNSRecord that has the name, by the index of names. */
#include "controller/dnsrecord/claims.h"

#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "controller/dnsrecord/plan/claim.h"
#include "controller/dnsrecord/watches.h"
#include "kube/decode/packed.h"

enum { RIVALS_MAX = 16 };

struct search {
	const struct dnsrecord_pass *pass;
	struct arena arena; /* of the records */
	json_t *objects[RIVALS_MAX];
	struct dnsrecord records[RIVALS_MAX]; /* of the objects */
	size_t n;
	bool has_collision; /* one of them collides with the pass's own */
};

static void add_rival(struct search *search, json_t *object)
{
	const struct dnsrecord_pass *pass = search->pass;
	struct dnsrecord *other = &search->records[search->n];
	dnsrecord_read(object, &search->arena, other);
	if (strcmp(api_uid(object), api_uid(pass->object)) == 0 ||
	    strcmp(other->spec.type, pass->record.spec.type) != 0 ||
	    !dnsrecord_has_class(other, pass->settings.classes) ||
	    !dnsrecord_goes_first(other, &pass->record))
		return;
	search->has_collision = search->has_collision || dnsrecord_collides(other, &pass->record);
	search->objects[search->n++] = json_incref(object);
}

/* Also those that do not collide with the pass's own: they may keep the name from one that does. */
static bool find_rival(void *ctx, struct kube_obj *object)
{
	struct search *search = ctx;
	json_t *other = kube_packed_unpack(object);
	add_rival(search, other);
	json_decref(other);
	return search->n < RIVALS_MAX;
}

/* Credentials of another account are for another place. */
static bool has_same_account(const struct dnsrecord_pass *pass,
			     const struct dnsrecord_credentials *credentials, const json_t *other)
{
	struct dnsrecord_credentials theirs;
	char why[256];
	int r = dnsrecord_credentials_read(pass->ctx->conn, pass->settings.any_namespace, other,
					   &theirs, ERR_TEXT(why));
	bool is_same = r == 0 && theirs.hash == credentials->hash;
	dnsrecord_credentials_done(&theirs);
	return is_same;
}

static const struct dnsrecord *find_claimant(const struct search *search,
					     const struct dnsrecord_credentials *credentials)
{
	const struct dnsrecord *others[RIVALS_MAX];
	size_t n = 0;
	for (size_t i = 0; i < search->n && search->has_collision; i++) {
		if (has_same_account(search->pass, credentials, search->objects[i]))
			others[n++] = &search->records[i];
	}
	return dnsrecord_find_claimant(&search->pass->record, others, n);
}

bool dnsrecord_is_claimed(const struct dnsrecord_pass *pass,
			  const struct dnsrecord_credentials *credentials,
			  struct strbuf *ret_message)
{
	struct search search = { .pass = pass };
	char key[DNSRECORD_KEY_MAX];
	if (dnsrecord_holds_name(&pass->record, &pass->record))
		return false;
	arena_init(&search.arena);
	dnsrecord_name_key(pass->record.wanted.set.name, key);
	controller_each_by(pass->ctx, DNSRECORD_RECORDS, DNSRECORD_BY_NAME, slice_of(key),
			   find_rival, &search);
	const struct dnsrecord *other = find_claimant(&search, credentials);
	if (other != NULL)
		strbuf_addf(ret_message,
			    "the name '%s' belongs to the DNSRecord '%s' in namespace "
			    "'%s'; delete one of the two",
			    pass->record.wanted.set.name, api_name(other->object),
			    api_namespace(other->object));
	for (size_t i = 0; i < search.n; i++)
		json_decref(search.objects[i]);
	arena_done(&search.arena);
	return other != NULL;
}

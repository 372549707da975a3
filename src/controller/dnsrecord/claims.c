/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks for another DNSRecord that has the name, by the index of names. */
#include "controller/dnsrecord/claims.h"

#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "controller/dnsrecord/plan/claim.h"
#include "controller/dnsrecord/watches.h"
#include "kube/decode/packed.h"

enum { RIVALS_MAX = 8 };

struct search {
	const struct dnsrecord_pass *pass;
	json_t *found[RIVALS_MAX];
	size_t n;
};

/* The one that may be known: status.state.applied, then status.zone. */
static const char *zone_of(const json_t *object)
{
	const char *given = api_get_string(object, "spec.zone");
	return given[0] != '\0' ? given : api_get_string(object, "status.zone");
}

/* Do the two want sets that cannot be at one place? */
static bool collides(const json_t *mine, const json_t *other)
{
	const char *my_type = api_get_string(mine, "spec.recordType");
	const char *type = api_get_string(other, "spec.recordType");
	const char *my_zone = zone_of(mine), *zone = zone_of(other);
	bool same_type = strcmp(my_type, type) == 0 || strcmp(my_type, "CNAME") == 0 ||
			 strcmp(type, "CNAME") == 0;
	bool other_zone = my_zone[0] != '\0' && zone[0] != '\0' && strcmp(my_zone, zone) != 0;
	return same_type && !other_zone &&
	       strcmp(api_get_string(mine, "spec.type"), api_get_string(other, "spec.type")) == 0 &&
	       strcmp(api_uid(mine), api_uid(other)) != 0;
}

static bool goes_first(const struct search *search, const json_t *object)
{
	struct dnsrecord other;
	struct arena arena;
	arena_init(&arena);
	dnsrecord_read(object, &arena, &other);
	bool is_first = dnsrecord_has_class(&other, search->pass->settings.classes) &&
			dnsrecord_goes_first(&other, &search->pass->record);
	arena_done(&arena);
	return is_first;
}

static bool find_rival(void *ctx, struct kube_obj *object)
{
	struct search *search = ctx;
	json_t *other = kube_packed_unpack(object);
	if (collides(search->pass->object, other) && goes_first(search, other))
		search->found[search->n++] = json_incref(other);
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

bool dnsrecord_is_claimed(const struct dnsrecord_pass *pass,
			  const struct dnsrecord_credentials *credentials,
			  struct strbuf *ret_message)
{
	struct search search = { .pass = pass };
	bool is_claimed = false;
	char key[DNSRECORD_KEY_MAX];
	if (dnsrecord_holds_name(&pass->record, &pass->record))
		return false;
	dnsrecord_name_key(pass->record.wanted.set.name, key);
	controller_each_by(pass->ctx, DNSRECORD_RECORDS, DNSRECORD_BY_NAME, slice_of(key),
			   find_rival, &search);
	for (size_t i = 0; i < search.n; i++) {
		const json_t *other = search.found[i];
		if (!is_claimed && has_same_account(pass, credentials, other)) {
			is_claimed = true;
			strbuf_addf(ret_message,
				    "the name '%s' belongs to the DNSRecord '%s' in namespace "
				    "'%s'; delete one of the two",
				    pass->record.wanted.set.name, api_name(other),
				    api_namespace(other));
		}
		json_decref(search.found[i]);
	}
	return is_claimed;
}

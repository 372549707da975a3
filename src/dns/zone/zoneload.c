/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loads a master file into a zone and checks CoreDNS's rules for zones. */
#include "dns/zone/zoneload.h"

#include "base/err.h"
#include "dns/zone/build.h"
#include "dns/zone/zone.h"
#include "dns/zone/zonefile.h"

enum { TYPE_NSEC3PARAM = 51, SOA_NUMBERS = 20 };

struct load {
	const struct dns_zoneload *l;
	struct dns_zone_builder *b;
	bool seen_soa;
};

static int take_soa(struct load *ld, const struct dns_rr *rr, struct strbuf *why)
{
	char owner[DNS_NAME_TEXT_MAX];
	char origin[DNS_NAME_TEXT_MAX];
	if (!dns_name_eq(rr->owner, ld->l->origin)) {
		dns_name_to_text(rr->owner, false, owner);
		dns_name_to_text(ld->l->origin, false, origin);
		strbuf_addf(why, "SOA owner '%s' does not match origin '%s'", owner, origin);
		return ERR_PARSE;
	}
	if (!ld->seen_soa && ld->l->serial != NULL && rr->rdlen > SOA_NUMBERS &&
	    dns_get32(rr->rdata + rr->rdlen - SOA_NUMBERS) == *ld->l->serial)
		return ERR_BUSY;
	ld->seen_soa = true;
	return 0;
}

static int read_included(void *ctx, const char *path, struct strbuf *out)
{
	const struct load *ld = ctx;
	return ld->l->include(ld->l->ctx, path, out);
}

static int add_record(void *ctx, const struct dns_rr *rr, struct strbuf *why)
{
	struct load *ld = ctx;
	int r = rr->type == DNS_TYPE_SOA ? take_soa(ld, rr, why) : 0;
	if (r < 0)
		return r;
	if (rr->type == DNS_TYPE_NSEC3 || rr->type == TYPE_NSEC3PARAM) {
		strbuf_adds(why, "zones signed with NSEC3 are not supported");
		return ERR_UNSUPPORTED;
	}
	r = dns_zone_builder_add(ld->b, rr);
	if (r == ERR_PARSE)
		strbuf_adds(why, "record data does not fit the record type");
	else if (r < 0)
		strbuf_adds(why, "zone has too many records");
	return r;
}

int dns_zone_load(const struct dns_zoneload *zoneload, struct slice text, struct srcerr *err,
		  struct dns_zone **ret, size_t *ret_outside)
{
	struct load ld = { .l = zoneload, .b = dns_zone_builder_new(zoneload->origin) };
	struct dns_zonefile f = {
		.path = zoneload->path,
		.origin = zoneload->origin,
		.record = add_record,
		.include = zoneload->include != NULL ? read_included : NULL,
		.ctx = &ld,
	};
	struct srcpos end = { .file = zoneload->path, .line = 1, .col = 1 };
	char origin[DNS_NAME_TEXT_MAX];
	int r = dns_zonefile_read(&f, text, err);
	if (r < 0) {
		dns_zone_builder_free(ld.b);
		return r;
	}
	*ret_outside = dns_zone_builder_outside(ld.b);
	r = dns_zone_build(ld.b, ret);
	if (r == ERR_NOTFOUND) {
		dns_name_to_text(zoneload->origin, false, origin);
		IGNORE(srcerr_set(err, end, "no SOA record for origin '%s'", origin) == 0);
	} else if (r < 0) {
		IGNORE(srcerr_set(err, end, "zone cannot be built: %s", err_str(r)) == 0);
	}
	return r;
}

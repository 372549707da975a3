/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The apex's NS and SOA records laid out for replies once, so that a reply with them is a copy and
 * a few pointers. */
#include "dns/zone/apex_wire.h"
#include "dns/zone/apex_wire_priv.h"

#include <string.h>

#include "base/mem.h"
#include "dns/zone/build_priv.h"
#include "dns/zone/zone_priv.h"

/* Where in `name` the longest suffix starts that `whole` has as well; NULL: only the root. */
static const uint8_t *common_suffix(const uint8_t *name, const uint8_t *whole, size_t *ret_to)
{
	for (; *name != 0; name += *name + 1) {
		for (const uint8_t *w = whole; *w != 0; w += *w + 1) {
			if (dns_name_eq_case(name, w)) {
				*ret_to = (size_t)(w - whole);
				return name;
			}
		}
	}
	return NULL;
}

static bool put_bytes(struct dns_zone_apex_wire *wire, const void *bytes, size_t len)
{
	if (wire->len + len > DNS_ZONE_APEX_WIRE_MAX)
		return false;
	memcpy(wire->bytes + wire->len, bytes, len);
	wire->len = (uint16_t)(wire->len + len);
	return true;
}

static bool put_pointer(struct dns_zone_apex_wire *wire, size_t to, bool in_apex_wire)
{
	if (wire->n_pointers == DNS_ZONE_POINTERS_MAX)
		return false;
	wire->pointers[wire->n_pointers++] = (struct dns_zone_pointer){
		.at = wire->len, .to = (uint16_t)to, .in_apex_wire = in_apex_wire
	};
	return put_bytes(wire, "\0\0", 2);
}

/* Names that stand in the wire in full, up to a pointer. */
struct written {
	unsigned n;
	const uint8_t *name[DNS_ZONE_POINTERS_MAX];
	uint16_t at[DNS_ZONE_POINTERS_MAX];
};

static bool put_name(const struct dns_zone *zone, struct dns_zone_apex_wire *wire,
		     struct written *written, const uint8_t *name)
{
	size_t to = 0;
	bool in_apex_wire = false;
	const uint8_t *tail = common_suffix(name, dns_zone_origin(zone), &to);
	for (unsigned i = 0; i < written->n; i++) {
		size_t off;
		const uint8_t *t = common_suffix(name, written->name[i], &off);
		/* Only what stands there literally can be pointed at. */
		if (t != NULL && (tail == NULL || t < tail)) {
			tail = t;
			to = written->at[i] + off;
			in_apex_wire = true;
		}
	}
	if (written->n < DNS_ZONE_POINTERS_MAX) {
		written->name[written->n] = name;
		written->at[written->n++] = wire->len;
	}
	if (tail == NULL)
		return put_bytes(wire, name, dns_name_len(name));
	return put_bytes(wire, name, (size_t)(tail - name)) && put_pointer(wire, to, in_apex_wire);
}

static bool put_rr(const struct dns_zone *zone, struct dns_zone_apex_wire *wire,
		   struct written *written, const uint8_t *rr)
{
	const struct zone_names *names = dns_zone_names(dns_get16(rr + 2));
	const uint8_t *rdata = rr + DNS_ZONE_RR_HEAD;
	if (!put_pointer(wire, 0, false) || !put_bytes(wire, rr + 2, DNS_ZONE_RR_HEAD - 2))
		return false;
	uint16_t start = wire->len;
	for (unsigned i = 0; i < names->n; i++) {
		if (!put_name(zone, wire, written, rdata))
			return false;
		rdata += dns_name_len(rdata);
	}
	if (!put_bytes(wire, rdata, names->after))
		return false;
	dns_put16(wire->bytes + start - 2, (uint16_t)(wire->len - start));
	wire->full_size =
		(uint16_t)(wire->full_size + zone->node[0].name_len + dns_zone_rr_bytes(rr) - 2);
	wire->n++;
	return true;
}

static struct dns_zone_apex_wire *build_apex_wire(const struct dns_zone *zone, uint16_t type)
{
	const struct dns_zone_set *s = dns_zone_set(zone, &zone->node[0], type);
	struct written w = { 0 };
	if (s == NULL || zone->origin_labels == 0)
		return NULL;
	struct dns_zone_apex_wire *p = xcalloc(1, sizeof(*p));
	const uint8_t *rr = dns_zone_data(zone, s);
	for (unsigned i = 0; i < s->n; i++, rr += dns_zone_rr_bytes(rr)) {
		if (!put_rr(zone, p, &w, rr)) {
			free(p);
			return NULL;
		}
	}
	return p;
}

void dns_zone_apex_wire_build(struct dns_zone *zone)
{
	zone->apex_wire[DNS_ZONE_APEX_NS] = build_apex_wire(zone, DNS_TYPE_NS);
	zone->apex_wire[DNS_ZONE_APEX_SOA] = build_apex_wire(zone, DNS_TYPE_SOA);
}

size_t dns_zone_apex_wire_put(const struct dns_zone_apex_wire *wire, uint8_t *msg, size_t off,
			      size_t origin_off)
{
	memcpy(msg + off, wire->bytes, wire->len);
	for (unsigned i = 0; i < wire->n_pointers; i++) {
		const struct dns_zone_pointer *f = &wire->pointers[i];
		size_t to = f->to + (f->in_apex_wire ? off : origin_off);
		dns_put16(msg + off + f->at, (uint16_t)(0xc000 | to));
	}
	return wire->len;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The apex's NS and SOA records laid out for replies once, so that a reply with them is a copy and
 * a few pointers. */
#include "dns/zone/piece.h"
#include "dns/zone/piece_priv.h"

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

static bool put_bytes(struct dns_zone_piece *piece, const void *bytes, size_t len)
{
	if (piece->len + len > DNS_ZONE_PIECE_MAX)
		return false;
	memcpy(piece->bytes + piece->len, bytes, len);
	piece->len = (uint16_t)(piece->len + len);
	return true;
}

static bool put_pointer(struct dns_zone_piece *piece, size_t to, bool in_piece)
{
	if (piece->n_fix == DNS_ZONE_FIXES_MAX)
		return false;
	piece->fix[piece->n_fix++] =
		(struct dns_zone_fix){ .at = piece->len, .to = (uint16_t)to, .in_piece = in_piece };
	return put_bytes(piece, "\0\0", 2);
}

/* Names that stand in the piece in full, up to a pointer. */
struct written {
	unsigned n;
	const uint8_t *name[DNS_ZONE_FIXES_MAX];
	uint16_t at[DNS_ZONE_FIXES_MAX];
};

static bool put_name(const struct dns_zone *zone, struct dns_zone_piece *piece,
		     struct written *written, const uint8_t *name)
{
	size_t to = 0;
	bool in_piece = false;
	const uint8_t *tail = common_suffix(name, dns_zone_origin(zone), &to);
	for (unsigned i = 0; i < written->n; i++) {
		size_t off;
		const uint8_t *t = common_suffix(name, written->name[i], &off);
		/* Only what stands there literally can be pointed at. */
		if (t != NULL && (tail == NULL || t < tail)) {
			tail = t;
			to = written->at[i] + off;
			in_piece = true;
		}
	}
	if (written->n < DNS_ZONE_FIXES_MAX) {
		written->name[written->n] = name;
		written->at[written->n++] = piece->len;
	}
	if (tail == NULL)
		return put_bytes(piece, name, dns_name_len(name));
	return put_bytes(piece, name, (size_t)(tail - name)) && put_pointer(piece, to, in_piece);
}

static bool put_rr(const struct dns_zone *zone, struct dns_zone_piece *piece,
		   struct written *written, const uint8_t *rr)
{
	const struct zone_names *names = dns_zone_names(dns_get16(rr + 2));
	const uint8_t *rdata = rr + DNS_ZONE_RR_HEAD;
	if (!put_pointer(piece, 0, false) || !put_bytes(piece, rr + 2, DNS_ZONE_RR_HEAD - 2))
		return false;
	uint16_t start = piece->len;
	for (unsigned i = 0; i < names->n; i++) {
		if (!put_name(zone, piece, written, rdata))
			return false;
		rdata += dns_name_len(rdata);
	}
	if (!put_bytes(piece, rdata, names->after))
		return false;
	dns_put16(piece->bytes + start - 2, (uint16_t)(piece->len - start));
	piece->full_size =
		(uint16_t)(piece->full_size + zone->node[0].name_len + dns_zone_rr_bytes(rr) - 2);
	piece->n++;
	return true;
}

static struct dns_zone_piece *lay_piece(const struct dns_zone *zone, uint16_t type)
{
	const struct dns_zone_set *s = dns_zone_set(zone, &zone->node[0], type);
	struct written w = { 0 };
	if (s == NULL || zone->origin_labels == 0)
		return NULL;
	struct dns_zone_piece *p = xcalloc(1, sizeof(*p));
	const uint8_t *rr = dns_zone_data(zone, s);
	for (unsigned i = 0; i < s->n; i++, rr += dns_zone_rr_bytes(rr)) {
		if (!put_rr(zone, p, &w, rr)) {
			free(p);
			return NULL;
		}
	}
	return p;
}

void dns_zone_lay_pieces(struct dns_zone *zone)
{
	zone->piece[DNS_ZONE_PIECE_NS] = lay_piece(zone, DNS_TYPE_NS);
	zone->piece[DNS_ZONE_PIECE_SOA] = lay_piece(zone, DNS_TYPE_SOA);
}

size_t dns_zone_piece_put(const struct dns_zone_piece *piece, uint8_t *msg, size_t off,
			  size_t origin_off)
{
	memcpy(msg + off, piece->bytes, piece->len);
	for (unsigned i = 0; i < piece->n_fix; i++) {
		const struct dns_zone_fix *f = &piece->fix[i];
		size_t to = f->to + (f->in_piece ? off : origin_off);
		dns_put16(msg + off + f->at, (uint16_t)(0xc000 | to));
	}
	return piece->len;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Printing a message: records through libknot's text form. */
#include "dns/dump_test.h"

#include <stdlib.h>
#include <string.h>

#include <libknot/libknot.h>

#include "base/err.h"
#include "dns/name.h"
#include "dns/request.h"
#include "dns/resp.h"
#include "dns/types.h"

static void dump_header(const uint8_t *msg, const struct dns_resp *resp, struct strbuf *out)
{
	static const struct {
		uint16_t bit;
		const char *text;
	} bits[] = {
		{ DNS_FLAG_QR, " qr" }, { DNS_FLAG_AA, " aa" }, { DNS_FLAG_TC, " tc" },
		{ DNS_FLAG_RD, " rd" }, { DNS_FLAG_RA, " ra" }, { DNS_FLAG_Z, " z" },
		{ DNS_FLAG_AD, " ad" }, { DNS_FLAG_CD, " cd" },
	};
	char buf[DNS_MNEMONIC_MAX];
	uint16_t flags = dns_get16(msg + 2);
	uint8_t opcode = (uint8_t)(flags >> 11 & 15);
	strbuf_adds(out, dns_rcode_str(resp->rcode, buf));
	for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
		if ((flags & bits[i].bit) != 0)
			strbuf_adds(out, bits[i].text);
	}
	if (opcode != 0)
		strbuf_addf(out, " opcode=%u", opcode);
	strbuf_addc(out, '\n');
}

static void dump_question(const uint8_t *msg, size_t len, struct strbuf *out)
{
	uint8_t name[DNS_NAME_MAX];
	char text[DNS_NAME_TEXT_MAX];
	char cls[DNS_MNEMONIC_MAX], type[DNS_MNEMONIC_MAX];
	int at = dns_name_unpack(msg, len, DNS_HEADER_BYTES, name);
	if (dns_get16(msg + 4) != 1 || at < 0)
		return;
	dns_name_to_text(name, false, text);
	strbuf_addf(out, "question %s %s %s\n", text, dns_class_str(dns_get16(msg + at + 2), cls),
		    dns_type_str(dns_get16(msg + at), type));
}

/* libknot prints type bitmaps without looking at where they end. The offset of the bitmap, or the
 * length of the data when this type has none; ERR_PARSE when it is too short. */
static int bitmap_at(const struct dns_rr *rr)
{
	size_t at = 0;
	switch (rr->type) {
	case DNS_TYPE_NSEC:
		return dns_name_skip(rr->rdata, rr->rdlen, 0);
	case DNS_TYPE_NSEC3:
		at = 4; /* then salt and next owner, each with its length */
		for (int i = 0; i < 2 && at < rr->rdlen; i++)
			at += rr->rdata[at] + 1U;
		break;
	case DNS_TYPE_CSYNC:
		at = 6;
		break;
	default:
		return rr->rdlen;
	}
	return at <= rr->rdlen ? (int)at : ERR_PARSE;
}

static bool bitmap_is_whole(const struct dns_rr *rr)
{
	int at = bitmap_at(rr);
	while (at >= 0 && at < rr->rdlen)
		at = at + 2 <= rr->rdlen ? at + 2 + rr->rdata[at + 1] : ERR_PARSE;
	return at == rr->rdlen;
}

static void dump_rdata(const struct dns_rr *rr, struct strbuf *out)
{
	enum { TEXT_MAX = 256 * 1024 };
	knot_rrset_t set;
	knot_rrset_init(&set, (knot_dname_t *)(uintptr_t)rr->owner, rr->type, rr->cls, rr->ttl);
	char *text = malloc(TEXT_MAX);
	int n = -1;
	if (text != NULL && bitmap_is_whole(rr) &&
	    knot_rrset_add_rdata(&set, rr->rdata, rr->rdlen, NULL) == KNOT_EOK)
		n = knot_rrset_txt_dump_data(&set, 0, text, TEXT_MAX, &KNOT_DUMP_STYLE_DEFAULT);
	if (n >= 0)
		strbuf_add(out, text, (size_t)n);
	else
		strbuf_addf(out, "\\# %u", rr->rdlen);
	knot_rdataset_clear(&set.rrs, NULL);
	free(text);
}

static void dump_section(const struct dns_resp *resp, enum dns_section section, struct strbuf *out)
{
	static const char *const names[] = { "answer", "authority", "additional" };
	char text[DNS_NAME_TEXT_MAX];
	char cls[DNS_MNEMONIC_MAX], type[DNS_MNEMONIC_MAX];
	DNS_RR_FOREACH(rr, resp, section)
	{
		dns_name_to_text(rr->owner, false, text);
		strbuf_addf(out, "%s %s %u %s %s ", names[section], text, rr->ttl,
			    dns_class_str(rr->cls, cls), dns_type_str(rr->type, type));
		dump_rdata(rr, out);
		strbuf_addc(out, '\n');
	}
}

static void dump_opt(const struct dns_resp *resp, struct strbuf *out)
{
	struct dns_opt o = { .options = resp->options, .options_len = resp->options_len };
	struct dns_option opt;
	size_t pos = 0;
	if (!resp->has_opt)
		return;
	strbuf_addf(out, "opt %u%s", resp->opt_udp_size, resp->opt_do ? " do" : "");
	while (dns_option_next(&o, &pos, &opt)) {
		strbuf_addf(out, " %u:", opt.code);
		for (size_t i = 0; i < opt.len; i++)
			strbuf_addf(out, "%02x", opt.data[i]);
	}
	strbuf_addc(out, '\n');
}

int dns_dump(const uint8_t *msg, size_t len, struct strbuf *out)
{
	struct dns_resp r;
	struct arena a;
	arena_init(&a);
	uint8_t *copy = arena_memdup(&a, msg, len);
	int err = dns_resp_from_wire(&r, &a, copy, len);
	if (err == 0) {
		dump_header(msg, &r, out);
		dump_question(msg, len, out);
		err = dns_resp_thaw(&r, &a);
	}
	for (int s = 0; s < DNS_SECTIONS && err == 0; s++)
		dump_section(&r, (enum dns_section)s, out);
	if (err == 0)
		dump_opt(&r, out);
	arena_done(&a);
	return err;
}

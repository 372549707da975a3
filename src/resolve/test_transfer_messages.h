/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages of zone transfers of the zone `example.`, for tests. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "dns/message.h"

static const uint8_t transfer_zone[] = "\7example";

struct transfer_message {
	uint8_t bytes[2048];
	size_t n;
};

static UNUSED void message_start(struct transfer_message *message, uint16_t id, bool question)
{
	message->n =
		dns_message_query(message->bytes, id, DNS_FLAG_QR, transfer_zone, DNS_TYPE_IXFR);
	if (!question) {
		dns_put16(message->bytes + 4, 0);
		message->n = DNS_HEADER_BYTES;
	}
}

static UNUSED void message_add(struct transfer_message *message, const uint8_t *owner,
			       uint16_t type, const void *rdata, size_t rdata_n)
{
	uint8_t *out = message->bytes + message->n;
	size_t owner_n = dns_name_len(owner);
	memcpy(out, owner, owner_n);
	out += owner_n;
	dns_put16(out, type);
	dns_put16(out + 2, DNS_CLASS_IN);
	memset(out + 4, 0, 4);
	dns_put16(out + 8, (uint16_t)rdata_n);
	memcpy(out + 10, rdata, rdata_n);
	message->n += owner_n + 10 + rdata_n;
	dns_put16(message->bytes + 6, (uint16_t)(dns_get16(message->bytes + 6) + 1));
}

static UNUSED void message_add_soa(struct transfer_message *message, uint32_t serial)
{
	uint8_t rdata[22] = { 0 };
	dns_put16(rdata + 2, (uint16_t)(serial >> 16));
	dns_put16(rdata + 4, (uint16_t)serial);
	message_add(message, transfer_zone, DNS_TYPE_SOA, rdata, sizeof(rdata));
}

/* `script` has a number for a SOA record and another word, of a few letters, for a TXT record. */
static UNUSED void message_add_script(struct transfer_message *message, const char *script)
{
	static const uint8_t owner[] = "\1a\7example";
	while (*script != '\0') {
		size_t n = strcspn(script, " ");
		uint8_t text[64];
		uint32_t serial = 0;
		if (script[0] >= '0' && script[0] <= '9') {
			for (size_t i = 0; i < n; i++)
				serial = serial * 10 + (uint32_t)(script[i] - '0');
			message_add_soa(message, serial);
		} else {
			text[0] = (uint8_t)n;
			memcpy(text + 1, script, n);
			message_add(message, owner, DNS_TYPE_TXT, text, n + 1);
		}
		script += n;
		script += *script == ' ';
	}
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a NOTIFY: an answer has the message's id and opcode, is itself never answered, is no longer than its
 * buffer, and only a NOTIFY for a zone is accepted. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "controller/dnsrecord/notify/message.h"
#include "dns/tsig/key.h"
#include "dns/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t *data, uint8_t *msg, size_t size, const struct dns_tsig_key *key)
{
	struct dnsrecord_notify notify;
	uint8_t reply[DNSRECORD_NOTIFY_REPLY_MAX];
	struct dnsrecord_notify_zone zone = {
		.is_ours = true, .keys = key, .n_keys = 1, .now_s = 1700000000
	};
	size_t n = 0;
	if (!dnsrecord_notify_read(msg, size, &notify))
		return;
	enum dnsrecord_notify_result result = dnsrecord_notify_answer(&notify, &zone, reply, &n);
	if (n < DNS_HEADER_BYTES || n > sizeof(reply) || memcmp(reply, data, 2) != 0 ||
	    (reply[2] & 0xf8) != (0x80 | (data[2] & 0x78)))
		abort();
	if (result == DNSRECORD_NOTIFY_ACCEPTED &&
	    (notify.request.opcode != DNS_OPCODE_NOTIFY || strlen(notify.zone) > 1024))
		abort();
	if (result == DNSRECORD_NOTIFY_UNKNOWN_ZONE)
		abort();
	if (dnsrecord_notify_read(reply, n, &notify))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct dns_tsig_key key = { 0 };
	if (size > DNSRECORD_NOTIFY_MAX ||
	    dns_tsig_key_parse(&key, SLICE("hmac-sha256:b.key:AAECAwQFBgcICQoLDA0ODw=="),
			       (struct err_text){ 0 }) < 0)
		return 0;
	uint8_t *msg = xmalloc(size + DNS_REQUEST_SLACK);
	if (size != 0)
		memcpy(msg, data, size);
	check(data, msg, size, &key);
	free(msg);
	dns_tsig_key_done(&key);
	return 0;
}

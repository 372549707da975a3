/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as the keys of the Secret: what is written in their place can be read, and stays then. The
 * first byte is the time, in weeks after the keys of the corpus. */
#include <stdint.h>
#include <stdlib.h>

#include "controller/egressfirewall/transfer/key_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BEGIN_S = 1000000, WEEK_S = 7 * 86400 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT, again = STRBUF_INIT;
	struct dns_tsig_key key = { 0 };
	if (size == 0)
		return 0;
	uint64_t now_s = BEGIN_S + (uint64_t)data[0] * WEEK_S;
	struct slice text = { (const char *)data + 1, size - 1 };
	size_t count = egressfirewall_transfer_keys_count(text);
	if (egressfirewall_transfer_keys_pick(text, count, &key, (struct err_text){ 0 }) == 0 &&
	    count < EGRESSFIREWALL_TRANSFER_KEYS_MAX)
		abort();
	dns_tsig_key_done(&key);
	if (egressfirewall_transfer_keys_renew(text, now_s, &out)) {
		if (egressfirewall_transfer_keys_count(strbuf_slice(&out)) == 0 ||
		    egressfirewall_transfer_keys_renew(strbuf_slice(&out), now_s, &again))
			abort();
	}
	return 0;
}

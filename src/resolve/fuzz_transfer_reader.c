/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as the messages of a transfer, each behind its length: what is passed on lies inside the
 * message, in the zone, and within the limits. The first byte chooses between AXFR and IXFR. */
#include <stdint.h>
#include <stdlib.h>

#include "dns/request.h"
#include "resolve/transfer_reader_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RECORDS_MAX = 64 };

static const uint8_t zone[] = "\7example";

struct seen {
	const uint8_t *msg;
	size_t len, records;
};

static int check_record(void *ctx, const struct resolve_transfer_record *record)
{
	struct seen *seen = ctx;
	if (record->rdata < seen->msg || record->rdata + record->rdata_n > seen->msg + seen->len ||
	    !dns_name_is_below(record->owner, zone) || ++seen->records > RECORDS_MAX)
		abort();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen = { .records = 0 };
	struct transfer_reader reader = { .zone = zone,
					  .serial = 5,
					  .max_records = RECORDS_MAX,
					  .max_bytes = 4096,
					  .record = check_record,
					  .ctx = &seen };
	int r = 0;
	if (size == 0)
		return 0;
	reader.incremental = (data[0] & 1) != 0;
	for (size_t at = 1; r == 0 && at + 2 <= size;) {
		size_t len = dns_get16(data + at);
		char err[200] = "";
		at += 2;
		len = len > size - at ? size - at : len;
		seen.msg = data + at;
		seen.len = len;
		r = transfer_reader_feed(&reader, seen.msg, len, ERR_TEXT(err));
		if ((r < 0) != (err[0] != '\0') || (r == 1 && reader.phase != TRANSFER_COMPLETE))
			abort();
		at += len;
	}
	return 0;
}

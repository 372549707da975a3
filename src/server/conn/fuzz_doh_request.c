/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets of any kind: a message within the buffer or one of two statuses. */
#include "server/conn/doh_request.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct slice methods[] = { { "GET", 3 }, { "POST", 4 }, { "PUT", 3 } };
	static uint8_t buf[DOH_MESSAGE_MAX];
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		struct slice got = { 0 };
		struct http_message m = { .method = methods[i],
					  .target = { (const char *)data, size } };
		unsigned status = doh_request_read(&m, buf, &got);
		if (status != 0 && status != 400 && status != 404)
			abort();
		if (status == 0 && i == 0 && (got.p != (const char *)buf || got.n > size))
			abort();
	}
	return 0;
}

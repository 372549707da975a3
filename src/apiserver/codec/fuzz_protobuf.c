/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a protobuf body. */
#include <stddef.h>
#include <stdint.h>

#include "apiserver/codec/protobuf.h"
#include "base/err_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[256];
	json_t *o = NULL;
	if (apiserver_protobuf_decode((struct slice){ (const char *)data, size }, &o,
				      ERR_TEXT(err)) == 0)
		json_decref(o);
	return 0;
}

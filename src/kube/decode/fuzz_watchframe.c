/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as each of the protocol's small objects. */
#include <stdint.h>

#include "kube/decode/watchframe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct slice s = { (const char *)data, n };
	struct kube_bookmark b;
	struct kube_error e;
	struct kube_list_meta m = { .next = STRBUF_INIT };
	IGNORE(kube_bookmark_parse(s, &b));
	IGNORE(kube_error_parse(s, &e));
	IGNORE(kube_list_meta_parse(s, &m));
	strbuf_done(&m.next);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes of a refusal: a code, and a message of one line. */
#include <stdlib.h>
#include <string.h>

#include "kube/client/status_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct kube_status s = { 0 };
	int code = n > 0 ? 300 + data[0] : 0;
	if (kube_status_from(&s, code, (struct slice){ (const char *)data, n }, "id") >= 0 ||
	    s.message[0] == '\0' || strchr(s.message, '\n') != NULL ||
	    strstr(s.message, "(audit id id)") == NULL)
		abort();
	kube_status_done(&s);
	return 0;
}

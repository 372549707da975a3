/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text of an exec plugin: a credential or a refusal. */
#include <stdlib.h>

#include "base/err_text.h"
#include "kube/client/exec_priv.h"
#include "kube/client/exec_test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char err[256];
	struct kube_exec_cred c = { 0 };
	if (kube_exec_parse((struct slice){ (const char *)data, n },
			    "client.authentication.k8s.io/v1", &c, ERR_TEXT(err)) == 0 &&
	    c.token.p == NULL && c.cert.p == NULL)
		abort();
	kube_exec_cred_done(&c);
	return 0;
}

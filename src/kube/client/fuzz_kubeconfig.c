/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a kubeconfig: taken or refused with a sentence, nothing else. */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "kube/client/config_priv.h"
#include "kube/client/config_test.h"
#include "kube/client/kubeconfig_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char err[256] = "";
	/* Two files: what stands before the first form feed, and the rest. */
	const uint8_t *cut = n != 0 ? memchr(data, '\f', n) : NULL;
	size_t first = cut != NULL ? (size_t)(cut - data) : n;
	struct kube_config_file f[] = {
		{ "/a/f", { (const char *)data, first } },
		{ "g",
		  { cut != NULL ? (const char *)cut + 1 : NULL, cut != NULL ? n - first - 1 : 0 } },
	};
	struct kube_config *c = kube_config_new();
	int r = kube_config_read(f, ARRAY_LEN(f), NULL, c, ERR_TEXT(err));
	if (r < 0 ? err[0] == '\0' : strstr(kube_config_server(c), "://") == NULL)
		abort();
	kube_config_free(c);
	return 0;
}

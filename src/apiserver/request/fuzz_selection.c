/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text as a label selector: what the server's words accept, the parser accepts. */
#include "apiserver/request/selection.h"

#include <stdint.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	CLEANUP(freep) char *text = xstrndup((const char *)data, n);
	struct apiserver_status status = APISERVER_STATUS_INIT;
	struct apiserver_selection s;
	const struct apiserver_resource *r = apiserver_resource_find("", "v1", "pods");
	json_t *o = json_pack("{s{ss,s{ss}}}", "metadata", "name", "a", "labels", "a", "b");
	if (apiserver_selection_parse(r, text, "", &s, &status) == 0)
		IGNORE(apiserver_selection_match(&s, o));
	apiserver_selection_done(&s);
	if (apiserver_selection_parse(r, "", text, &s, &status) == 0)
		IGNORE(apiserver_selection_match(&s, o));
	apiserver_selection_done(&s);
	apiserver_status_done(&status);
	json_decref(o);
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any path, over a tree of every shape. */
#include "apiserver/codec/jsonpath.h"
#include "apiserver/codec/jsonpath_test.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	json_t *o = json_pack("{s{ss,s[{ss,si},{ss,sb}],sn},s[i,f,[s]]}", "a", "b", "c", "d",
			      "type", "A", "n", 1, "type", "B", "ok", 1, "e", "l", 1, 2.5, "x");
	CLEANUP(freep) char *path = xstrndup((const char *)data, n);
	bool good = apiserver_jsonpath_check(path);
	const json_t *v = apiserver_jsonpath_first(o, path);
	/* What is found is part of the tree: printing it reads it. */
	if (good && v != NULL)
		free(json_dumps(v, JSON_ENCODE_ANY));
	json_decref(o);
	return 0;
}

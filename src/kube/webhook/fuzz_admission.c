/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a review, by a hook that changes what it can. */
#include "kube/webhook/admission.h"
#include "kube/webhook/admission_test.h"

#include <stdint.h>
#include <stdlib.h>

#include "api/patch/patch.h"
#include "base/err.h"
#include "base/err_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void meddle(void *ctx, const struct admission_request *q, struct admission_reply *r)
{
	(void)ctx;
	if (r->object == NULL) {
		admission_refuse(r, "%s %s", q->operation, q->name);
		return;
	}
	json_object_del(r->object, "spec");
	json_object_set_new(r->object, "a/b~c", json_true());
	admission_warn(r, "%s", q->user);
	char err[100];
	json_t *ops = admission_diff(q->object, r->object), *same;
	/* The patch does what it should, if the object is one that patches can say. */
	if (api_json_patch(q->object, ops, &same, ERR_TEXT(err)) == 0) {
		if (!json_equal(same, r->object))
			abort();
		json_decref(same);
	}
	json_decref(ops);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct admission_hook hooks[] = {
		{ ADMISSION_VALIDATE, "v", "", "Namespace", ADMISSION_CREATE | ADMISSION_DELETE,
		  true, meddle, NULL },
		{ ADMISSION_MUTATE, "m", "", "Namespace", .review = meddle },
	};
	for (int phase = 0; phase < ADMISSION_PHASES; phase++) {
		CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
		int r = admission_review(hooks, 2, (enum admission_phase)phase,
					 (struct slice){ (const char *)data, n }, &out);
		if (r == 0) {
			json_t *v = json_loadb(out.s, out.n, 0, NULL);
			if (v == NULL)
				abort();
			json_decref(v);
		}
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One hook refuses other values of the label, one corrects words that people write. */
#include "controller/example/hooks.h"

#include <string.h>

#include "api/meta.h"
#include "controller/example/state.h"

#define HOOK_NAME "namespaces.example.fairlead.dev"

static const char *label_of(const json_t *object)
{
	const char *value = api_label(object, EXAMPLE_LABEL);
	return value != NULL ? value : "";
}

static void check_label(void *ctx, const struct admission_request *req,
			struct admission_reply *reply)
{
	const char *value = label_of(req->object);
	(void)ctx;
	if (value[0] != '\0' && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
		admission_refuse(reply, "label %s is 'true' or 'false', not '%s'", EXAMPLE_LABEL,
				 value);
}

static void spell_label(void *ctx, const struct admission_request *req,
			struct admission_reply *reply)
{
	static const char *const words[][2] = { { "yes", "true" }, { "no", "false" } };
	(void)ctx;
	for (size_t i = 0; reply->object != NULL && i < ARRAY_LEN(words); i++) {
		if (strcmp(label_of(req->object), words[i][0]) == 0)
			json_object_set_new(api_get(reply->object, "metadata.labels"),
					    EXAMPLE_LABEL, json_string(words[i][1]));
	}
}

const struct admission_hook example_hooks[EXAMPLE_HOOKS] = {
	{ ADMISSION_VALIDATE, HOOK_NAME, "", "Namespace", .review = check_label },
	{ ADMISSION_MUTATE, HOOK_NAME, "", "Namespace", .review = spell_label },
};

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members of JSON objects, as strategies read and change them. */
#include "apiserver/rules/members.h"

#include <string.h>

#include "api/tree.h"

void apiserver_set_default(json_t *object, const char *key, json_t *value)
{
	const json_t *was = json_object_get(object, key);
	if (was == NULL || json_is_null(was))
		json_object_set_new(object, key, value);
	else
		json_decref(value);
}

json_t *apiserver_make_member(json_t *object, const char *key)
{
	apiserver_set_default(object, key, json_object());
	return json_object_get(object, key);
}

void apiserver_copy_old(json_t *object, const json_t *old, const char *key)
{
	const json_t *was = json_object_get(old, key);
	if (was != NULL)
		json_object_set_new(object, key, json_deep_copy(was));
	else
		json_object_del(object, key);
}

bool apiserver_has_text(const json_t *object, const char *key)
{
	return json_string_length(json_object_get(object, key)) != 0;
}

long long apiserver_number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

bool apiserver_is(const json_t *object, const char *key, const char *word)
{
	return strcmp(api_text(json_object_get(object, key)), word) == 0;
}

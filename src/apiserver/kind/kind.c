/* What the strategies share. */
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "apiserver/kind/strategy.h"
#include "apiserver/kind/objectmeta.h"

void apiserver_default(json_t *object, const char *key, json_t *value)
{
	const json_t *was = json_object_get(object, key);
	if (was == NULL || json_is_null(was))
		json_object_set_new(object, key, value);
	else
		json_decref(value);
}

json_t *apiserver_member(json_t *object, const char *key)
{
	apiserver_default(object, key, json_object());
	return json_object_get(object, key);
}

void apiserver_take_old(json_t *object, const json_t *old, const char *key)
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

bool apiserver_no_generation(const json_t *object, const json_t *old)
{
	(void)object, (void)old;
	return false;
}

void apiserver_validate_as_new(const json_t *object, struct api_errors *errs)
{
	apiserver_objectmeta_validate(apiserver_resource_of(object), object, NULL, errs);
}

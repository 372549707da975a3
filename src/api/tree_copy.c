/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies value by value. Texts are not checked again: those of a tree are UTF-8. */
#include "api/tree_copy.h"

#include <stdbool.h>
#include <string.h>

#include "api/tree.h"

static json_t *copy_object(const json_t *object)
{
	json_t *copy = json_object(), *value;
	const char *key;
	size_t key_n;
	json_object_keylen_foreach(api_tree(object), key, key_n, value)
		json_object_setn_new_nocheck(copy, key, key_n, api_tree_copy(value));
	return copy;
}

static json_t *copy_array(const json_t *array)
{
	json_t *copy = json_array(), *value;
	size_t i;
	json_array_foreach (array, i, value)
		json_array_append_new(copy, api_tree_copy(value));
	return copy;
}

json_t *api_tree_copy(const json_t *value)
{
	if (value == NULL)
		return NULL;
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return copy_object(value);
	case JSON_ARRAY:
		return copy_array(value);
	case JSON_STRING:
		return json_stringn_nocheck(api_text(value), json_string_length(value));
	case JSON_INTEGER:
		return json_integer(json_integer_value(value));
	case JSON_REAL:
		return json_real(json_real_value(value));
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		break;
	}
	return api_tree(value); /* jansson has one of each, which is not counted */
}

static json_t *copy_metadata(const json_t *metadata, const json_t *managed)
{
	json_t *copy = json_object(), *value;
	const char *key;
	size_t key_n;
	json_object_keylen_foreach(api_tree(metadata), key, key_n, value)
		json_object_setn_new_nocheck(copy, key, key_n,
					     value == managed ? json_incref(value)
							      : api_tree_copy(value));
	return copy;
}

json_t *api_tree_copy_object(const json_t *object, const json_t *from)
{
	const json_t *managed = json_object_get(json_object_get(from, "metadata"), "managedFields");
	if (managed == NULL || !json_is_object(object))
		return api_tree_copy(object);
	json_t *copy = json_object(), *value;
	const char *key;
	size_t key_n;
	json_object_keylen_foreach(api_tree(object), key, key_n, value)
	{
		bool is_metadata = json_is_object(value) && strcmp(key, "metadata") == 0;
		json_object_setn_new_nocheck(copy, key, key_n,
					     is_metadata ? copy_metadata(value, managed)
							 : api_tree_copy(value));
	}
	return copy;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wiping the texts of an object tree before its memory is freed. */
#include "kube/client/secret_tree.h"

#include <stdint.h>
#include <string.h>

#include "api/tree.h"

void kube_secret_tree_wipe(json_t *value)
{
	const char *key;
	json_t *child;
	size_t i;
	if (json_is_string(value)) {
		/* Ours alone: nobody reads the text any more. */
		explicit_bzero((char *)(uintptr_t)api_text(value), json_string_length(value));
	}
	json_array_foreach (value, i, child)
		kube_secret_tree_wipe(json_incref(child));
	json_object_foreach (value, key, child)
		kube_secret_tree_wipe(json_incref(child));
	json_decref(value);
}

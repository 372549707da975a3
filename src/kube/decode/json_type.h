/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types of the tokens of JSON. */
#pragma once

enum kube_json_type {
	KUBE_JSON_STRING,
	KUBE_JSON_NUMBER, /* as it was written */
	KUBE_JSON_TRUE,
	KUBE_JSON_FALSE,
	KUBE_JSON_NULL,
	KUBE_JSON_KEY, /* of the value that follows */
	KUBE_JSON_MAP, /* ... KUBE_JSON_END */
	KUBE_JSON_ARRAY,
	KUBE_JSON_END,
};

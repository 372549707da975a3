/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON schema of ObjectMeta, for patches and apply: the schemas of kinds leave metadata out. */
#include "api/patch/objectmeta_schema.h"

#include <pthread.h>

#define STRING	   "{\"type\":\"string\"}"
#define TIME	   "{\"type\":\"string\",\"format\":\"date-time\"}"
#define COUNT	   "{\"type\":\"integer\",\"format\":\"int64\"}"
#define FLAG	   "{\"type\":\"boolean\"}"
#define STRING_MAP "{\"type\":\"object\",\"additionalProperties\":" STRING "}"

static const char schema_json[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"name\":" STRING ",\"generateName\":" STRING ",\"namespace\":" STRING
	",\"selfLink\":" STRING ",\"uid\":" STRING ",\"resourceVersion\":" STRING
	",\"generation\":" COUNT ",\"creationTimestamp\":" TIME ",\"deletionTimestamp\":" TIME
	",\"deletionGracePeriodSeconds\":" COUNT ",\"labels\":" STRING_MAP
	",\"annotations\":" STRING_MAP
	",\"ownerReferences\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
	"\"x-kubernetes-list-map-keys\":[\"uid\"],\"x-kubernetes-patch-strategy\":\"merge\","
	"\"x-kubernetes-patch-merge-key\":\"uid\",\"items\":{\"type\":\"object\","
	"\"x-kubernetes-map-type\":\"atomic\",\"properties\":{\"apiVersion\":" STRING
	",\"kind\":" STRING ",\"name\":" STRING ",\"uid\":{\"type\":\"string\",\"default\":\"\"}"
	",\"controller\":" FLAG ",\"blockOwnerDeletion\":" FLAG "}}},"
	"\"finalizers\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\","
	"\"x-kubernetes-patch-strategy\":\"merge\",\"items\":" STRING "},"
	"\"managedFields\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"atomic\","
	"\"items\":{\"type\":\"object\",\"properties\":{\"manager\":" STRING
	",\"operation\":" STRING ",\"apiVersion\":" STRING ",\"time\":" TIME
	",\"fieldsType\":" STRING ",\"fieldsV1\":{\"type\":\"object\"},\"subresource\":" STRING
	"}}}}}";

static json_t *schema;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_schema(void)
{
	schema = json_loads(schema_json, 0, NULL);
}

const json_t *api_objectmeta_schema(void)
{
	pthread_once(&once, make_schema);
	return schema;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON schema of ObjectMeta, for patches and apply: the schemas of kinds leave metadata out. */
#include "api/patch/objectmeta_types.h"

#include <pthread.h>

#define TEXT  "{\"type\":\"string\"}"
#define TIME  "{\"type\":\"string\",\"format\":\"date-time\"}"
#define COUNT "{\"type\":\"integer\",\"format\":\"int64\"}"
#define FLAG  "{\"type\":\"boolean\"}"
#define TEXTS "{\"type\":\"object\",\"additionalProperties\":" TEXT "}"

static const char text[] =
	"{\"type\":\"object\",\"properties\":{"
	"\"name\":" TEXT ",\"generateName\":" TEXT ",\"namespace\":" TEXT ",\"selfLink\":" TEXT
	",\"uid\":" TEXT ",\"resourceVersion\":" TEXT ",\"generation\":" COUNT
	",\"creationTimestamp\":" TIME ",\"deletionTimestamp\":" TIME
	",\"deletionGracePeriodSeconds\":" COUNT ",\"labels\":" TEXTS ",\"annotations\":" TEXTS
	",\"ownerReferences\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
	"\"x-kubernetes-list-map-keys\":[\"uid\"],\"x-kubernetes-patch-strategy\":\"merge\","
	"\"x-kubernetes-patch-merge-key\":\"uid\",\"items\":{\"type\":\"object\","
	"\"x-kubernetes-map-type\":\"atomic\",\"properties\":{\"apiVersion\":" TEXT
	",\"kind\":" TEXT ",\"name\":" TEXT ",\"uid\":{\"type\":\"string\",\"default\":\"\"}"
	",\"controller\":" FLAG ",\"blockOwnerDeletion\":" FLAG "}}},"
	"\"finalizers\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\","
	"\"x-kubernetes-patch-strategy\":\"merge\",\"items\":" TEXT "},"
	"\"managedFields\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"atomic\","
	"\"items\":{\"type\":\"object\",\"properties\":{\"manager\":" TEXT ",\"operation\":" TEXT
	",\"apiVersion\":" TEXT ",\"time\":" TIME ",\"fieldsType\":" TEXT
	",\"fieldsV1\":{\"type\":\"object\"},\"subresource\":" TEXT "}}}}}";

static json_t *schema;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_schema(void)
{
	schema = json_loads(text, 0, NULL);
}

const json_t *api_metadata_schema(void)
{
	pthread_once(&once, make_schema);
	return schema;
}

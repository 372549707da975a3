/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Malformed requests: code and message. Most of them are compared with kube-apiserver by
 * tests/kube/conformance; here are those whose answer was wrong once. */
#include "apiserver/test_api.h"

#define CMS	   "/api/v1/namespaces/default/configmaps"
#define JSON_PATCH "application/json-patch+json"
#define MERGE	   "application/merge-patch+json"
#define STRATEGIC  "application/strategic-merge-patch+json"
#define SVC	   "/api/v1/namespaces/default/services/kubernetes"

static const struct {
	const char *target, *type, *body;
	unsigned status;
	const char *message; /* a part of it; "" for none */
} rows[] = {
	/* clang-format off */
	/* names and paths */
	{ "GET " CMS "/\xff", NULL, NULL, 404, "configmaps \"\\xff\" not found" },
	{ "GET " CMS "/..", NULL, NULL, 400, "Name parameter invalid: \"..\": may not be '..'" },
	{ "GET " CMS "/../x", NULL, NULL, 404, "could not find the requested resource" },
	{ "GET /api/v1//namespaces", NULL, NULL, 404, "could not find the requested resource" },
	{ "HEAD " CMS, NULL, NULL, 405, "does not allow this method" },
	/* bodies */
	{ "POST " CMS, NULL, "{\"apiVersion\":7,\"metadata\":{\"name\":\"x\"}}", 400, "cannot unmarshal number into Go struct field .apiVersion of type string" },
	{ "POST " CMS, NULL, "{\"kind\":[],\"metadata\":{\"name\":\"x\"}}", 400, "cannot unmarshal array into Go struct field .kind of type string" },
	{ "POST " CMS, NULL, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMapList\"}", 400, "converting (v1.ConfigMapList) to (core.ConfigMap): unknown conversion" },
	{ "POST " CMS, NULL, "{\"apiVersion\":\"v1\",\"kind\":\"Status\"}", 400, "unknown conversion" },
	{ "POST " CMS, NULL, "{\"apiVersion\":\"v1\",\"kind\":\"XList\"}", 400, "no kind \"XList\" is registered" },
	{ "POST " CMS, "application/yaml", "a text", 400, "cannot unmarshal string into Go value" },
	{ "POST " CMS, "application/vnd.kubernetes.protobuf", "k8s", 400, "does not appear to be a protobuf message" },
	/* deletes */
	{ "DELETE " CMS "/a", NULL, "{\"preconditions\":{\"uid\":7}}", 400, "cannot unmarshal number into Go struct field Preconditions.preconditions.uid of type types.UID" },
	{ "DELETE " CMS "/a", NULL, "{\"preconditions\":{\"uid\":\"\"}}", 409, "the UID in the precondition ()" },
	{ "DELETE " CMS "/a", "text/plain", "{}", 415, "unknown format" },
	{ "DELETE " CMS "/a?propagationPolicy=", NULL, NULL, 422, "propagationPolicy: Unsupported value: \"\"" },
	{ "DELETE " CMS "?resourceVersion=x", NULL, NULL, 400, "parsing \"x\": invalid syntax" },
	{ "GET " CMS "?resourceVersion=99999999999999999999", NULL, NULL, 400, "value out of range" },
	/* patches */
	{ "PATCH " CMS "/a", MERGE, "null", 400, "Invalid JSON Patch" },
	{ "PATCH " CMS "/a", MERGE, "{\"apiVersion\":\"v2\"}", 422, "no kind \"ConfigMap\" is registered for version \"v2\"" },
	{ "PATCH " CMS "/a", "application/MERGE-patch+json", "{}", 415, "Unsupported Media Type" },
	{ "PATCH " CMS "/a", JSON_PATCH, "[7]", 400, "cannot unmarshal number into Go value of type handlers.jsonPatchOp" },
	{ "PATCH " CMS "/a", JSON_PATCH, "[{\"op\":7}]", 400, "cannot unmarshal number into Go struct field jsonPatchOp.op of type string" },
	{ "PATCH " CMS "/a", JSON_PATCH, "[{\"op\":\"replace\",\"path\":\"\",\"value\":7}]", 422, "the server rejected our request" },
	{ "PATCH " CMS "/a", JSON_PATCH, "null", 200, "" },
	{ "PATCH " CMS "/a", JSON_PATCH, "[{\"op\":\"replace\",\"path\":\"/immutable\",\"value\":false}]", 200, "" },
	{ "PATCH " CMS "/a?fieldManager=m", "application/apply-patch+yaml", "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":\"x\"}", 500, ".metadata: expected map, got &{x}" },
	{ "PATCH " CMS "/a", STRATEGIC, "{\"data\":{\"a\":1,\"b\":null},\"binaryData\":{}}", 422, "patch: Invalid value: \"map[binaryData:map[] data:map[a:1 b:<nil>]]\": cannot convert int64 to string" },
	{ "PATCH " CMS "/a", STRATEGIC, "{\"data\":{\"a\":true}}", 422, "\"map[data:map[a:true]]\": unrecognized type: string" },
	{ "PATCH " CMS "/a", STRATEGIC, "{\"data\":[\"x\",2]}", 422, "\"map[data:[x 2]]\": cannot restore map from slice" },
	{ "PATCH " CMS "/a", STRATEGIC, "{\"immutable\":\"yes\"}", 422, "unrecognized type: bool" },
	{ "PATCH " CMS "/a", STRATEGIC, "{\"binaryData\":{\"a\":\"!\"}}", 422, "error decoding from json: illegal base64 data at input byte 0" },
	{ "PATCH " CMS "/a", STRATEGIC, "{\"binaryData\":{\"a\":5}}", 422, "cannot restore slice from int64" },
	{ "PATCH " CMS "/a", STRATEGIC, "{\"metadata\":{\"creationTimestamp\":5}}", 422, "json: cannot unmarshal number into Go value of type string" },
	{ "PATCH " CMS "/a", STRATEGIC, "{\"metadata\":{\"creationTimestamp\":\"x\"}}", 422, "parsing time \"x\"" },
	{ "PATCH " SVC, STRATEGIC, "{\"spec\":{\"ports\":[{\"port\":443,\"protocol\":5}]}}", 422, "cannot convert int64 to v1.Protocol" },
	{ "PATCH " SVC, STRATEGIC, "{\"spec\":{\"ports\":[{\"port\":443,\"nodePort\":1.5}]}}", 422, "map[nodePort:1.5 port:443]]]]\": cannot convert float64 to int32" },
	{ "PATCH " SVC, STRATEGIC, "{\"spec\":{\"ports\":[{\"port\":443,\"nodePort\":\"x\"}]}}", 422, "unrecognized type: int32" },
	{ "PATCH " SVC, STRATEGIC, "{\"spec\":{\"ports\":[{\"port\":443,\"targetPort\":true}]}}", 422, "json: cannot unmarshal bool into Go value of type int32" },
	{ "PATCH " SVC, STRATEGIC, "{\"spec\":{\"sessionAffinityConfig\":\"x\"}}", 422, "cannot restore struct from: string" },
	{ "PATCH " SVC, STRATEGIC, "{\"spec\":{\"externalIPs\":\"x\"}}", 422, "cannot restore slice from string" },
	/* reviews */
	{ "POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews", NULL, "{\"spec\":{}}", 400, "no namespace on request" },
	{ "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", NULL, "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"resourceAttributes\":{}}}", 422, "metadata: Invalid value: {\"name\":\"x\"}: must be empty" },
	{ "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", NULL, "{\"metadata\":{\"creationTimestamp\":null,\"labels\":{}},\"spec\":{\"resourceAttributes\":{}}}", 201, "" },
	{ "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", NULL, "{}", 422, ".authorization.k8s.io \"\" is invalid: spec: Invalid value: null" },
	/* clang-format on */
};

/* Whatever is asked, the answer is JSON. */
static void words(void **state)
{
	struct fixture *f = *state;
	does(f, 201, "POST " CMS, "{\"metadata\":{\"name\":\"a\"}}");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *o = ask_type(f, rows[i].status, rows[i].target, rows[i].type, rows[i].body);
		assert_non_null(o);
		if (strstr(api_get_string(o, "message"), rows[i].message) == NULL)
			fail_msg("%s %s: %s", rows[i].target, rows[i].body,
				 api_get_string(o, "message"));
		json_decref(o);
	}
	does(f, 200, "GET " CMS "/a", NULL);
}

/* Bytes that are no text are shown as U+FFFD. */
static void bytes_in_answers(void **state)
{
	struct fixture *f = *state;
	json_t *o = ask(f, 404, "GET " CMS "/a\xff\xc3(", NULL);
	assert_text(o, "details.name", "a\xef\xbf\xbd\xef\xbf\xbd(");
	json_decref(o);
}

/* A map of strings has no nulls in it, and an owner occurs once. */
static void mended(void **state)
{
	struct fixture *f = *state;
	struct asked a;
	ask_as(f, "POST " CMS, NULL,
	       "{\"metadata\":{\"name\":\"n\",\"labels\":{\"l\":null},\"ownerReferences\":["
	       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u\"},"
	       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"p\",\"uid\":\"u\"},"
	       "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"name\":\"q\",\"uid\":\"u\"}]},"
	       "\"data\":{\"k\":null},\"binaryData\":{\"b\":null}}",
	       &a);
	assert_int_equal(a.answer.status, 201);
	assert_true(json_is_string(api_get(a.o, "metadata.labels.l")));
	assert_true(json_is_string(api_get(a.o, "data.k")));
	assert_true(json_is_string(api_get(a.o, "binaryData.b")));
	assert_int_equal(json_array_size(api_get(a.o, "metadata.ownerReferences")), 2);
	assert_non_null(strstr(a.answer.warnings.s, "duplicate UID(s) observed: u\n"));
	asked_done(&a);
	json_t *o = ask_type(f, 200, "PATCH " CMS "/n", JSON_PATCH,
			     "[{\"op\":\"copy\",\"from\":\"/metadata/ownerReferences/0\",\"path\":"
			     "\"/metadata/ownerReferences/-\"}]");
	assert_int_equal(json_array_size(api_get(o, "metadata.ownerReferences")), 2);
	json_decref(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(words, setup, teardown),
		cmocka_unit_test_setup_teardown(bytes_in_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(mended, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

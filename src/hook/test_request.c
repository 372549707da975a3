/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States and configurations as runtimes write them, and as nobody should. */
#include "hook/request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/strbuf.h"

/* What runc and crun write. */
#define ASKS "\"annotations\":{\"dns.fairlead.dev/config\":\"{}\"}"
#define RUNC                                                                                       \
	"{\"ociVersion\":\"1.0.2-dev\",\"id\":\"a\",\"status\":\"creating\",\"pid\":7,\"bundle\":" \
	"\"/b\"," ASKS "}"

/* "" : wanted; "-": not wanted; "?": config.json decides; else the error. */
static const struct {
	const char *text, *want;
} states[] = {
	{ RUNC, "" },
	{ "{\"ociVersion\":\"1.0\",\"id\":\"a\",\"pid\":1,\"root\":\"r\",\"bundle\":\"/b\","
	  "\"status\":\"created\"," ASKS "}",
	  "" },
	{ "{\"bundle\":\"/b\"," ASKS "}", "" },
	{ "{\"bundle\":\"/b\",\"annotations\":{\"dns.fairlead.dev/policy\":\"None\"}}", "" },
	{ "{\"bundle\":\"/b\",\"annotations\":{\"io.container.manager\":\"libpod\"}}", "-" },
	{ "{\"bundle\":\"/b\",\"annotations\":{\"dns.fairlead.dev/profile\":\"seed\"}}", "-" },
	{ "{\"annotations\":{\"a\":\"b\"}}", "-" },
	{ "{\"bundle\":7,\"annotations\":{\"a\":\"b\"}}", "-" },
	{ "{\"bundle\":\"/b\",\"annotations\":{\"a\":7}}", "-" },
	{ "{\"bundle\":\"/b\"}", "?" },
	{ "{\"bundle\":\"/b\",\"annotations\":{}}", "?" },
	{ "{\"bundle\":\"/b\",\"annotations\":null}", "?" },
	{ "", "the container's state is no JSON: line 1, column 0: '[' or '{' expected near end of "
	      "file" },
	{ "{",
	  "the container's state is no JSON: line 1, column 1: string or '}' expected near end "
	  "of file" },
	{ "[]", "the container's state is no JSON object" },
	{ RUNC "x",
	  "the container's state is no JSON: line 1, column 125: end of file expected near "
	  "'x'" },
	{ "{\"id\":\"a\\u0000b\"}",
	  "the container's state is no JSON: line 1, column 16: \\u0000 is not "
	  "allowed without JSON_ALLOW_NUL near '\"a\\u0000b\"'" },
	{ "{" ASKS "}", "'bundle' of the container's state is no absolute path" },
	{ "{\"bundle\":\"\"," ASKS "}", "'bundle' of the container's state is no absolute path" },
	{ "{\"bundle\":\"b\"," ASKS "}", "'bundle' of the container's state is no absolute path" },
	{ "{\"bundle\":[\"/b\"]," ASKS "}",
	  "'bundle' of the container's state is no absolute path" },
	{ "{\"annotations\":{}}", "'bundle' of the container's state is no absolute path" },
	{ "{\"bundle\":\"/b\",\"annotations\":[]}",
	  "'annotations' of the container's state is no JSON object" },
	{ "{\"bundle\":\"/b\",\"annotations\":{\"dns.fairlead.dev/config\":{}}}",
	  "the value of annotation dns.fairlead.dev/config is no text" },
	{ "{\"bundle\":\"/b\",\"annotations\":{\"dns.fairlead.dev/policy\":null}}",
	  "the value of annotation dns.fairlead.dev/policy is no text" },
};

static void reads_states(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		struct hook_request request;
		char why[256] = "";
		int r = hook_request_read_state(&request, slice_of(states[i].text), ERR_TEXT(why));
		const char *got = r < 0					? why
				  : hook_request_is_undecided(&request) ? "?"
				  : hook_request_is_wanted(&request)	? ""
									: "-";
		assert_string_equal(got, states[i].want);
		hook_request_done(&request);
	}
}

#define STATE	     "{\"bundle\":\"/b\"," ASKS "}"
#define MOUNTS(list) "{\"mounts\":[" list "]}"
#define MOUNT(source, options)                                                         \
	"{\"destination\":\"/etc/resolv.conf\",\"type\":\"bind\",\"source\":\"" source \
	"\",\"options\":[" options "]}"

/* The source, or the error after "!". */
static const struct {
	const char *text, *want;
} configs[] = {
	{ MOUNTS(MOUNT("/run/x/resolv.conf", "\"rbind\",\"ro\"")), "/run/x/resolv.conf" },
	{ MOUNTS("{\"destination\":\"/proc\",\"type\":\"proc\",\"source\":\"proc\"}," MOUNT(
		  "resolv.conf", "")),
	  "resolv.conf" },
	{ MOUNTS(MOUNT("/first", "") "," MOUNT("/last", "")), "/last" },
	{ MOUNTS("{\"destination\":\"/etc/resolv.conf\",\"source\":\"/"
		 "s\",\"options\":[7,\"bind\"]}"),
	  "/s" },
	{ MOUNTS("{\"destination\":\"/etc/resolv.conf\",\"type\":\"none\",\"source\":\"/s\","
		 "\"options\":[\"rbind\"]}"),
	  "/s" },
	{ MOUNTS("7,null,{},[]," MOUNT("/s", "")), "/s" },
	{ "{}",
	  "!the container has no mount at /etc/resolv.conf: the file there is its image's own" },
	{ "{\"mounts\":{}}",
	  "!the container has no mount at /etc/resolv.conf: the file there is its image's own" },
	{ MOUNTS("{\"destination\":\"/etc/hosts\",\"type\":\"bind\",\"source\":\"/h\"}"),
	  "!the container has no mount at /etc/resolv.conf: the file there is its image's own" },
	{ MOUNTS("{\"destination\":\"/etc/resolv.conf\",\"type\":\"tmpfs\",\"source\":\"tmpfs\"}"),
	  "!the mount at /etc/resolv.conf is no bind mount" },
	{ MOUNTS(MOUNT("", "")), "!the mount at /etc/resolv.conf has no source" },
	{ MOUNTS("{\"destination\":\"/etc/resolv.conf\",\"type\":\"bind\",\"source\":7}"),
	  "!the mount at /etc/resolv.conf has no source" },
	{ "[]", "!config.json is no JSON object" },
	{ "{\"mounts\":",
	  "!config.json is no JSON: line 1, column 10: unexpected token near end of file" },
};

static void finds_the_source(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
		struct hook_request request;
		char why[256] = "!";
		struct err_text err = { why + 1, sizeof(why) - 1 };
		assert_int_equal(hook_request_read_state(&request, SLICE(STATE), err), 0);
		int r = hook_request_read_config(&request, slice_of(configs[i].text), err);
		if (r == 0)
			r = hook_request_find_source(&request, err);
		assert_string_equal(r < 0 ? why : request.source, configs[i].want);
		hook_request_done(&request);
	}
}

#define CRIO	   "\"io.kubernetes.cri-o.SandboxID\""
#define CONTAINERD "\"io.kubernetes.cri.sandbox-id\""
#define MANAGER	   "\"io.container.manager\""

/* The sandbox, "-" for none; with "podman " before it where that made the container. */
static const struct {
	const char *annotations, *want;
} owners[] = {
	{ "", "-" },
	{ CRIO ":\"s\"," MANAGER ":\"cri-o\"", "s" },
	{ CONTAINERD ":\"s\"", "s" },
	{ CRIO ":\"s\"," CONTAINERD ":\"s\"", "s" },
	{ CRIO ":7," CONTAINERD ":\"\"", "-" },
	{ MANAGER ":\"libpod\"", "podman -" },
	{ MANAGER ":\"libpod\"," CRIO ":\"s\"", "podman s" },
	/* containerd, and a pod that says it were podman's */
	{ MANAGER ":\"libpod\"," CONTAINERD ":\"s\"", "s" },
	/* a pod that names another sandbox by the key of the other runtime */
	{ CRIO ":\"s\"," CONTAINERD ":\"other\"",
	  "!annotations io.kubernetes.cri-o.SandboxID and io.kubernetes.cri.sandbox-id name "
	  "different sandboxes" },
};

static void finds_the_owner(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(owners); i++) {
		struct hook_request request;
		struct strbuf config = STRBUF_INIT, got = STRBUF_INIT;
		char why[256] = "";
		strbuf_addf(&config, "{\"annotations\":{%s},\"mounts\":[%s]}",
			    owners[i].annotations, MOUNT("/s", ""));
		assert_int_equal(hook_request_read_state(&request, SLICE(STATE), ERR_TEXT(why)), 0);
		assert_int_equal(
			hook_request_read_config(&request, strbuf_slice(&config), ERR_TEXT(why)),
			0);
		if (hook_request_find_source(&request, ERR_TEXT(why)) < 0)
			strbuf_addf(&got, "!%s", why);
		else
			strbuf_addf(&got, "%s%s", request.by_podman ? "podman " : "",
				    request.sandbox_id != NULL ? request.sandbox_id : "-");
		assert_string_equal(got.s, owners[i].want);
		strbuf_done(&config);
		strbuf_done(&got);
		hook_request_done(&request);
	}
}

static void annotations_of_the_configuration(void **state)
{
	(void)state;
	struct hook_request request;
	char why[256];
	/* Only where the state has none. */
	assert_int_equal(
		hook_request_read_state(&request, SLICE("{\"bundle\":\"/b\"}"), ERR_TEXT(why)), 0);
	assert_int_equal(hook_request_read_config(&request, SLICE("{" ASKS "}"), ERR_TEXT(why)), 0);
	assert_true(hook_request_is_wanted(&request));
	assert_false(hook_request_is_undecided(&request));
	assert_string_equal(request.annotation.config, "{}");
	hook_request_done(&request);

	assert_int_equal(hook_request_read_state(&request, SLICE(STATE), ERR_TEXT(why)), 0);
	assert_int_equal(hook_request_read_config(
				 &request,
				 SLICE("{\"annotations\":{\"dns.fairlead.dev/config\":\"other\","
				       "\"dns.fairlead.dev/policy\":\"None\"}}"),
				 ERR_TEXT(why)),
			 0);
	assert_string_equal(request.annotation.config, "{}");
	assert_null(request.annotation.policy);
	hook_request_done(&request);

	assert_int_equal(
		hook_request_read_state(&request, SLICE("{\"bundle\":\"/b\"}"), ERR_TEXT(why)), 0);
	assert_int_equal(hook_request_read_config(&request, SLICE("{}"), ERR_TEXT(why)), 0);
	assert_false(hook_request_is_wanted(&request));
	hook_request_done(&request);
}

static void deep_nesting_is_refused(void **state)
{
	(void)state;
	struct hook_request request;
	struct strbuf text = STRBUF_INIT;
	char why[256] = "";
	for (int i = 0; i < 100000; i++)
		strbuf_adds(&text, "{\"a\":");
	assert_true(hook_request_read_state(&request, strbuf_slice(&text), ERR_TEXT(why)) < 0);
	assert_non_null(strstr(why, "maximum parsing depth reached"));
	hook_request_done(&request);
	strbuf_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_states),
		cmocka_unit_test(finds_the_source),
		cmocka_unit_test(finds_the_owner),
		cmocka_unit_test(annotations_of_the_configuration),
		cmocka_unit_test(deep_nesting_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshots: objects that come back as they were, and files that are anything else. */
#include "plugin/kubernetes/objects/snapshot.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/kind.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/readfile.h"
#include "kube/decode/compact.h"
#include "kube/decode/string_pool_test.h"
#include "kube/decode/tree.h"
#include "plugin/kubernetes/objects/snapshot_object.h"

static char folder[] = "/tmp/test_snapshot.XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return 1;
	snprintf(path, sizeof(path), "%s/snapshot", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

/* ---- objects ---- */

static const struct {
	enum kubernetes_kind kind;
	const char *json;
} objects[] = {
	{ KUBERNETES_SERVICES,
	  "{\"kind\":\"Service\",\"metadata\":{\"name\":\"s\",\"namespace\":\"n\","
	  "\"resourceVersion\":\"7\"},\"spec\":{\"type\":\"LoadBalancer\",\"clusterIPs\":"
	  "[\"10.0.0.1\",\"fd00::1\"],\"externalIPs\":[\"192.0.2.1\"],\"ports\":[{\"name\":\"a\","
	  "\"protocol\":\"TCP\",\"port\":80},{\"protocol\":\"UDP\",\"port\":53}]},\"status\":"
	  "{\"loadBalancer\":{\"ingress\":[{\"hostname\":\"lb.test\"},{\"ip\":\"192.0.2.2\"}]}}}" },
	{ KUBERNETES_SERVICES,
	  "{\"kind\":\"Service\",\"metadata\":{\"name\":\"h\",\"namespace\":\"n\"},\"spec\":"
	  "{\"clusterIP\":\"None\"}}" },
	{ KUBERNETES_SERVICES,
	  "{\"kind\":\"Service\",\"metadata\":{\"name\":\"e\",\"namespace\":\"n\"},\"spec\":{"
	  "\"type\":\"ExternalName\",\"externalName\":\"x\\\"\\\\\\u0001.test\"}}" },
	{ KUBERNETES_SLICES,
	  "{\"kind\":\"EndpointSlice\",\"metadata\":{\"name\":\"s-1\",\"namespace\":\"n\","
	  "\"labels\":{\"kubernetes.io/service-name\":\"s\"}},\"endpoints\":[{\"addresses\":"
	  "[\"10.1.0.1\",\"10.1.0.2\"],\"hostname\":\"a\",\"targetRef\":{\"name\":\"pod\"},"
	  "\"nodeName\":\"node\",\"zone\":\"z\"},{\"addresses\":[\"10.1.0.3\"]}],\"ports\":["
	  "{\"name\":\"a\",\"protocol\":\"TCP\",\"port\":80}]}" },
	{ KUBERNETES_SLICES,
	  "{\"kind\":\"EndpointSlice\",\"metadata\":{\"name\":\"s-2\",\"namespace\":\"n\"}}" },
	{ KUBERNETES_NAMESPACES,
	  "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"n\",\"annotations\":{"
	  "\"dns.fairlead.dev/search\":\"a b\",\"dns.fairlead.dev/search-lists\":\"c; d e\"}}}" },
	{ KUBERNETES_NAMESPACES,
	  "{\"kind\":\"Namespace\",\"metadata\":{\"name\":\"m\",\"annotations\":{"
	  "\"dns.fairlead.dev/search-lists\":\"c\"}}}" },
	{ KUBERNETES_PODS,
	  "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"labels\":{\"a\":"
	  "\"b\",\"c\":\"\"}},\"spec\":{\"hostNetwork\":true},\"status\":{\"podIPs\":[{\"ip\":"
	  "\"10.2.0.1\"},{\"ip\":\"fd00::2\"}]}}" },
	{ KUBERNETES_PODS, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"q\",\"namespace\":\"n\"}}" },
	{ KUBERNETES_IMPORTS,
	  "{\"kind\":\"ServiceImport\",\"metadata\":{\"name\":\"i\",\"namespace\":\"n\"},\"spec\":"
	  "{\"type\":\"ClusterSetIP\",\"ips\":[\"10.3.0.1\",\"fd00::3\"],\"ports\":[{\"name\":"
	  "\"a\","
	  "\"protocol\":\"TCP\",\"port\":80}]}}" },
	{ KUBERNETES_IMPORTS,
	  "{\"kind\":\"ServiceImport\",\"metadata\":{\"name\":\"j\",\"namespace\":\"n\"},\"spec\":"
	  "{\"type\":\"Headless\"}}" },
	{ KUBERNETES_IMPORTED_SLICES,
	  "{\"kind\":\"EndpointSlice\",\"metadata\":{\"name\":\"j-1\",\"namespace\":\"n\","
	  "\"labels\":{\"multicluster.kubernetes.io/service-name\":\"j\","
	  "\"multicluster.kubernetes.io/source-cluster\":\"far\"}},\"endpoints\":[{\"addresses\":"
	  "[\"10.3.1.1\"]}],\"ports\":[{\"name\":\"a\",\"protocol\":\"TCP\",\"port\":80}]}" },
};

struct codecs {
	struct kube_string_pool *texts;
	struct kube_codec *v[KUBERNETES_KINDS];
};

static void codecs_init(struct codecs *c)
{
	static const char *const paths[] = { "metadata.annotations" };
	c->texts = kube_string_pool_new();
	c->v[KUBERNETES_SERVICES] = kube_service_codec(c->texts);
	c->v[KUBERNETES_SLICES] = kube_slice_codec(c->texts, KUBE_SLICE_ZONES | KUBE_SLICE_TARGETS);
	c->v[KUBERNETES_PODS] = kube_pod_codec(c->texts);
	c->v[KUBERNETES_IMPORTS] = kube_import_codec(c->texts);
	c->v[KUBERNETES_IMPORTED_SLICES] = kube_imported_slice_codec(c->texts, KUBE_SLICE_TARGETS);
	c->v[KUBERNETES_NAMESPACES] =
		kube_tree_codec(api_kind_find("", "Namespace"), paths, ARRAY_LEN(paths));
}

static void codecs_done(struct codecs *c)
{
	for (size_t i = 0; i < ARRAY_LEN(c->v); i++)
		kube_codec_free(c->v[i]);
	assert_int_equal(kube_string_pool_count(c->texts), 0);
	kube_string_pool_free(c->texts);
}

static void add_all(struct codecs *c, struct strbuf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
		struct kube_codec *codec = c->v[objects[i].kind];
		struct kube_obj *o;
		assert_int_equal(codec->decode(codec, slice_of(objects[i].json), &o), 0);
		kubernetes_snapshot_add(out, objects[i].kind, o);
		kube_obj_unref(o);
	}
}

struct again {
	struct codecs *c;
	struct strbuf out;
	size_t n;
};

static bool write_again(void *ctx, enum kubernetes_kind kind, struct slice json)
{
	struct again *a = ctx;
	struct kube_obj *o;
	assert_int_equal(kind, objects[a->n++].kind);
	assert_int_equal(a->c->v[kind]->decode(a->c->v[kind], json, &o), 0);
	kubernetes_snapshot_add(&a->out, kind, o);
	kube_obj_unref(o);
	return true;
}

/* Written, read and written again: the same bytes, with all that was in the objects. */
static void objects_come_back(void **state)
{
	(void)state;
	struct codecs c;
	struct again a = { .c = &c, .out = STRBUF_INIT };
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf file = STRBUF_INIT;
	struct stat st;
	char err[128];
	codecs_init(&c);
	add_all(&c, &lines);
	static const char *const words[] = {
		"lb.test",  "192.0.2.2",    "\"None\"", "x\\\"\\\\\\u0001.test",
		"10.1.0.3", "fd00::2",	    "a b",	"\"hostNetwork\":true",
		"10.3.0.1", "\"Headless\"", "\"far\"",	"10.3.1.1"
	};
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strstr(lines.s, words[i]) == NULL)
			fail_msg("%s is not in %s", words[i], lines.s);
	}
	assert_int_equal(kubernetes_snapshot_write(path, slice_of("here"), strbuf_slice(&lines)),
			 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(readfile_path(path, 1 << 20, 0, &file), 0);
	assert_int_equal(kubernetes_snapshot_parse(strbuf_slice(&file), slice_of("here"),
						   write_again, &a, ERR_TEXT(err)),
			 0);
	assert_int_equal(a.n, ARRAY_LEN(objects));
	assert_string_equal(a.out.s, lines.s);
	strbuf_done(&a.out);
	codecs_done(&c);
}

/* ---- files ---- */

static bool never(void *ctx, enum kubernetes_kind kind, struct slice json)
{
	(void)ctx;
	(void)kind;
	(void)json;
	fail();
	return false;
}

static void good_file(struct strbuf *file, const char *lines)
{
	assert_int_equal(kubernetes_snapshot_write(path, slice_of("here"), slice_of(lines)), 0);
	assert_int_equal(readfile_path(path, 1 << 20, 0, file), 0);
}

/* Cut anywhere, or with one byte changed anywhere, it is not used. */
static void torn(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf file = STRBUF_INIT;
	char err[128];
	good_file(&file, "N {\"metadata\":{\"name\":\"n\"}}\n");
	for (size_t i = 0; i < file.n; i++)
		assert_true(kubernetes_snapshot_parse((struct slice){ file.s, i }, slice_of("here"),
						      never, NULL, ERR_TEXT(err)) < 0);
	for (size_t i = 0; i < file.n; i++) {
		file.s[i] ^= 1;
		assert_true(kubernetes_snapshot_parse(strbuf_slice(&file), slice_of("here"), never,
						      NULL, ERR_TEXT(err)) < 0);
		file.s[i] ^= 1;
	}
}

static void refused(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf file = STRBUF_INIT;
	static const struct {
		const char *lines, *source, *error;
	} rows[] = {
		{ "X {}\n", "here", "a line is not an object" },
		{ "N\n", "here", "a line is not an object" },
		{ "\n", "here", "a line is not an object" },
		{ "N {}\n", "elsewhere", "it is of another configuration" },
	};
	char err[128];
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		strbuf_reset(&file);
		good_file(&file, rows[i].lines);
		assert_true(kubernetes_snapshot_parse(strbuf_slice(&file), slice_of(rows[i].source),
						      never, NULL, ERR_TEXT(err)) < 0);
		assert_string_equal(err, rows[i].error);
	}
	assert_int_equal(kubernetes_snapshot_parse(slice_of("fairlead-kubernetes 2 x\n"),
						   slice_of("here"), never, NULL, ERR_TEXT(err)),
			 ERR_PARSE);
	assert_string_equal(err, "it is of another version");
	assert_int_equal(kubernetes_snapshot_parse(
				 (struct slice){ "x", (size_t)KUBERNETES_SNAPSHOT_BYTES + 1 },
				 slice_of("here"), never, NULL, ERR_TEXT(err)),
			 ERR_LIMIT);
}

static void line_too_long(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf file = STRBUF_INIT;
	char err[128];
	strbuf_adds(&lines, "N ");
	while (lines.n <= KUBERNETES_SNAPSHOT_LINE)
		strbuf_adds(&lines,
			    "................................................................");
	assert_int_equal(kubernetes_snapshot_write(path, slice_of("here"), strbuf_slice(&lines)),
			 0);
	assert_int_equal(readfile_path(path, 16 << 20, 0, &file), 0);
	assert_int_equal(kubernetes_snapshot_parse(strbuf_slice(&file), slice_of("here"), never,
						   NULL, ERR_TEXT(err)),
			 ERR_LIMIT);
}

/* Without room for the new file the old one stays, and nothing is left behind (rmdir in the end).
 */
static void no_room(void **state)
{
	(void)state;
	CLEANUP(strbuf_done) struct strbuf before = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf after = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf lines = STRBUF_INIT;
	struct rlimit old, small = { 4096, 4096 };
	good_file(&before, "N {}\n");
	for (int i = 0; i < 10000; i++)
		strbuf_adds(&lines, "N {}\n");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	int r = kubernetes_snapshot_write(path, slice_of("here"), strbuf_slice(&lines));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(r, -EFBIG);
	assert_int_equal(readfile_path(path, 1 << 20, 0, &after), 0);
	assert_string_equal(before.s, after.s);
	assert_int_equal(kubernetes_snapshot_write("/nowhere/x", slice_of("here"), slice_of("")),
			 -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_come_back), cmocka_unit_test(torn),
		cmocka_unit_test(refused),	     cmocka_unit_test(line_too_long),
		cmocka_unit_test(no_room),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

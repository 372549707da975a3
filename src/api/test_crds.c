/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CRDs in deploy/crds: they, the table of kinds and docs/reference/kinds.md say the same; their
 * schemas and rules compile here; the objects of tests/kube/objects pass, and for objects that do
 * not we say what a real API server said (test_product.json). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/kind.h"
#include "api/meta.h"
#include "api/schema/test_schema.h"
#include "api/yaml/yaml.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/readfile.h"

#define ROOT SOURCE_DIR "/../../"

static void read_all(const char *path, struct strbuf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	assert_int_equal(readfile_fd(fd, 1 << 20, out), 0);
	close(fd);
}

static json_t *load_crd(const struct api_kind *k)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT, path = STRBUF_INIT;
	struct srcerr err = { 0 };
	json_t *crd;
	strbuf_addf(&path, ROOT "deploy/crds/%s_%s.yaml", k->group, k->plural);
	read_all(path.s, &text);
	if (api_yaml_parse_one(path.s, strbuf_slice(&text), &crd, &err) < 0)
		fail_msg("%s: %s", path.s, err.text);
	return crd;
}

static void add_short_names(struct strbuf *out, const json_t *crd)
{
	const json_t *list = api_get(crd, "spec.names.shortNames");
	for (size_t i = 0; i < json_array_size(list); i++)
		strbuf_addf(out, "%s%s", i != 0 ? " " : "",
			    json_string_value(json_array_get(list, i)));
}

/* The stored version; the others that are served go into `others`. */
static const json_t *versions(const json_t *crd, struct strbuf *others)
{
	const json_t *list = api_get(crd, "spec.versions"), *stored = NULL;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *v = json_array_get(list, i);
		assert_true(json_is_true(json_object_get(v, "served")));
		if (json_is_true(json_object_get(v, "storage"))) {
			assert_null(stored);
			stored = v;
		} else {
			strbuf_addf(others, "%s%s", others->n != 0 ? " " : "",
				    api_get_string(v, "name"));
		}
	}
	assert_non_null(stored);
	return stored;
}

static void crd_is_row(const struct api_kind *k, struct strbuf *others)
{
	CLEANUP(strbuf_done) struct strbuf shorts = STRBUF_INIT;
	json_t *crd = load_crd(k);
	const json_t *stored = versions(crd, others);
	add_short_names(&shorts, crd);
	assert_string_equal(api_get_string(crd, "spec.group"), k->group);
	assert_string_equal(api_get_string(crd, "spec.names.kind"), k->kind);
	assert_string_equal(api_get_string(crd, "spec.names.plural"), k->plural);
	assert_string_equal(api_get_string(crd, "spec.names.singular"), k->singular);
	assert_string_equal(api_get_string(crd, "spec.scope"),
			    k->namespaced ? "Namespaced" : "Cluster");
	assert_string_equal(api_get_string(stored, "name"), k->version);
	assert_string_equal(shorts.s, k->shorts);
	assert_int_equal(api_get(stored, "subresources.status") != NULL, k->status);
	json_decref(crd);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;
	for (const char *p = text; (p = strstr(p, what)) != NULL; p += strlen(what))
		n++;
	return n;
}

/* A cell of the table: "| text ", or "| " when there is none. */
static void add_cell(struct strbuf *line, const char *text)
{
	strbuf_addf(line, "| %s%s", text, text[0] != '\0' ? " " : "");
}

static void three_places_agree(void **state)
{
	CLEANUP(strbuf_done) struct strbuf page = STRBUF_INIT;
	(void)state;
	read_all(ROOT "docs/reference/kinds.md", &page);
	for (size_t i = 0; i < api_n_kinds; i++) {
		CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT, others = STRBUF_INIT;
		const struct api_kind *k = &api_kinds[i];
		if (k->ours)
			crd_is_row(k, &others);
		strbuf_addc(&line, '\n');
		add_cell(&line, k->kind);
		add_cell(&line, k->group[0] != '\0' ? k->group : "core");
		add_cell(&line, k->version);
		if (k->ours)
			add_cell(&line, others.s);
		add_cell(&line, k->plural);
		add_cell(&line, k->shorts);
		add_cell(&line, k->namespaced ? "namespace" : "cluster");
		add_cell(&line, k->status ? "yes" : "no");
		strbuf_adds(&line, "|\n");
		if (strstr(page.s, line.s) == NULL)
			fail_msg("docs/reference/kinds.md has no line%s", line.s);
	}
	/* Two tables of two lines each without a kind. */
	assert_int_equal(count(page.s, "\n| "), api_n_kinds + 2);
}

/* Every served version of the CRD, by "Kind.group/version". */
static void add_schemas(struct test_table *t, const struct api_kind *k)
{
	json_t *crd = load_crd(k);
	const json_t *list = api_get(crd, "spec.versions");
	for (size_t i = 0; i < json_array_size(list); i++) {
		CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT;
		const json_t *schema = api_get(json_array_get(list, i), "schema.openAPIV3Schema");
		const char *version = api_get_string(json_array_get(list, i), "name");
		char err[512] = "";
		struct api_schema *s = NULL;
		if (api_schema_new(schema, &s, ERR_TEXT(err)) < 0)
			fail_msg("%s %s: %s", k->kind, version, err);
		strbuf_addf(&key, "%s.%s/%s", k->kind, k->group, version);
		map_set(&t->schemas, strbuf_slice(&key), s);
	}
	json_decref(crd);
}

static void load_product(struct test_table *t)
{
	test_table_load(t, SOURCE_DIR "/test_product.json");
	for (size_t i = 0; i < api_n_kinds; i++) {
		if (api_kinds[i].ours)
			add_schemas(t, &api_kinds[i]);
	}
}

static void recorded_answers(void **state)
{
	struct test_table t;
	(void)state;
	load_product(&t);
	assert_int_equal(t.schemas.n, 15 + 4); /* two kinds in two older versions each */
	test_table_rows(&t, 150);
	test_table_done(&t);
}

/* Preparing takes nothing away, and nothing is wrong. 1 when it was of a kind of ours. */
static size_t object_passes(const struct test_table *t, json_t *o)
{
	CLEANUP(strbuf_done) struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;
	const struct api_kind *k = api_kind_of(o);
	struct api_errors errs = { 0 };
	assert_non_null(k);
	if (!k->ours)
		return 0;
	strbuf_addf(&key, "%s.%s/%s", k->kind, k->group, strrchr(api_version(o), '/') + 1);
	const struct api_schema *s = map_get(&t->schemas, strbuf_slice(&key));
	assert_non_null(s);
	json_t *before = json_deep_copy(o);
	api_schema_prepare(s, o);
	json_object_update_recursive(before, o); /* what was pruned would still be in `before` */
	assert_true(json_equal(before, o));
	json_decref(before);
	api_schema_validate(s, o, NULL, &errs);
	api_errors_text(&errs, k->kind, api_name(o), &text);
	if (errs.n != 0)
		fail_msg("%s", text.s);
	api_errors_done(&errs);
	return 1;
}

static void objects_pass(void **state)
{
	struct test_table t;
	size_t n = 0;
	DIR *d = opendir(ROOT "tests/kube/objects");
	(void)state;
	load_product(&t);
	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d)) != NULL;) {
		CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT, text = STRBUF_INIT;
		struct api_docs docs;
		struct srcerr err = { 0 };
		if (e->d_name[0] == '.')
			continue;
		strbuf_addf(&path, ROOT "tests/kube/objects/%s", e->d_name);
		read_all(path.s, &text);
		assert_int_equal(api_yaml_parse(path.s, strbuf_slice(&text), &docs, &err), 0);
		for (size_t i = 0; i < docs.n; i++)
			n += object_passes(&t, docs.v[i]);
		api_docs_done(&docs);
	}
	closedir(d);
	assert_true(n >= 20);
	test_table_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_places_agree),
		cmocka_unit_test(recorded_answers),
		cmocka_unit_test(objects_pass),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead get`: shows objects, as a table the server makes, or whole as YAML or JSON. */
#include "cmd/objects/get.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/meta.h"
#include "api/tree.h"
#include "api/yaml/yaml.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/kubecli.h"

enum { PAGE = 500, GAP = 3, HTTP_OK = 200 };

enum output { OUT_TABLE, OUT_WIDE, OUT_YAML, OUT_JSON, OUT_NAME };
static const char *const output_words[] = { "table", "wide", "yaml", "json", "name" };
static const char table_types[] = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

struct get {
	struct kubecli cli;
	const char *selector, *fields, *output;
	bool all, managed;
	enum output form;
	json_t *items; /* of all that was asked: objects, or Tables */
	bool listed;   /* a whole kind was asked for */
};

static void add_arg(struct strbuf *path, const char *name, const char *value)
{
	if (value == NULL)
		return;
	strbuf_addf(path, "%s%s=", strchr(path->s, '?') != NULL ? "&" : "?", name);
	strbuf_add_url(path, slice_of(value));
}

static bool wants_table(const struct get *get)
{
	return get->form == OUT_TABLE || get->form == OUT_WIDE;
}

/* An answer of either form. */
static int request_path(struct get *get, const char *path, json_t **ret, struct kube_status *st)
{
	int r = kube_call(get->cli.conn,
			  &(struct kube_request){ .method = "GET",
						  .path = path,
						  .accept = wants_table(get) ? table_types : NULL },
			  ret, st);
	if (r < 0 || api_kind(*ret)[0] != '\0')
		return r;
	json_decref(*ret);
	*ret = NULL;
	st->code = HTTP_OK;
	snprintf(st->message, sizeof(st->message), "the response is not an API object");
	return ERR_PARSE;
}

/* Prints the error, if any; true when there was none. */
static bool report_status(struct get *get, int ret, const char *what, struct kube_status *st)
{
	if (ret < 0)
		kubecli_say_status(&get->cli, what, st);
	kube_status_done(st);
	return ret >= 0;
}

/* One page behind `next`. Large objects may make it longer than an answer may be: then a shorter
 * one. */
static int get_page(struct get *get, const struct api_kind *kind, const char *next, unsigned *limit,
		    json_t **ret, struct kube_status *st)
{
	int r;
	do {
		CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
		api_kind_path(&path, kind, get->all ? NULL : kubecli_ns(&get->cli, kind), NULL,
			      NULL);
		strbuf_addf(&path, "?limit=%u", *limit);
		add_arg(&path, "labelSelector", get->selector);
		add_arg(&path, "fieldSelector", get->fields);
		add_arg(&path, "continue", next[0] != '\0' ? next : NULL);
		kube_status_done(st);
		r = request_path(get, path.s, ret, st);
		*limit /= r == ERR_LIMIT ? 4 : 1;
	} while (r == ERR_LIMIT && *limit > 0);
	return r;
}

static bool get_list(struct get *get, const struct api_kind *kind)
{
	CLEANUP(strbuf_done) struct strbuf next = STRBUF_INIT;
	unsigned limit = PAGE;
	get->listed = true;
	do {
		json_t *page = NULL;
		struct kube_status st = { 0 };
		int r = get_page(get, kind, next.s, &limit, &page, &st);
		if (!report_status(get, r, kind->plural, &st))
			return false;
		json_t *items = json_object_get(page, "items");
		if (strcmp(api_kind(page), "Table") == 0 || items == NULL)
			json_array_append(get->items, page);
		else
			json_array_extend(get->items, items);
		CLEANUP(freep) char *sent = xstrdup(next.s);
		strbuf_reset(&next);
		strbuf_adds(&next, api_get_string(page, "metadata.continue"));
		json_decref(page);
		if (next.n != 0 && strcmp(next.s, sent) == 0) {
			kubecli_say(&get->cli, "%s: the list does not end", kind->plural);
			return false;
		}
	} while (next.n != 0);
	return true;
}

static bool get_one(void *ctx, const struct api_kind *kind, const char *name)
{
	struct get *g = ctx;
	if (name == NULL)
		return get_list(g, kind);
	CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf what = STRBUF_INIT;
	struct kube_status st = { 0 };
	json_t *o = NULL;
	api_kind_path(&path, kind, kubecli_ns(&g->cli, kind), name, NULL);
	kubecli_name(&what, kind, name);
	if (!report_status(g, request_path(g, path.s, &o, &st), what.s, &st))
		return false;
	json_array_append_new(g->items, o);
	return true;
}

/* ---- tables ---- */

struct line {
	VEC(char *) cells;
};

struct table {
	VEC(struct line) lines;
	VEC(size_t) widths;
};

/* Control characters in an object must not reach the terminal of the user who prints it. */
static char *cell_text(const json_t *value)
{
	if (!json_is_string(value))
		return value == NULL || json_is_null(value) ? xstrdup("")
							    : json_dumps(value, JSON_ENCODE_ANY);
	char *text = xstrdup(api_text(value));
	for (char *p = text; *p != '\0'; p++)
		*p = (unsigned char)*p < ' ' || *p == 0x7f ? ' ' : *p;
	return text;
}

/* The columns it needs on a terminal: characters, not bytes. */
static size_t width_of(const char *text)
{
	size_t n = 0;
	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void put_cell(struct table *table, struct line *line, char *text)
{
	size_t i = line->cells.n;
	vec_push(&line->cells, text);
	if (i == table->widths.n)
		vec_push(&table->widths, 0);
	table->widths.v[i] = MAX(table->widths.v[i], width_of(text));
}

static void add_head(const struct get *get, struct table *table, const json_t *columns)
{
	struct line *l = vec_add(&table->lines);
	size_t i;
	const json_t *c;
	if (get->all)
		put_cell(table, l, xstrdup("NAMESPACE"));
	json_array_foreach (api_tree(columns), i, c) {
		if (get->form != OUT_WIDE &&
		    json_integer_value(json_object_get(c, "priority")) != 0)
			continue;
		char *name = cell_text(json_object_get(c, "name"));
		for (char *p = name; *p != '\0'; p++)
			*p = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
		put_cell(table, l, name);
	}
}

static void add_row(const struct get *get, struct table *table, const json_t *columns,
		    const json_t *row)
{
	struct line *l = vec_add(&table->lines);
	size_t i;
	const json_t *c;
	if (get->all)
		put_cell(table, l, xstrdup(api_get_string(row, "object.metadata.namespace")));
	json_array_foreach (json_object_get(row, "cells"), i, c) {
		const json_t *column = json_array_get(columns, i);
		if (get->form == OUT_WIDE ||
		    json_integer_value(json_object_get(column, "priority")) == 0)
			put_cell(table, l, cell_text(c));
	}
}

/* A server that makes no tables sent the object itself. */
static void add_plain(const struct get *get, struct table *table, const json_t *object)
{
	if (table->lines.n == 0) {
		struct line *head = vec_add(&table->lines);
		if (get->all)
			put_cell(table, head, xstrdup("NAMESPACE"));
		put_cell(table, head, xstrdup("NAME"));
	}
	struct line *l = vec_add(&table->lines);
	if (get->all)
		put_cell(table, l, xstrdup(api_namespace(object)));
	put_cell(table, l, xstrdup(api_name(object)));
}

static void print_table(struct table *table)
{
	for (size_t i = 0; i < table->lines.n; i++) {
		struct line *l = &table->lines.v[i];
		for (size_t c = 0; c < l->cells.n; c++) {
			size_t pad = table->widths.v[c] - width_of(l->cells.v[c]) + GAP;
			bool last = c + 1 == l->cells.n;
			printf("%s%*s", l->cells.v[c], last ? 0 : (int)pad, "");
			free(l->cells.v[c]);
		}
		putchar('\n');
		vec_done(&l->cells);
	}
	vec_done(&table->lines);
	vec_done(&table->widths);
}

/* Tables of one kind follow each other under one head. */
static void show_tables(const struct get *get)
{
	struct table t = { 0 };
	const json_t *item, *row, *head = NULL;
	size_t i, j;
	json_array_foreach (get->items, i, item) {
		const json_t *columns = json_object_get(item, "columnDefinitions");
		if (strcmp(api_kind(item), "Table") != 0) {
			add_plain(get, &t, item);
			continue;
		}
		if (json_array_size(json_object_get(item, "rows")) == 0)
			continue;
		if (json_array_size(columns) != 0 && !json_equal(columns, head)) {
			if (head != NULL) {
				print_table(&t);
				putchar('\n');
			}
			head = columns;
			add_head(get, &t, columns);
		}
		json_array_foreach (json_object_get(item, "rows"), j, row)
			add_row(get, &t, head, row);
	}
	if (t.lines.n == 0)
		fprintf(stderr, "no objects found\n");
	print_table(&t);
}

/* ---- whole objects ---- */

static void show_names(const struct get *get)
{
	const json_t *o;
	size_t i;
	json_array_foreach (get->items, i, o) {
		const struct api_kind *k = api_kind_of(o);
		CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
		if (k != NULL)
			kubecli_name(&b, k, api_name(o));
		printf("%s\n", b.n != 0 ? b.s : api_name(o));
	}
}

static void show_objects(const struct get *get)
{
	json_t *all = !get->listed && json_array_size(get->items) == 1
			      ? json_incref(json_array_get(get->items, 0))
			      : json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List",
					  "items", get->items);
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	if (get->form == OUT_YAML) {
		api_yaml_write(&b, all);
	} else {
		CLEANUP(freep) char *text = json_dumps(all, JSON_INDENT(4));
		strbuf_addf(&b, "%s\n", text);
	}
	fwrite(b.s, 1, b.n, stdout);
	json_decref(all);
}

/* Items of a list of a built-in kind carry neither. */
static void name_kinds(json_t *items, const struct api_kind *kind)
{
	json_t *o;
	size_t i;
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	api_kind_api_version(&version, kind);
	json_array_foreach (items, i, o) {
		if (api_kind(o)[0] == '\0') {
			json_object_set_new(o, "kind", json_string(kind->kind));
			json_object_set_new(o, "apiVersion", json_string(version.s));
		}
	}
}

static void hide_managed(const json_t *items)
{
	const json_t *o;
	size_t i;
	json_array_foreach (api_tree(items), i, o)
		json_object_del(json_object_get(o, "metadata"), "managedFields");
}

static bool choose_form(struct get *get)
{
	if (get->output == NULL)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(output_words); i++) {
		if (strcmp(get->output, output_words[i]) == 0) {
			get->form = (enum output)i;
			return true;
		}
	}
	kubecli_say(&get->cli, "-o: expected table, wide, yaml, json or name, got '%s'",
		    get->output);
	return false;
}

static int print_objects(struct get *get, const struct flag_values *args)
{
	if (!kubecli_open(&get->cli))
		return EXIT_FAILED;
	get->items = json_array();
	bool ok = kubecli_each(&get->cli, args, get_one, get);
	if (get->listed && !wants_table(get))
		name_kinds(get->items, kubecli_kind(&get->cli, args->v[0]));
	if (!get->managed)
		hide_managed(get->items);
	if (wants_table(get) && (ok || json_array_size(get->items) != 0))
		show_tables(get);
	else if (get->form == OUT_NAME)
		show_names(get);
	else if (ok || json_array_size(get->items) != 0)
		show_objects(get);
	json_decref(get->items);
	return kubecli_flush(&get->cli, ok ? EXIT_DONE : EXIT_FAILED);
}

int cmd_get(int argc, char **argv)
{
	struct get g = { .cli.verb = "get" };
	const struct flag flags[] = {
		KUBECLI_FLAGS(&g.cli),
		FLAG_SWITCH("A", &g.all, "all namespaces"),
		FLAG_VALUE("l", &g.selector, "SELECTOR", "by labels: app=web,tier!=old"),
		FLAG_VALUE("field-selector", &g.fields, "SELECTOR", "by fields: metadata.name=x"),
		FLAG_VALUE("o", &g.output, "FORM", "table, wide, yaml, json or name"),
		FLAG_SWITCH("show-managed-fields", &g.managed,
			    "include metadata.managedFields in yaml and json"),
	};
	char why[256] = "";
	struct flag_values args = { 0 };
	int status = EXIT_USAGE;
	int r = flags_parse_mixed(flags, ARRAY_LEN(flags), argc, argv, &args, ERR_TEXT(why));
	if (r == -2) {
		printf("usage: fairlead get KIND [NAME...] | KIND/NAME... [FLAGS]\n\n"
		       "Shows objects of an API server, or of `fairlead up`.\n\nflags:\n");
		flags_help(flags, ARRAY_LEN(flags), stdout);
		status = EXIT_DONE;
	} else if (r < 0) {
		kubecli_say(&g.cli, "%s\nTry `fairlead get --help`.", why);
	} else if (args.n == 0) {
		kubecli_say(&g.cli, "no kind: use for example `fairlead get services`");
	} else if (g.all && (args.n > 1 || strchr(args.v[0], '/') != NULL)) {
		kubecli_say(&g.cli, "-A lists all objects of a kind; use -n with a name");
	} else if (choose_form(&g)) {
		status = print_objects(&g, &args);
	}
	kubecli_close(&g.cli);
	vec_done(&args);
	return status;
}

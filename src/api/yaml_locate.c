/* Where a field stands in the text: the events once more, with the path so far beside them. */
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "api/yaml.h"
#include "base/mem.h"
#include "base/strbuf.h"

struct level {
	bool is_list;
	size_t index;  /* list: of the element that comes next */
	bool have_key; /* mapping: the value comes next */
	size_t path_n; /* length of the path of this node */
};

struct finder {
	const char *want;
	size_t best; /* characters of the path found so far; SIZE_MAX at first: nothing */
	struct srcpos *ret;
	const char *file;
	struct strbuf path; /* of the node that comes next */
	struct level level[API_YAML_DEPTH_MAX];
	unsigned depth;
	bool broken; /* nested too deeply to go on */
};

/* Is what was found a whole part of what is wanted, up to a dot or bracket? */
static bool leads_to(const struct finder *f)
{
	size_t n = f->path.n;
	if (n == 0)
		return true;
	return strncmp(f->want, f->path.s, n) == 0 &&
	       (f->want[n] == '\0' || f->want[n] == '.' || f->want[n] == '[');
}

static void visit(struct finder *f, const yaml_event_t *e)
{
	if (!leads_to(f) || (f->best != SIZE_MAX && f->path.n <= f->best))
		return;
	f->best = f->path.n;
	*f->ret = (struct srcpos){ f->file, (uint32_t)e->start_mark.line + 1,
				   (uint32_t)e->start_mark.column + 1 };
}

static void cut(struct finder *f, size_t n)
{
	f->path.n = n;
	if (f->path.cap != 0)
		f->path.s[n] = '\0';
}

/* The path of the node that comes next in this level. */
static void enter_child(struct finder *f)
{
	struct level *l = f->depth != 0 ? &f->level[f->depth - 1] : NULL;
	if (l == NULL || !l->is_list)
		return;
	cut(f, l->path_n);
	strbuf_addf(&f->path, "[%zu]", l->index++);
}

static void leave_child(struct finder *f)
{
	struct level *l = f->depth != 0 ? &f->level[f->depth - 1] : NULL;
	if (l == NULL)
		return;
	cut(f, l->path_n);
	l->have_key = false;
}

/* A key: the place of a field is its key's. */
static void on_key(struct finder *f, const yaml_event_t *e)
{
	struct level *l = &f->level[f->depth - 1];
	cut(f, l->path_n);
	if (f->path.n != 0)
		strbuf_addc(&f->path, '.');
	strbuf_add(&f->path, e->data.scalar.value, e->data.scalar.length);
	l->have_key = true;
	visit(f, e);
}

static bool at_key(const struct finder *f)
{
	return f->depth != 0 && !f->level[f->depth - 1].is_list && !f->level[f->depth - 1].have_key;
}

static void open_level(struct finder *f, const yaml_event_t *e, bool is_list)
{
	enter_child(f);
	visit(f, e);
	if (f->depth == API_YAML_DEPTH_MAX) {
		f->broken = true;
		return;
	}
	f->level[f->depth++] = (struct level){ .is_list = is_list, .path_n = f->path.n };
}

static void on_event(struct finder *f, const yaml_event_t *e)
{
	if (e->type == YAML_MAPPING_START_EVENT || e->type == YAML_SEQUENCE_START_EVENT) {
		open_level(f, e, e->type == YAML_SEQUENCE_START_EVENT);
	} else if (e->type == YAML_MAPPING_END_EVENT || e->type == YAML_SEQUENCE_END_EVENT) {
		f->depth--;
		leave_child(f);
	} else if (e->type == YAML_SCALAR_EVENT && at_key(f)) {
		on_key(f, e);
	} else if (e->type == YAML_SCALAR_EVENT || e->type == YAML_ALIAS_EVENT) {
		enter_child(f);
		visit(f, e);
		leave_child(f);
	}
}

bool api_yaml_locate(const char *file, struct slice text, unsigned index, const char *path,
		     struct srcpos *ret)
{
	yaml_parser_t parser;
	struct finder *f = xcalloc(1, sizeof(*f));
	unsigned doc = 0;
	bool end = false;
	*f = (struct finder){ .want = path, .best = SIZE_MAX, .ret = ret, .file = file };
	strbuf_init(&f->path);
	if (yaml_parser_initialize(&parser) == 0)
		abort(); /* no memory */
	text = api_yaml_unmarked(text);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	while (!end && !f->broken) {
		yaml_event_t e;
		if (yaml_parser_parse(&parser, &e) == 0)
			break;
		if (doc == index)
			on_event(f, &e);
		end = e.type == YAML_STREAM_END_EVENT || doc > index;
		doc += e.type == YAML_DOCUMENT_END_EVENT;
		yaml_event_delete(&e);
	}
	yaml_parser_delete(&parser);
	bool found = f->best != SIZE_MAX;
	strbuf_done(&f->path);
	free(f);
	return found;
}

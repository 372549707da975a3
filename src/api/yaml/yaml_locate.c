/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the position of a field in a YAML text: reads the events again and keeps the current path. */
#include "api/yaml/yaml_locate.h"

#include <stdlib.h>
#include <string.h>

#include <yaml.h>

#include "api/yaml/yaml.h"
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
static bool leads_to(const struct finder *finder)
{
	size_t n = finder->path.n;
	if (n == 0)
		return true;
	return strncmp(finder->want, finder->path.s, n) == 0 &&
	       (finder->want[n] == '\0' || finder->want[n] == '.' || finder->want[n] == '[');
}

static void note_place(struct finder *finder, const yaml_event_t *event)
{
	if (!leads_to(finder) || (finder->best != SIZE_MAX && finder->path.n <= finder->best))
		return;
	finder->best = finder->path.n;
	*finder->ret = (struct srcpos){ finder->file, (uint32_t)event->start_mark.line + 1,
					(uint32_t)event->start_mark.column + 1 };
}

static void cut_path(struct finder *finder, size_t count)
{
	finder->path.n = count;
	if (finder->path.cap != 0)
		finder->path.s[count] = '\0';
}

/* The path of the node that comes next in this level. */
static void enter_child(struct finder *finder)
{
	struct level *l = finder->depth != 0 ? &finder->level[finder->depth - 1] : NULL;
	if (l == NULL || !l->is_list)
		return;
	cut_path(finder, l->path_n);
	strbuf_addf(&finder->path, "[%zu]", l->index++);
}

static void leave_child(struct finder *finder)
{
	struct level *l = finder->depth != 0 ? &finder->level[finder->depth - 1] : NULL;
	if (l == NULL)
		return;
	cut_path(finder, l->path_n);
	l->have_key = false;
}

/* A key: the place of a field is its key's. */
static void on_key(struct finder *finder, const yaml_event_t *event)
{
	struct level *l = &finder->level[finder->depth - 1];
	cut_path(finder, l->path_n);
	if (finder->path.n != 0)
		strbuf_addc(&finder->path, '.');
	strbuf_add(&finder->path, event->data.scalar.value, event->data.scalar.length);
	l->have_key = true;
	note_place(finder, event);
}

static bool at_key(const struct finder *finder)
{
	return finder->depth != 0 && !finder->level[finder->depth - 1].is_list &&
	       !finder->level[finder->depth - 1].have_key;
}

static void open_level(struct finder *finder, const yaml_event_t *event, bool is_list)
{
	enter_child(finder);
	note_place(finder, event);
	if (finder->depth == API_YAML_DEPTH_MAX) {
		finder->broken = true;
		return;
	}
	finder->level[finder->depth++] =
		(struct level){ .is_list = is_list, .path_n = finder->path.n };
}

static void on_event(struct finder *finder, const yaml_event_t *event)
{
	if (event->type == YAML_MAPPING_START_EVENT || event->type == YAML_SEQUENCE_START_EVENT) {
		open_level(finder, event, event->type == YAML_SEQUENCE_START_EVENT);
	} else if (event->type == YAML_MAPPING_END_EVENT ||
		   event->type == YAML_SEQUENCE_END_EVENT) {
		finder->depth--;
		leave_child(finder);
	} else if (event->type == YAML_SCALAR_EVENT && at_key(finder)) {
		on_key(finder, event);
	} else if (event->type == YAML_SCALAR_EVENT || event->type == YAML_ALIAS_EVENT) {
		enter_child(finder);
		note_place(finder, event);
		leave_child(finder);
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
	text = api_yaml_strip_bom(text);
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

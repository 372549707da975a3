/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data the tests and the fuzz target execute templates over: a query as CoreDNS's template
 * plugin shows it, with values of every kind. */
#pragma once

#include "tmpl/tmpl.h"

struct data_question {
	const char *name;
	uint16_t qtype, qclass;
};

struct data_msg {
	uint16_t id;
	bool rd;
	const struct data_question *questions;
	size_t n_questions;
	const uint16_t *udp_size; /* NULL: no EDNS */
};

static const struct data_question data_questions[] = { { "Ip-10-0-0-1.Example.", 1, 1 } };
static const uint16_t data_udp_size = 1232;
static const struct data_msg data_message = { 4660, true, data_questions, 1, &data_udp_size };
static const struct data_msg data_plain = { 1, false, NULL, 0, NULL };

static int question_name(const void *self, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	*ret = tmpl_string(slice_of(((const struct data_question *)self)->name));
	return 0;
}

static int question_qtype(const void *self, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	*ret = tmpl_uint(((const struct data_question *)self)->qtype, 16);
	return 0;
}

static int question_qclass(const void *self, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	*ret = tmpl_uint(((const struct data_question *)self)->qclass, 16);
	return 0;
}

static int question_text(const void *self, struct arena *a, struct slice *ret)
{
	const struct data_question *q = self;
	*ret = slice_of(arena_printf(a, ";%s\t%u\t%u", q->name, q->qclass, q->qtype));
	return ret->p != NULL ? 0 : -1;
}

static const struct tmpl_field question_fields[] = {
	{ .name = "Name", .type = { .kind = TMPL_STRING }, .get = question_name },
	{ .name = "Qtype", .type = { .kind = TMPL_UINT, .bits = 16 }, .get = question_qtype },
	{ .name = "Qclass", .type = { .kind = TMPL_UINT, .bits = 16 }, .get = question_qclass },
};

static const struct tmpl_class question_class = {
	"*dns.Question",
	question_fields,
	ARRAY_LEN(question_fields),
	question_text,
};

static size_t questions_len(const void *self)
{
	return ((const struct data_msg *)self)->n_questions;
}

static int questions_get(const void *self, size_t i, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	*ret = tmpl_object(&question_class, &((const struct data_msg *)self)->questions[i]);
	return 0;
}

static const struct tmpl_list questions_type = {
	.name = "[]dns.Question",
	.elem = { .kind = TMPL_OBJECT, .cls = &question_class },
	.len = questions_len,
	.get = questions_get,
};

static int opt_size(const void *self, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	*ret = tmpl_uint(*(const uint16_t *)self, 16);
	return 0;
}

static int opt_do(const void *self, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	(void)self;
	*ret = tmpl_bool(true);
	return 0;
}

static const struct tmpl_field opt_fields[] = {
	{ .name = "UDPSize", .type = { .kind = TMPL_UINT, .bits = 16 }, .get = opt_size },
	{ .name = "Do", .type = { .kind = TMPL_BOOL }, .get = opt_do },
};

static const struct tmpl_class opt_class = { "*dns.OPT", opt_fields, ARRAY_LEN(opt_fields), NULL };

static int msg_id(const void *self, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	*ret = tmpl_uint(((const struct data_msg *)self)->id, 16);
	return 0;
}

static int msg_rd(const void *self, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	*ret = tmpl_bool(((const struct data_msg *)self)->rd);
	return 0;
}

static int msg_opcode(const void *self, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	(void)self;
	*ret = tmpl_int(0);
	return 0;
}

static int msg_question(const void *self, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	*ret = tmpl_list(&questions_type, self);
	return 0;
}

static int msg_edns(const void *self, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	*ret = tmpl_object(&opt_class, ((const struct data_msg *)self)->udp_size);
	return 0;
}

static const struct tmpl_field msg_fields[] = {
	{ .name = "Id", .type = { .kind = TMPL_UINT, .bits = 16 }, .get = msg_id },
	{ .name = "RecursionDesired", .type = { .kind = TMPL_BOOL }, .get = msg_rd },
	{ .name = "Opcode", .type = { .kind = TMPL_INT }, .get = msg_opcode },
	{ .name = "Question",
	  .type = { .kind = TMPL_LIST, .list = &questions_type },
	  .get = msg_question },
	{ .name = "IsEdns0", .type = { .kind = TMPL_OBJECT, .cls = &opt_class }, .get = msg_edns },
};

static const struct tmpl_class msg_class = { "*dns.Msg", msg_fields, ARRAY_LEN(msg_fields), NULL };

static const struct slice data_match[] = {
	{ "ip-10-0-0-1.example.", 20 }, { "10", 2 }, { "0", 1 }, { "0", 1 }, { "1", 1 }
};
static const struct tmpl_strings data_matches = { data_match, ARRAY_LEN(data_match) };

/* Not in order, so that sorting shows. */
static const struct {
	const char *key, *value;
} data_groups[] = { { "b", "0" }, { "1", "10" }, { "0", "ip-10-0-0-1.example." },
		    { "2", "0" }, { "4", "1" },	 { "3", "0" },
		    { "a", "10" } };

static size_t groups_len(const void *self)
{
	(void)self;
	return ARRAY_LEN(data_groups);
}

static int groups_find(const void *self, struct slice key, struct arena *a, struct tmpl_value *ret)
{
	(void)a;
	(void)self;
	for (size_t i = 0; i < ARRAY_LEN(data_groups); i++) {
		if (slice_is(key, data_groups[i].key)) {
			*ret = tmpl_string(slice_of(data_groups[i].value));
			return 1;
		}
	}
	return 0;
}

static int groups_entry(const void *self, size_t i, struct slice *ret_key, struct arena *a,
			struct tmpl_value *ret)
{
	(void)a;
	(void)self;
	*ret_key = slice_of(data_groups[i].key);
	*ret = tmpl_string(slice_of(data_groups[i].value));
	return 0;
}

static const struct tmpl_map groups_type = {
	.name = "map[string]string",
	.elem = { .kind = TMPL_STRING },
	.len = groups_len,
	.find = groups_find,
	.entry = groups_entry,
};

static const struct tmpl_value data_items[] = {
	{ .kind = TMPL_INT, .i = 1 },
	{ .kind = TMPL_STRING, .s = { "a", 1 } },
	{ .kind = TMPL_BOOL, .b = true },
	{ .kind = TMPL_NIL },
};
static const struct tmpl_values data_list = { data_items, ARRAY_LEN(data_items) };
static const struct tmpl_entry data_inner[] = {
	{ { "b", 1 }, { .kind = TMPL_INT, .i = 1 } },
	{ { "a", 1 }, { .kind = TMPL_STRING, .s = { "x", 1 } } },
};
static const struct tmpl_entries data_map = { data_inner, ARRAY_LEN(data_inner) };
static const struct tmpl_entry data_var[] = {
	{ { "n", 1 }, { .kind = TMPL_INT, .i = 3 } },
	{ { "f", 1 }, { .kind = TMPL_FLOAT, .f = 2.5 } },
	{ { "b", 1 }, { .kind = TMPL_BOOL, .b = true } },
	{ { "s", 1 }, { .kind = TMPL_STRING, .s = { "a<b>'\"&\xc3\xa9", 9 } } },
	{ { "l", 1 }, { .kind = TMPL_LIST, .list = { &tmpl_values_type, &data_list, 0, 4, 4 } } },
	{ { "m", 1 }, { .kind = TMPL_MAP, .map = { &tmpl_entries_type, &data_map } } },
	{ { "z", 1 }, { .kind = TMPL_NIL } },
	{ { "big", 3 }, { .kind = TMPL_FLOAT, .f = 1e7 } },
	{ { "neg", 3 }, { .kind = TMPL_INT, .i = -5 } },
	{ { "e", 1 }, { .kind = TMPL_STRING, .s = { "", 0 } } },
	{ { "u", 1 }, { .kind = TMPL_UINT, .bits = 64, .u = UINT64_MAX } },
};
static const struct tmpl_entries data_vars = { data_var, ARRAY_LEN(data_var) };

#define DATA_STRING(fn, text)                                                    \
	static int fn(const void *self, struct arena *a, struct tmpl_value *ret) \
	{                                                                        \
		(void)a;                                                         \
		(void)self;                                                      \
		*ret = tmpl_string(SLICE(text));                                 \
		return 0;                                                        \
	}
#define DATA_VALUE(fn, value)                                                    \
	static int fn(const void *self, struct arena *a, struct tmpl_value *ret) \
	{                                                                        \
		(void)a;                                                         \
		(void)self;                                                      \
		*ret = (value);                                                  \
		return 0;                                                        \
	}

DATA_STRING(data_zone, "example.")
DATA_STRING(data_name, "ip-10-0-0-1.example.")
DATA_STRING(data_regex, "^ip-(?P<a>[0-9]*)")
DATA_STRING(data_class, "IN")
DATA_STRING(data_type, "A")
DATA_STRING(data_remote, "192.0.2.7")
DATA_VALUE(data_get_match, tmpl_list(&tmpl_strings_type, &data_matches))
DATA_VALUE(data_get_empty, tmpl_list(&tmpl_strings_type, NULL))
DATA_VALUE(data_get_group, tmpl_map(&groups_type, data_groups))
DATA_VALUE(data_get_var, tmpl_map(&tmpl_entries_type, &data_vars))
DATA_VALUE(data_get_message, tmpl_object(&msg_class, &data_message))
DATA_VALUE(data_get_plain, tmpl_object(&msg_class, &data_plain))
DATA_VALUE(data_get_question, tmpl_object(&question_class, &data_questions[0]))

static int data_meta(const void *self, const struct tmpl_value *args, struct arena *a,
		     struct tmpl_value *ret)
{
	(void)a;
	(void)self;
	*ret = tmpl_string(slice_is(args[0].s, "a/b") ? SLICE("meta-ab") : SLICE(""));
	return 0;
}

static const struct tmpl_field data_fields[] = {
	{ .name = "Zone", .type = { .kind = TMPL_STRING }, .get = data_zone },
	{ .name = "Name", .type = { .kind = TMPL_STRING }, .get = data_name },
	{ .name = "Regex", .type = { .kind = TMPL_STRING }, .get = data_regex },
	{ .name = "Class", .type = { .kind = TMPL_STRING }, .get = data_class },
	{ .name = "Type", .type = { .kind = TMPL_STRING }, .get = data_type },
	{ .name = "Remote", .type = { .kind = TMPL_STRING }, .get = data_remote },
	{ .name = "Match",
	  .type = { .kind = TMPL_LIST, .list = &tmpl_strings_type },
	  .get = data_get_match },
	{ .name = "Empty",
	  .type = { .kind = TMPL_LIST, .list = &tmpl_strings_type },
	  .get = data_get_empty },
	{ .name = "Group",
	  .type = { .kind = TMPL_MAP, .map = &groups_type },
	  .get = data_get_group },
	{ .name = "Var",
	  .type = { .kind = TMPL_MAP, .map = &tmpl_entries_type },
	  .get = data_get_var },
	{ .name = "Message",
	  .type = { .kind = TMPL_OBJECT, .cls = &msg_class },
	  .get = data_get_message },
	{ .name = "Plain",
	  .type = { .kind = TMPL_OBJECT, .cls = &msg_class },
	  .get = data_get_plain },
	{ .name = "Question",
	  .type = { .kind = TMPL_OBJECT, .cls = &question_class },
	  .get = data_get_question },
	{ .name = "Meta",
	  .type = { .kind = TMPL_STRING },
	  .call = data_meta,
	  .n_args = 1,
	  .args = { TMPL_STRING } },
};

static const struct tmpl_class data_root = { "*template.templateData", data_fields,
					     ARRAY_LEN(data_fields), NULL };
static const struct tmpl_func *const data_funcs[] = { &tmpl_func_parse_int };
static const struct tmpl_env data_env = {
	.name = "t",
	.root = { .kind = TMPL_OBJECT, .cls = &data_root },
	.funcs = data_funcs,
	.n_funcs = ARRAY_LEN(data_funcs),
};

static inline struct tmpl_run data_run(struct arena *a, char *err, size_t err_cap)
{
	return (struct tmpl_run){ .root = tmpl_object(&data_root, data_fields),
				  .arena = a,
				  .err = err,
				  .err_cap = err_cap };
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What record templates see: the fields of CoreDNS's template data, over a run. */
#include "plugin/template/data.h"

#include <string.h>

#include "base/err.h"

/* ---- texts ---- */

uint16_t template_class(const struct template_run *run)
{
	uint16_t c = run->q->req.qclass;
	return c != DNS_CLASS_ANY ? c : run->rule->cls;
}

uint16_t template_type(const struct template_run *run)
{
	uint16_t t = run->q->req.qtype;
	return t != DNS_TYPE_ANY ? t : run->rule->type;
}

struct slice template_class_text(const struct template_run *run)
{
	char buf[DNS_MNEMONIC_MAX];
	const char *s = dns_class_str(template_class(run), buf);
	return s != buf ? slice_of(s) : SLICE("");
}

struct slice template_type_text(const struct template_run *run)
{
	char buf[DNS_MNEMONIC_MAX];
	const char *s = dns_type_str(template_type(run), buf);
	return s != buf ? slice_of(s) : SLICE("");
}

struct slice template_regex_text(const struct template_run *run)
{
	return slice_of(run->rule->matcher[run->matcher].word.s);
}

struct slice template_group(const struct template_run *run, struct slice key)
{
	const struct template_matcher *m = &run->rule->matcher[run->matcher];
	for (size_t i = 0; i < m->n_keys; i++) {
		if (slice_eq(m->key[i].name, key))
			return run->group[m->key[i].group];
	}
	return (struct slice){ NULL, 0 };
}

/* ---- values of expressions ---- */

static int convert_value(const struct expr_value *value, struct arena *arena,
			 struct tmpl_value *ret);

static size_t list_len(const void *self)
{
	return expr_list_len(self);
}

static int list_get(const void *self, size_t index, struct arena *arena, struct tmpl_value *ret)
{
	struct expr_value v = expr_list_at(self, index);
	return convert_value(&v, arena, ret);
}

static const struct tmpl_list list_type = {
	.name = "[]interface {}",
	.elem = { .kind = TMPL_ANY },
	.len = list_len,
	.get = list_get,
};

static size_t map_len(const void *self)
{
	return ((const struct expr_value *)self)->map.n;
}

static int map_find(const void *self, struct slice key, struct arena *arena, struct tmpl_value *ret)
{
	struct expr_value k = expr_string(key);
	const struct expr_value *v = expr_map_get(self, &k);
	if (v == NULL)
		return 0;
	int r = convert_value(v, arena, ret);
	return r < 0 ? r : 1;
}

static int map_entry(const void *self, size_t index, struct slice *ret_key, struct arena *arena,
		     struct tmpl_value *ret)
{
	enum { KEY_MAX = 512 };
	const struct expr_pair *p = &((const struct expr_value *)self)->map.v[index];
	if (p->key.type == EXPR_STRING) {
		*ret_key = p->key.s;
	} else {
		char *text = arena_alloc(arena, KEY_MAX);
		if (text == NULL || expr_value_print(&p->key, text, KEY_MAX, &ret_key->n) < 0)
			return ERR_SPACE;
		ret_key->p = text;
	}
	return convert_value(&p->value, arena, ret);
}

static const struct tmpl_map map_type = {
	.name = "map[string]interface {}",
	.elem = { .kind = TMPL_ANY },
	.len = map_len,
	.find = map_find,
	.entry = map_entry,
};

/* Lists and maps are referred to, so they are copied to where they stay. */
static int convert_value(const struct expr_value *value, struct arena *arena,
			 struct tmpl_value *ret)
{
	const struct expr_value *kept = value;
	if (value->type == EXPR_LIST || value->type == EXPR_BYTES || value->type == EXPR_MAP ||
	    value->type == EXPR_ANYMAP) {
		kept = arena_memdup(arena, value, sizeof(*value));
		if (kept == NULL)
			return ERR_SPACE;
	}
	switch (value->type) {
	case EXPR_NIL:
	case EXPR_ANY:
		*ret = (struct tmpl_value){ .kind = TMPL_NIL };
		break;
	case EXPR_BOOL:
		*ret = tmpl_bool(value->b);
		break;
	case EXPR_INT:
		*ret = tmpl_int(value->i);
		break;
	case EXPR_FLOAT:
		*ret = tmpl_float(value->f);
		break;
	case EXPR_STRING:
		*ret = tmpl_string(value->s);
		break;
	case EXPR_BYTES:
	case EXPR_LIST:
	case EXPR_STRINGS:
		*ret = tmpl_list(&list_type, kept);
		break;
	case EXPR_MAP:
	case EXPR_ANYMAP:
		*ret = tmpl_map(&map_type, kept);
		break;
	}
	return 0;
}

/* ---- .Match, .Group, .Var ---- */

static const struct template_matcher *matcher_of(const struct template_run *run)
{
	return &run->rule->matcher[run->matcher];
}

static struct slice or_empty(struct slice text)
{
	return text.p != NULL ? text : SLICE("");
}

static size_t match_len(const void *self)
{
	return matcher_of(self)->n_groups;
}

static int match_get(const void *self, size_t index, struct arena *arena, struct tmpl_value *ret)
{
	(void)arena;
	*ret = tmpl_string(or_empty(((const struct template_run *)self)->group[index]));
	return 0;
}

static const struct tmpl_list match_type = {
	.name = "[]string", .elem = { .kind = TMPL_STRING }, .len = match_len, .get = match_get
};

static size_t group_len(const void *self)
{
	return matcher_of(self)->n_keys;
}

static int group_find(const void *self, struct slice key, struct arena *arena,
		      struct tmpl_value *ret)
{
	(void)arena;
	struct slice s = template_group(self, key);
	*ret = tmpl_string(s);
	return s.p != NULL;
}

static int group_entry(const void *self, size_t index, struct slice *ret_key, struct arena *arena,
		       struct tmpl_value *ret)
{
	(void)arena;
	const struct template_key *k = &matcher_of(self)->key[index];
	*ret_key = k->name;
	*ret = tmpl_string(((const struct template_run *)self)->group[k->group]);
	return 0;
}

static const struct tmpl_map group_type = {
	.name = "map[string]string",
	.elem = { .kind = TMPL_STRING },
	.len = group_len,
	.find = group_find,
	.entry = group_entry,
};

static size_t var_len(const void *self)
{
	return ((const struct template_run *)self)->rule->n_var;
}

static int var_entry(const void *self, size_t index, struct slice *ret_key, struct arena *arena,
		     struct tmpl_value *ret)
{
	const struct template_run *run = self;
	const struct template_cond *c = run->rule->cond;
	for (size_t left = index + 1; left > 0; c++)
		left -= c->name != NULL;
	*ret_key = slice_of(c[-1].name->s);
	return convert_value(&run->var[index], arena, ret);
}

static int var_find(const void *self, struct slice key, struct arena *arena, struct tmpl_value *ret)
{
	const struct template_run *run = self;
	for (size_t i = 0, var = 0; i < run->rule->n_cond; i++) {
		const struct template_cond *c = &run->rule->cond[i];
		if (c->name == NULL)
			continue;
		if (slice_is(key, c->name->s)) {
			int r = convert_value(&run->var[var], arena, ret);
			return r < 0 ? r : 1;
		}
		var++;
	}
	return 0;
}

static const struct tmpl_map var_type = {
	.name = "map[string]interface {}",
	.elem = { .kind = TMPL_ANY },
	.len = var_len,
	.find = var_find,
	.entry = var_entry,
};

/* ---- .Question, .Message ---- */

/* The signatures of fields and methods. */
#define GET(name) static int name(const void *self, struct arena *a UNUSED, struct tmpl_value *ret)
#define CALL(name)                                                              \
	static int name(const void *self, const struct tmpl_value *args UNUSED, \
			struct arena *a UNUSED, struct tmpl_value *ret)

static const struct dns_request *request_of(const void *self)
{
	return &((const struct template_run *)self)->q->req;
}

GET(question_name)
{
	char text[DNS_NAME_TEXT_MAX];
	size_t n = dns_name_to_text(request_of(self)->qname, false, text);
	const char *copy = arena_strndup(a, text, n);
	*ret = tmpl_string((struct slice){ copy, n });
	return copy != NULL ? 0 : ERR_SPACE;
}

GET(question_type)
{
	*ret = tmpl_uint(request_of(self)->qtype, 16);
	return 0;
}

GET(question_class)
{
	*ret = tmpl_uint(request_of(self)->qclass, 16);
	return 0;
}

#define UINT16                                \
	{                                     \
		.kind = TMPL_UINT, .bits = 16 \
	}

static const struct tmpl_field question_fields[] = {
	{ "Name", { .kind = TMPL_STRING }, .get = question_name },
	{ "Qtype", UINT16, .get = question_type },
	{ "Qclass", UINT16, .get = question_class },
};
static const struct tmpl_class question_data = { .name = "*dns.Question",
						 .fields = question_fields,
						 .n_fields = ARRAY_LEN(question_fields) };
static const struct tmpl_class question_elem = { .name = "dns.Question",
						 .fields = question_fields,
						 .n_fields = ARRAY_LEN(question_fields) };

static size_t questions_len(const void *self)
{
	(void)self;
	return 1;
}

static int questions_get(const void *self, size_t index, struct arena *arena,
			 struct tmpl_value *ret)
{
	(void)index;
	(void)arena;
	*ret = tmpl_object(&question_elem, self);
	return 0;
}

static const struct tmpl_list questions_type = {
	.name = "[]dns.Question",
	.elem = { .kind = TMPL_OBJECT, .cls = &question_elem },
	.len = questions_len,
	.get = questions_get,
};

CALL(opt_size)
{
	*ret = tmpl_uint(request_of(self)->opt.udp_size, 16);
	return 0;
}

CALL(opt_do)
{
	*ret = tmpl_bool(request_of(self)->opt.dnssec_ok);
	return 0;
}

static const struct tmpl_field opt_fields[] = {
	{ "UDPSize", UINT16, .call = opt_size },
	{ "Do", { .kind = TMPL_BOOL }, .call = opt_do },
};
static const struct tmpl_class opt_class = { .name = "*dns.OPT",
					     .fields = opt_fields,
					     .n_fields = ARRAY_LEN(opt_fields) };

GET(message_id)
{
	*ret = tmpl_uint(request_of(self)->id, 16);
	return 0;
}

GET(message_opcode)
{
	*ret = tmpl_int(request_of(self)->opcode);
	return 0;
}

GET(message_rcode)
{
	*ret = tmpl_int(request_of(self)->flags & 0xf);
	return 0;
}

GET(message_question)
{
	*ret = tmpl_list(&questions_type, self);
	return 0;
}

CALL(message_edns)
{
	*ret = tmpl_object(&opt_class, request_of(self)->opt.present ? self : NULL);
	return 0;
}

#define FLAG(name, bit)                                                 \
	GET(message_##name)                                             \
	{                                                               \
		*ret = tmpl_bool((request_of(self)->flags & bit) != 0); \
		return 0;                                               \
	}
FLAG(response, DNS_FLAG_QR)
FLAG(aa, DNS_FLAG_AA)
FLAG(tc, DNS_FLAG_TC)
FLAG(rd, DNS_FLAG_RD)
FLAG(ra, DNS_FLAG_RA)
FLAG(zero, DNS_FLAG_Z)
FLAG(ad, DNS_FLAG_AD)
FLAG(cd, DNS_FLAG_CD)

#define INT                      \
	{                        \
		.kind = TMPL_INT \
	}
#define BOOL                      \
	{                         \
		.kind = TMPL_BOOL \
	}

static const struct tmpl_field message_fields[] = {
	{ "Id", UINT16, .get = message_id },
	{ "Response", BOOL, .get = message_response },
	{ "Opcode", INT, .get = message_opcode },
	{ "Authoritative", BOOL, .get = message_aa },
	{ "Truncated", BOOL, .get = message_tc },
	{ "RecursionDesired", BOOL, .get = message_rd },
	{ "RecursionAvailable", BOOL, .get = message_ra },
	{ "Zero", BOOL, .get = message_zero },
	{ "AuthenticatedData", BOOL, .get = message_ad },
	{ "CheckingDisabled", BOOL, .get = message_cd },
	{ "Rcode", INT, .get = message_rcode },
	{ "Question", { .kind = TMPL_LIST, .list = &questions_type }, .get = message_question },
	{ "IsEdns0", { .kind = TMPL_OBJECT, .cls = &opt_class }, .call = message_edns },
};
static const struct tmpl_class message_class = { .name = "*dns.Msg",
						 .fields = message_fields,
						 .n_fields = ARRAY_LEN(message_fields) };

/* ---- the data itself ---- */

GET(data_zone)
{
	*ret = tmpl_string(slice_of(((const struct template_run *)self)->zone->text));
	return 0;
}

GET(data_name)
{
	*ret = tmpl_string(((const struct template_run *)self)->name);
	return 0;
}

GET(data_class)
{
	*ret = tmpl_string(template_class_text(self));
	return 0;
}

GET(data_type)
{
	*ret = tmpl_string(template_type_text(self));
	return 0;
}

GET(data_regex)
{
	*ret = tmpl_string(template_regex_text(self));
	return 0;
}

GET(data_match)
{
	*ret = tmpl_list(&match_type, self);
	return 0;
}

GET(data_group)
{
	*ret = tmpl_map(&group_type, self);
	return 0;
}

GET(data_var)
{
	*ret = tmpl_map(&var_type, self);
	return 0;
}

GET(data_message)
{
	*ret = tmpl_object(&message_class, self);
	return 0;
}

GET(data_question)
{
	*ret = tmpl_object(&question_data, self);
	return 0;
}

GET(data_remote)
{
	struct slice s = query_client_text(((const struct template_run *)self)->q);
	*ret = tmpl_string(s);
	return s.n != 0 ? 0 : ERR_SPACE;
}

CALL(data_meta)
{
	struct slice s = query_meta_get(((const struct template_run *)self)->q, args[0].s);
	*ret = tmpl_string(or_empty(s));
	return 0;
}

#define STRING                      \
	{                           \
		.kind = TMPL_STRING \
	}

static const struct tmpl_field data_fields[] = {
	{ "Zone", STRING, .get = data_zone },
	{ "Name", STRING, .get = data_name },
	{ "Class", STRING, .get = data_class },
	{ "Type", STRING, .get = data_type },
	{ "Regex", STRING, .get = data_regex },
	{ "Match", { .kind = TMPL_LIST, .list = &match_type }, .get = data_match },
	{ "Group", { .kind = TMPL_MAP, .map = &group_type }, .get = data_group },
	{ "Var", { .kind = TMPL_MAP, .map = &var_type }, .get = data_var },
	{ "Message", { .kind = TMPL_OBJECT, .cls = &message_class }, .get = data_message },
	{ "Question", { .kind = TMPL_OBJECT, .cls = &question_data }, .get = data_question },
	{ "Remote", STRING, .get = data_remote },
	{ "Meta", STRING, .call = data_meta, .n_args = 1, .args = { TMPL_STRING } },
};

const struct tmpl_class template_data_class = { .name = "*template.templateData",
						.fields = data_fields,
						.n_fields = ARRAY_LEN(data_fields) };

static const struct tmpl_func *const funcs[] = { &tmpl_func_parse_int };

#define ENV(section)                                                                           \
	{                                                                                      \
		.name = section, .root = { .kind = TMPL_OBJECT, .cls = &template_data_class }, \
		.funcs = funcs, .n_funcs = ARRAY_LEN(funcs)                                    \
	}
const struct tmpl_env template_envs[DNS_SECTIONS] = {
	[DNS_ANSWER] = ENV("answer"),
	[DNS_AUTHORITY] = ENV("authority"),
	[DNS_ADDITIONAL] = ENV("additional"),
};

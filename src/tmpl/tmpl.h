/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Go's text/template language: parse, check against the caller's data table, execute.
 *
 * class   the fields and methods of one kind of object, a table of the caller's
 * body    one template of a text: the text itself, or a {{define}} or {{block}} in it
 * slot    where a body keeps one declared variable
 *
 * What can be known to fail is refused by tmpl_parse with its place: unknown functions, variables,
 * templates and fields, wrong numbers of arguments, and everything this library leaves out (`call`,
 * complex numbers). tmpl_exec fails only for reasons that lie in the data or in a limit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "base/slice.h"
#include "base/srcpos.h"
#include "base/strbuf.h"

enum {
	TMPL_MAX_BYTES = 64 * 1024,  /* of a text */
	TMPL_MAX_NODES = 8192,	     /* operands, commands and statements of a text */
	TMPL_MAX_NESTING = 128,	     /* blocks and parentheses inside each other, in the text */
	TMPL_MAX_VARS = 128,	     /* declarations in one body */
	TMPL_MAX_ARGS = 32,	     /* words of one command */
	TMPL_MAX_STEPS = 100 * 1000, /* of one execution: statements, commands, iterations */
	TMPL_MAX_ITERATIONS = 10000, /* of all ranges of one execution */
	TMPL_MAX_CALLS = 32,	     /* templates executing each other */
	TMPL_MAX_DEPTH = 256,	     /* blocks and parentheses being executed at once */
};

enum tmpl_kind {
	TMPL_NIL,
	TMPL_BOOL,
	TMPL_INT,
	TMPL_UINT,
	TMPL_FLOAT,
	TMPL_STRING,
	TMPL_LIST,
	TMPL_MAP,
	TMPL_OBJECT,
	TMPL_ANY, /* in types only: known when executing */
};

struct tmpl_class;
struct tmpl_list;
struct tmpl_map;
struct tmpl_value;
struct tmpl;

struct tmpl_type {
	enum tmpl_kind kind;
	uint8_t bits; /* of numbers: 8, 16, 32, 64; 0: Go's int, uint, float64 */
	union {
		const struct tmpl_list *list;
		const struct tmpl_map *map;
		const struct tmpl_class *cls;
	};
};

/* Texts are borrowed and live at least as long as the execution. */
struct tmpl_value {
	enum tmpl_kind kind;
	uint8_t bits;
	union {
		bool b;
		int64_t i;
		uint64_t u;
		double f;
		struct slice s;
		struct {
			const struct tmpl_list *type;
			const void *self; /* NULL: a nil slice */
			uint32_t off, n, cap;
		} list;
		struct {
			const struct tmpl_map *type;
			const void *self; /* NULL: a nil map */
		} map;
		struct {
			const struct tmpl_class *cls;
			const void *self; /* NULL: a nil pointer, whose fields cannot be asked */
		} obj;
	};
};

/* Callbacks return 0, or a negative error that ends the execution; memory they need comes from the
 * arena (NULL -> ERR_SPACE). They run on the executing thread. */
struct tmpl_list {
	const char *name; /* Go's name of the type: "[]string" */
	struct tmpl_type elem;
	size_t (*len)(const void *self);
	int (*get)(const void *self, size_t index, struct arena *arena, struct tmpl_value *ret);
};

/* Keys are strings. */
struct tmpl_map {
	const char *name; /* "map[string]string" */
	struct tmpl_type elem;
	size_t (*len)(const void *self);
	/* 1 and the value, or 0 when the key is absent. */
	int (*find)(const void *self, struct slice key, struct arena *arena,
		    struct tmpl_value *ret);
	/* Entries in any order; they are sorted where that shows. */
	int (*entry)(const void *self, size_t index, struct slice *ret_key, struct arena *arena,
		     struct tmpl_value *ret);
};

/* A field has `get`, a method has `call` and takes exactly `n_args` arguments of the kinds given.
 */
enum { TMPL_METHOD_ARGS = 2 };
struct tmpl_field {
	const char *name;
	struct tmpl_type type;
	int (*get)(const void *self, struct arena *arena, struct tmpl_value *ret);
	int (*call)(const void *self, const struct tmpl_value *args, struct arena *arena,
		    struct tmpl_value *ret);
	uint8_t n_args;
	enum tmpl_kind args[TMPL_METHOD_ARGS];
};

struct tmpl_class {
	const char *name; /* "*dns.Msg" */
	const struct tmpl_field *fields;
	size_t n_fields;
	/* How the object prints; NULL: printing one is refused, as it always is inside a list or
	 * map. */
	int (*text)(const void *self, struct arena *arena, struct slice *ret);
};

/* What a function is called with beside its arguments. */
struct tmpl_call {
	struct arena *arena;
	void *ctx; /* tmpl_run.ctx */
	struct tmpl_out *out;
	char *err;
	size_t err_cap;
};

/* Says why a function fails and returns ERR_TYPE, so that functions can `return tmpl_fail(...)`. */
int tmpl_fail(struct tmpl_call *call, const char *fmt, ...) PRINTF_LIKE(2, 3);

enum { TMPL_FUNC_ARGS = 3, TMPL_VARIADIC = 255 };
struct tmpl_func {
	const char *name;
	uint8_t min_args;
	uint8_t max_args; /* or TMPL_VARIADIC */
	bool prints;	  /* arguments become text: objects without one are refused */
	/* Kinds of the first arguments, where 0 and TMPL_ANY accept all; an INT is Go's int. */
	enum tmpl_kind args[TMPL_FUNC_ARGS];
	struct tmpl_type ret;
	int (*fn)(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		  struct tmpl_value *ret);
};

/* parseInt STRING BASE BITS: Go's strconv.ParseUint, which is what CoreDNS offers by this name. */
extern const struct tmpl_func tmpl_func_parse_int;

struct tmpl_env {
	const char *name; /* of the template, which may invoke itself by it; NULL: "" */
	struct tmpl_type root;
	const struct tmpl_func *const *funcs; /* besides the built-in ones, and before them */
	size_t n_funcs;
};

struct tmpl_run {
	struct tmpl_value root; /* of the type named in the env */
	struct arena *arena;	/* fixed; reset by its owner */
	void *ctx;		/* for functions; may be NULL */
	char *err;		/* receives the reason of a failure, terminated; may be NULL */
	size_t err_cap;
};

/* Parses and checks. `base` is where the text starts: errors are placed relative to it. The text is
 * copied; the tables in `env` are borrowed and outlive the template. Errors: ERR_PARSE with `err`
 * (may be NULL) filled. */
MUST_CHECK int tmpl_parse(struct slice text, struct srcpos base, const struct tmpl_env *env,
			  struct tmpl **ret, struct srcerr *err);
void tmpl_free(struct tmpl *tmpl);
static inline void tmpl_freep(struct tmpl **tmpl)
{
	tmpl_free(*tmpl);
}

/* Executes into `out` (not terminated). Any number of threads may execute one template at once,
 * each with its own run. Errors: ERR_SPACE (out or arena too small), ERR_LIMIT, ERR_TYPE (the data
 * does not fit the template), or what a callback returned. `out` then holds rubbish. Intermediate
 * texts are built in the unused rest of `out`, so they are bounded by it too. */
MUST_CHECK int tmpl_exec(const struct tmpl *tmpl, const struct tmpl_run *run, char *out, size_t cap,
			 size_t *ret_n);

/* Appends the template in Go's canonical form, as text/template's Tree.Root.String() prints it. */
void tmpl_text(const struct tmpl *tmpl, struct strbuf *out);

/* The top-level nodes, for callers that compile simple templates themselves. */
enum tmpl_part_kind { TMPL_PART_TEXT, TMPL_PART_FIELD, TMPL_PART_OTHER };
struct tmpl_part {
	enum tmpl_part_kind kind;
	struct slice text; /* TEXT: what is printed; FIELD: ".Group.x" */
};
size_t tmpl_n_parts(const struct tmpl *tmpl);
/* Borrowed from the template. */
struct tmpl_part tmpl_part(const struct tmpl *tmpl, size_t index);

/* Values of the simple kinds. */
static inline struct tmpl_value tmpl_string(struct slice text)
{
	return (struct tmpl_value){ .kind = TMPL_STRING, .s = text };
}

static inline struct tmpl_value tmpl_int(int64_t number)
{
	return (struct tmpl_value){ .kind = TMPL_INT, .i = number };
}

static inline struct tmpl_value tmpl_uint(uint64_t number, uint8_t bits)
{
	return (struct tmpl_value){ .kind = TMPL_UINT, .bits = bits, .u = number };
}

static inline struct tmpl_value tmpl_bool(bool value)
{
	return (struct tmpl_value){ .kind = TMPL_BOOL, .b = value };
}

static inline struct tmpl_value tmpl_float(double number)
{
	return (struct tmpl_value){ .kind = TMPL_FLOAT, .f = number };
}

static inline struct tmpl_value tmpl_object(const struct tmpl_class *cls, const void *self)
{
	return (struct tmpl_value){ .kind = TMPL_OBJECT, .obj = { cls, self } };
}

static inline struct tmpl_value tmpl_map(const struct tmpl_map *type, const void *self)
{
	return (struct tmpl_value){ .kind = TMPL_MAP, .map = { type, self } };
}

/* Asks the list for its length; `self` NULL is an empty list. */
struct tmpl_value tmpl_list(const struct tmpl_list *type, const void *self);

/* Ready-made lists and maps; `self` is a pointer to the struct named. */
struct tmpl_strings { /* tmpl_strings_type, []string */
	const struct slice *v;
	size_t n;
};
struct tmpl_values { /* tmpl_values_type, []interface {} */
	const struct tmpl_value *v;
	size_t n;
};
struct tmpl_entry {
	struct slice key;
	struct tmpl_value value;
};
struct tmpl_entries { /* tmpl_entries_type, map[string]interface {} */
	const struct tmpl_entry *v;
	size_t n;
};
extern const struct tmpl_list tmpl_strings_type;
extern const struct tmpl_list tmpl_values_type;
extern const struct tmpl_map tmpl_entries_type;

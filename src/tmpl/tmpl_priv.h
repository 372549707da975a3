/* The parsed form of a template and what the files of this folder offer each other.
 *
 * text -> tmpl_lex -> tokens -> tmpl_parse_tokens -> bodies -> tmpl_check (types, fields, callees
 * resolved) -> tmpl_exec. Everything lives in one arena owned by struct tmpl and is read-only once
 * checked. */
#pragma once

#include "base/vec.h"
#include "tmpl/tmpl.h"

enum tok {
	TOK_ERROR, /* val is the message */
	TOK_EOF,
	TOK_TEXT,
	TOK_LEFT,
	TOK_RIGHT,
	TOK_SPACE,
	TOK_ASSIGN,
	TOK_DECLARE,
	TOK_PIPE,
	TOK_STRING,
	TOK_RAW_STRING,
	TOK_CHAR_CONST,
	TOK_NUMBER,
	TOK_COMPLEX,
	TOK_IDENT,
	TOK_FIELD,
	TOK_VAR,
	TOK_BOOL,
	TOK_LPAREN,
	TOK_RPAREN,
	TOK_CHAR,
	TOK_DOT, /* keywords from here */
	TOK_BLOCK,
	TOK_BREAK,
	TOK_CONTINUE,
	TOK_DEFINE,
	TOK_ELSE,
	TOK_END,
	TOK_IF,
	TOK_NIL,
	TOK_RANGE,
	TOK_TEMPLATE,
	TOK_WITH,
};

struct token {
	enum tok type;
	uint32_t pos;
	struct slice val;
};

/* For vec_push and vec_done. */
struct tokens {
	struct token *v;
	size_t n, cap;
};

/* Cuts the whole text; the last token is TOK_EOF or TOK_ERROR. Messages come from the arena. */
void tmpl_lex(struct slice text, struct arena *arena, struct tokens *ret);

/* A numeric constant can be several kinds at once, as in Go. */
struct number {
	bool is_int, is_uint, is_float;
	int64_t i;
	uint64_t u;
	double f;
};

enum operand_kind {
	OPERAND_DOT,
	OPERAND_NIL,
	OPERAND_BOOL,
	OPERAND_NUMBER,
	OPERAND_STRING,
	OPERAND_FIELD, /* .a.b */
	OPERAND_VAR,   /* $x.a.b */
	OPERAND_FUNC,
	OPERAND_PIPE,  /* (...) */
	OPERAND_CHAIN, /* base.a.b */
};

struct step {
	struct slice name;
	const struct tmpl_field *field; /* NULL: found when executing */
};

struct operand {
	enum operand_kind kind;
	uint32_t pos, end;
	struct slice text; /* as written: the constant, the function's or variable's name */
	struct step *steps;
	uint32_t n_steps;
	uint32_t slot;		 /* VAR */
	struct tmpl_value value; /* BOOL, NUMBER (ideal), STRING */
	struct number *number;	 /* NUMBER */
	struct pipe *pipe;	 /* PIPE */
	struct operand *base;	 /* CHAIN */
	const struct tmpl_func *func;
};

struct cmd {
	uint32_t pos, end;
	struct operand *args; /* [0] is what is called or evaluated */
	uint32_t n_args;
};

struct decl {
	struct slice name;
	uint32_t slot;
};

struct pipe {
	uint32_t pos, end;
	bool is_assign;
	uint32_t n_decls;
	struct decl decls[2];
	struct cmd *cmds;
	uint32_t n_cmds;
};

enum stmt_kind {
	STMT_TEXT,
	STMT_ACTION,
	STMT_IF,
	STMT_WITH,
	STMT_RANGE,
	STMT_TEMPLATE,
	STMT_BREAK,
	STMT_CONTINUE,
};

struct block {
	struct stmt *v;
	uint32_t n;
};

struct stmt {
	enum stmt_kind kind;
	uint32_t pos;
	struct slice text; /* TEXT; TEMPLATE: its name */
	struct pipe *pipe; /* NULL: a TEMPLATE without argument */
	struct block block;
	struct block *else_block; /* NULL: none */
	struct body *callee;	  /* TEMPLATE */
};

struct slot {
	bool assigned; /* by =, so that its type is not known */
	struct tmpl_type type;
};

struct body {
	struct slice name;
	struct body *next;
	struct block block;
	uint32_t n_slots; /* [0] is $ */
	struct slot *slots;
	/* Of the data it is invoked with, joined over all places; for the checker. */
	bool called, stale;
	struct tmpl_type dot;
};

struct tmpl {
	struct arena arena;
	struct slice text;
	struct slice name;
	struct srcpos base;
	const struct tmpl_env *env; /* while parsing only */
	struct body *bodies;
	struct body *main;
};

/* `pos` as a place, counted from the template's base. */
struct srcpos tmpl_place(const struct tmpl *tmpl, uint32_t pos);
MUST_CHECK int tmpl_parse_tokens(struct tmpl *tmpl, const struct tokens *toks, struct srcerr *err);
MUST_CHECK int tmpl_check(struct tmpl *tmpl, struct srcerr *err);
struct body *tmpl_find_body(const struct tmpl *tmpl, struct slice name);
const struct tmpl_func *tmpl_find_func(const struct tmpl_env *env, struct slice name);
const struct tmpl_field *tmpl_find_field(const struct tmpl_class *cls, struct slice name);

/* constants: ERR_PARSE; ERR_RANGE for more than one character */
MUST_CHECK int tmpl_unquote(struct slice quoted, struct arena *arena, struct slice *ret);
MUST_CHECK int tmpl_char_const(struct slice quoted, struct number *ret);
MUST_CHECK int tmpl_number(struct slice text, struct number *ret, const char **ret_why);
/* strconv.ParseUint: ERR_PARSE, or ERR_RANGE when it does not fit `bits`. */
MUST_CHECK int tmpl_parse_uint(struct slice text, unsigned base, unsigned bits, uint64_t *ret);

/* characters */
bool tmpl_is_print(uint32_t cp);
bool tmpl_is_letter(uint32_t cp);

/* Text being written into fixed memory. Past the end `full` is set and nothing more is written. */
struct tmpl_out {
	char *p;
	size_t n, cap;
	bool full;
};
void tmpl_out_add(struct tmpl_out *out, const void *data, size_t len);
void tmpl_out_fill(struct tmpl_out *out, char ch, size_t count);
void tmpl_out_cp(struct tmpl_out *out, uint32_t cp);
static inline void tmpl_out_slice(struct tmpl_out *out, struct slice text)
{
	tmpl_out_add(out, text.p, text.n);
}
static inline void tmpl_out_c(struct tmpl_out *out, char ch)
{
	tmpl_out_add(out, &ch, 1);
}
static inline void tmpl_out_s(struct tmpl_out *out, const char *text)
{
	tmpl_out_add(out, text, strlen(text));
}
/* strconv.Quote (quote '"') and strconv.QuoteRune (tmpl_out_quote_cp). */
void tmpl_out_quote(struct tmpl_out *out, struct slice text, bool ascii);
void tmpl_out_quote_cp(struct tmpl_out *out, uint32_t cp, bool ascii);
/* "U+0041 'A'" */
void tmpl_out_codepoint(struct tmpl_out *out, uint32_t cp);

/* values */
struct slice tmpl_type_name(const struct tmpl_value *value);
/* The same for what a pointer points to. */
struct slice tmpl_elem_name(const struct tmpl_value *value);
bool tmpl_truth(const struct tmpl_value *value);
bool tmpl_is_nil(const struct tmpl_value *value);
struct tmpl_value tmpl_zero(const struct tmpl_type *type);
MUST_CHECK int tmpl_len(struct tmpl_call *call, const struct tmpl_value *value, size_t *ret);
MUST_CHECK int tmpl_list_get(struct tmpl_call *call, const struct tmpl_value *value, size_t index,
			     struct tmpl_value *ret);
/* The entries of a map by key; the array is in the arena. */
MUST_CHECK int tmpl_map_sorted(struct tmpl_call *call, const struct tmpl_value *value,
			       struct tmpl_entry **ret, size_t *ret_n);
MUST_CHECK int tmpl_equal(struct tmpl_call *call, const struct tmpl_value *left,
			  const struct tmpl_value *right, bool *ret);
MUST_CHECK int tmpl_less(struct tmpl_call *call, const struct tmpl_value *left,
			 const struct tmpl_value *right, bool *ret);

/* fmt: into c->out. Print with %v; printf with a format and arguments. */
MUST_CHECK int tmpl_print_value(struct tmpl_call *call, const struct tmpl_value *value);
MUST_CHECK int tmpl_print(struct tmpl_call *call, const struct tmpl_value *args, size_t count);
MUST_CHECK int tmpl_println(struct tmpl_call *call, const struct tmpl_value *args, size_t count);
MUST_CHECK int tmpl_printf(struct tmpl_call *call, struct slice format,
			   const struct tmpl_value *args, size_t count);

enum fmt_flag {
	FMT_SHARP = 1,
	FMT_ZERO = 2,
	FMT_PLUS = 4,
	FMT_MINUS = 8,
	FMT_SPACE = 16,
	FMT_SHARP_V = 32,
	FMT_PLUS_V = 64,
	FMT_WIDTH = 128,
	FMT_PREC = 256,
	FMT_ERRORING = 512, /* inside the text of a bad verb */
};
struct fmt {
	unsigned flags;
	size_t width, prec;
};
/* One value of a basic kind under one verb; false: the verb does not fit it. */
bool tmpl_fmt_int(struct tmpl_out *out, const struct fmt *fmt, uint32_t verb, uint64_t number,
		  bool negative);
bool tmpl_fmt_float(struct tmpl_out *out, const struct fmt *fmt, uint32_t verb, double v,
		    unsigned bits);
bool tmpl_fmt_string(struct tmpl_out *out, const struct fmt *fmt, uint32_t verb, struct slice text);
/* What was written from `start` on is moved to its width. */
void tmpl_fmt_pad(struct tmpl_out *out, const struct fmt *fmt, size_t start);

/* functions */
extern const struct tmpl_func tmpl_builtins[];
extern const size_t tmpl_n_builtins;
/* Known by name to the checker, which computes their types, and to the executor, which evaluates
 * the arguments of and/or one by one. */
int tmpl_fn_and(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		struct tmpl_value *ret);
int tmpl_fn_or(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
	       struct tmpl_value *ret);
int tmpl_fn_index(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		  struct tmpl_value *ret);
int tmpl_fn_slice(struct tmpl_call *call, const struct tmpl_value *args, size_t count,
		  struct tmpl_value *ret);
static inline bool tmpl_is_lazy(const struct tmpl_func *func)
{
	return func->fn == tmpl_fn_and || func->fn == tmpl_fn_or;
}
void tmpl_escape_html(struct tmpl_out *out, struct slice text);
void tmpl_escape_js(struct tmpl_out *out, struct slice text);
void tmpl_escape_url(struct tmpl_out *out, struct slice text);

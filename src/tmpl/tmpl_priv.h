/* SPDX-License-Identifier: GPL-3.0-or-later */
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
struct srcpos tmpl_srcpos(const struct tmpl *tmpl, uint32_t pos);
struct body *tmpl_find_template(const struct tmpl *tmpl, struct slice name);
const struct tmpl_func *tmpl_find_func(const struct tmpl_env *env, struct slice name);
const struct tmpl_field *tmpl_find_field(const struct tmpl_class *cls, struct slice name);

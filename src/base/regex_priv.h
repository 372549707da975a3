/* Between the reader of RE2 syntax (regex_syntax.c) and its user (regex.c), and what tests need. */
#pragma once

#include "base/regex_tree_priv.h"
#include "base/slice.h"
#include "base/srcpos.h"
#include "base/strbuf.h"
#include "base/vec.h"

enum { REGEX_DEPTH_MAX = 250, REGEX_REPEAT_MAX = 1000 };

struct regex_syntax {
	struct strbuf pcre; /* the same language in PCRE2's words, without names */
	VEC(char *) names;  /* of group 1, 2, ...; NULL for those without */
	struct regex_tree tree;
};

/* `ret` is initialised here and to be given to regex_syntax_done, whatever the result. */
MUST_CHECK int regex_syntax_read(struct slice pattern, struct regex_syntax *ret,
				 struct srcerr *reterr);
void regex_syntax_done(struct regex_syntax *syntax);

/* Character classes and escapes, in regex_class.c. All of them look at the front of *rest and cut
 * off what they read. On error *bad is the offending text and the result its description. */
struct regex_class_in {
	struct slice rest;
	bool fold;	  /* (?i) */
	struct slice bad; /* after an error */
};

/* `[...]`: prints it; NULL or what is wrong. */
MUST_CHECK const char *regex_class_bracket(struct regex_class_in *in, struct strbuf *out);
/* \d \w \s \pN and their opposites: 1 printed, 0 none of them, -1 with *error. */
MUST_CHECK int regex_class_escape(struct regex_class_in *in, struct strbuf *out,
				  const char **error);
/* A backslash and what stands for one character. */
MUST_CHECK const char *regex_class_char(struct regex_class_in *in, uint32_t *ret);
/* A character for PCRE2, outside and inside of brackets. */
void regex_class_print(struct strbuf *out, uint32_t cp);
/* Next character of valid UTF-8. */
MUST_CHECK const char *regex_class_next(struct regex_class_in *in, uint32_t *ret);

struct regex;
struct regex_scratch;

/* The two matchers of regex.c, each alone. PCRE2: 1, 0, or ERR_LIMIT when it gives up or the
 * subject is not UTF-8. */
MUST_CHECK int regex_match_pcre(const struct regex *re, struct regex_scratch *scratch,
				struct slice subject);
MUST_CHECK bool regex_match_linear(const struct regex *re, struct regex_scratch *scratch,
				   struct slice subject);
/* Patterns that PCRE2 understands otherwise than Go, and that are never given to it. */
bool regex_pcre_differs(const struct regex *re);

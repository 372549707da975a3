/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regular expressions: RE2 syntax translated (syntax.c), compiled and matched by PCRE2 with
 * bounded work and bounded memory; what PCRE2 cannot finish is matched again in linear time
 * (linear.c). */
#include "base/regex/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/regex/linear_priv.h"
#include "base/regex/program_priv.h"
#include "base/regex/regex_test.h"
#include "base/regex/syntax_priv.h"

enum {
	JIT_STACK_START_BYTES = 32 * 1024,
	JIT_STACK_MAX_BYTES = 128 * 1024,
	NEST_LIMIT = 3 * REGEX_DEPTH_MAX,
	PROBE_BYTES = 200,
};

struct regex {
	char *pattern;
	pcre2_code *code;
	struct regex_program *program;
	char **names; /* [0] belongs to group 1 */
	unsigned n_groups;
	bool matches_all;
	bool costly;
	bool pcre_differs; /* see tree_priv.h */
};

_Static_assert(PCRE2_UNSET == SIZE_MAX, "both matchers mark groups that took no part alike");

struct regex_scratch {
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack; /* NULL without JIT */
	struct regex_linear linear;
	size_t *linear_offsets; /* for n_groups */
	unsigned n_groups;	/* that there is room for, 0 included */
	/* Of the last match: */
	struct slice subject;
	const size_t *offsets; /* two for each group; SIZE_MAX when it took no part */
	unsigned n_set;	       /* groups, 0 included */
};

static void *require_memory(void *ptr)
{
	if (ptr == NULL)
		abort();
	return ptr;
}

static int refuse_as(const char *text, struct slice pattern, struct srcerr *reterr)
{
	static const struct srcpos nowhere = { 0 };
	return srcerr_set(reterr, nowhere, "error parsing regexp: %s: `%.*s`", text,
			  (int)MIN(pattern.n, (size_t)300), pattern.p);
}

/* What PCRE2 still refuses after translation is too large, or a script it does not know. */
static int refuse_pattern(int code, struct slice pattern, struct srcerr *reterr)
{
	static const struct {
		int code;
		const char *text;
	} known[] = {
		{ PCRE2_ERROR_UNKNOWN_UNICODE_PROPERTY, "invalid character class range" },
		{ PCRE2_ERROR_MALFORMED_UNICODE_PROPERTY, "invalid character class range" },
		{ PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP, "expression nests too deeply" },
		{ PCRE2_ERROR_PATTERN_TOO_LARGE, "expression too large" },
		{ PCRE2_ERROR_PATTERN_TOO_COMPLICATED, "expression too large" },
	};
	char own[160] = "not supported";
	const char *text = own;
	pcre2_get_error_message(code, (PCRE2_UCHAR *)own, sizeof(own));
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (known[i].code == code)
			text = known[i].text;
	}
	return refuse_as(text, pattern, reterr);
}

static int compile_pcre(struct slice pattern, struct slice pcre, pcre2_code **ret,
			struct srcerr *reterr)
{
	int code;
	PCRE2_SIZE at;
	pcre2_compile_context *cc = require_memory(pcre2_compile_context_create(NULL));
	pcre2_set_newline(cc, PCRE2_NEWLINE_LF);
	pcre2_set_parens_nest_limit(cc, NEST_LIMIT);
	*ret = pcre2_compile((PCRE2_SPTR)pcre.p, pcre.n,
			     PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C, &code, &at,
			     cc);
	pcre2_compile_context_free(cc);
	if (*ret == NULL)
		return refuse_pattern(code, pattern, reterr);
	/* Fails where memory must not be executable; then it is interpreted. */
	IGNORE(pcre2_jit_compile(*ret, PCRE2_JIT_COMPLETE));
	return 0;
}

/* Tries texts that make nested repetitions explode: a long run that fails at its last byte. */
static bool is_explosive(const struct regex *re)
{
	static const char *const units[] = { "a", "1", "a.", "a-", "x y" };
	struct regex_scratch *s = regex_scratch_new(0);
	bool costly = false;
	for (size_t u = 0; u < ARRAY_LEN(units) && !costly; u++) {
		char text[PROBE_BYTES];
		size_t unit_n = strlen(units[u]);
		for (size_t i = 0; i < PROBE_BYTES - 1; i++)
			text[i] = units[u][i % unit_n];
		text[PROBE_BYTES - 1] = '!';
		costly = regex_match_pcre(re, s, (struct slice){ text, PROBE_BYTES }) < 0;
	}
	regex_scratch_free(s);
	return costly;
}

static struct regex *make_regex(struct slice pattern, pcre2_code *code,
				struct regex_program *program, struct regex_syntax *syntax)
{
	struct regex *re = xcalloc(1, sizeof(*re));
	re->pattern = xstrndup(pattern.n != 0 ? pattern.p : "", pattern.n);
	re->code = code;
	re->program = program;
	re->n_groups = (unsigned)syntax->names.n;
	re->names = TAKE_PTR(syntax->names.v);
	syntax->names.n = 0;
	re->matches_all = pattern.n == 0 || slice_is(pattern, ".*");
	re->pcre_differs = syntax->tree.pcre_differs;
	re->costly = is_explosive(re);
	return re;
}

int regex_new(struct slice pattern, struct regex **ret, struct srcerr *reterr)
{
	static const struct srcpos nowhere = { 0 };
	struct regex_syntax syntax;
	pcre2_code *code = NULL;
	if (pattern.n > REGEX_PATTERN_MAX)
		return srcerr_set(reterr, nowhere,
				  "regular expression of %zu bytes, at most %d allowed", pattern.n,
				  REGEX_PATTERN_MAX);
	int r = regex_syntax_read(pattern, &syntax, reterr);
	if (r >= 0)
		r = compile_pcre(pattern, strbuf_slice(&syntax.pcre), &code, reterr);
	if (r >= 0) {
		struct regex_program *program =
			regex_program_new(&syntax.tree, (unsigned)syntax.names.n);
		if (program != NULL) {
			*ret = make_regex(pattern, code, program, &syntax);
		} else {
			pcre2_code_free(code);
			r = refuse_as("expression too large", pattern, reterr);
		}
	}
	regex_syntax_done(&syntax);
	return r;
}

void regex_free(struct regex *re)
{
	if (re == NULL)
		return;
	for (unsigned i = 0; i < re->n_groups; i++)
		free(re->names[i]);
	free(re->names);
	free(re->pattern);
	pcre2_code_free(re->code);
	regex_program_free(re->program);
	free(re);
}

const char *regex_pattern(const struct regex *re)
{
	return re->pattern;
}

unsigned regex_groups(const struct regex *re)
{
	return re->n_groups;
}

const char *regex_group_name(const struct regex *re, unsigned index)
{
	return index >= 1 && index <= re->n_groups ? re->names[index - 1] : NULL;
}

bool regex_matches_all(const struct regex *re)
{
	return re->matches_all;
}

bool regex_is_costly(const struct regex *re)
{
	return re->costly;
}

struct regex_scratch *regex_scratch_new(unsigned max_groups)
{
	struct regex_scratch *s = xcalloc(1, sizeof(*s));
	uint32_t jit = 0;
	s->n_groups = max_groups + 1;
	s->linear_offsets = xcalloc(2 * (size_t)s->n_groups, sizeof(*s->linear_offsets));
	s->data = require_memory(pcre2_match_data_create(s->n_groups, NULL));
	s->context = require_memory(pcre2_match_context_create(NULL));
	pcre2_set_match_limit(s->context, REGEX_MATCH_LIMIT);
	pcre2_set_depth_limit(s->context, REGEX_MATCH_LIMIT);
	pcre2_set_heap_limit(s->context, REGEX_HEAP_KB);
	pcre2_config(PCRE2_CONFIG_JIT, &jit);
	if (jit != 0)
		s->stack = pcre2_jit_stack_create(JIT_STACK_START_BYTES, JIT_STACK_MAX_BYTES, NULL);
	if (s->stack != NULL)
		pcre2_jit_stack_assign(s->context, NULL, s->stack);
	return s;
}

void regex_scratch_free(struct regex_scratch *scratch)
{
	if (scratch == NULL)
		return;
	pcre2_match_data_free(scratch->data);
	pcre2_match_context_free(scratch->context);
	pcre2_jit_stack_free(scratch->stack);
	regex_linear_done(&scratch->linear);
	free(scratch->linear_offsets);
	free(scratch);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t of_thread;

static void free_at_end(void *scratch)
{
	regex_scratch_free(scratch);
}

static void make_key(void)
{
	if (pthread_key_create(&of_thread, free_at_end) != 0)
		abort();
}

struct regex_scratch *regex_scratch_of_thread(void)
{
	pthread_once(&once, make_key);
	struct regex_scratch *scratch = pthread_getspecific(of_thread);
	if (scratch == NULL) {
		scratch = regex_scratch_new(0);
		pthread_setspecific(of_thread, scratch);
	}
	return scratch;
}

/* Names are ASCII; PCRE2 need not check each byte then. */
static bool is_ascii(struct slice text)
{
	uint64_t high = 0, word;
	size_t i = 0;
	for (; i + sizeof(word) <= text.n; i += sizeof(word)) {
		memcpy(&word, text.p + i, sizeof(word));
		high |= word;
	}
	for (; i < text.n; i++)
		high |= (unsigned char)text.p[i];
	return (high & UINT64_C(0x8080808080808080)) == 0;
}

int regex_match_pcre(const struct regex *re, struct regex_scratch *scratch, struct slice subject)
{
	uint32_t options = is_ascii(subject) ? PCRE2_NO_UTF_CHECK : 0;
	scratch->subject = subject;
	scratch->n_set = 0;
	int rc = pcre2_match(re->code, (PCRE2_SPTR)subject.p, subject.n, 0, options, scratch->data,
			     scratch->context);
	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	if (rc < 0)
		return ERR_LIMIT;
	/* 0: more groups than the scratch has room for. */
	scratch->n_set = rc > 0 ? (unsigned)rc : scratch->n_groups;
	scratch->offsets = pcre2_get_ovector_pointer(scratch->data);
	return 1;
}

bool regex_match_linear(const struct regex *re, struct regex_scratch *scratch, struct slice subject)
{
	const struct regex_linear_match match = {
		.program = re->program,
		.subject = subject,
		.match_data = scratch->data,
		.n_groups = MIN(re->n_groups + 1, scratch->n_groups),
		.offsets = scratch->linear_offsets,
	};
	scratch->subject = subject;
	scratch->n_set = 0;
	if (!regex_linear_match(&scratch->linear, &match))
		return false;
	scratch->n_set = match.n_groups;
	scratch->offsets = scratch->linear_offsets;
	return true;
}

bool regex_match(const struct regex *re, struct regex_scratch *scratch, struct slice subject)
{
	if (subject.p == NULL)
		subject.p = "";
	if (!re->pcre_differs) {
		int r = regex_match_pcre(re, scratch, subject);
		if (r >= 0)
			return r > 0;
	}
	return regex_match_linear(re, scratch, subject);
}

bool regex_pcre_differs(const struct regex *re)
{
	return re->pcre_differs;
}

struct slice regex_group(const struct regex_scratch *scratch, unsigned index)
{
	/* An empty subject may have no address, to which nothing may be added. */
	if (index >= scratch->n_set || scratch->offsets[2 * index] == SIZE_MAX ||
	    scratch->subject.p == NULL)
		return (struct slice){ NULL, 0 };
	return (struct slice){ scratch->subject.p + scratch->offsets[2 * index],
			       scratch->offsets[2 * index + 1] - scratch->offsets[2 * index] };
}

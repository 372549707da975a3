/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The linear matcher: all ways through the pattern are followed at once, one character at a time.
 * A thread is an instruction and the offsets of the groups on the way there. Each instruction is in
 * a list once, with the thread of the highest priority: which is what a backtracking matcher would
 * find first, and hence what Go and PCRE2 report. */
#include "base/regex/linear_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"

enum { END_OF_TEXT = 0x110000, NO_UTF8 = 0xfffd };

/* What is left to do while forks are followed: go on at an instruction, or give a slot its old
 * value back. */
struct regex_job {
	uint32_t inst; /* or the slot */
	bool restores;
	int32_t old;
};

struct list {
	uint32_t n;
	uint32_t *thread;
	int32_t *slots;
};

struct run {
	struct regex_linear *linear;
	const struct regex_linear_match *match;
	unsigned n_slots;
	int32_t *slots; /* of the thread that is being followed */
	struct list list[2];
	size_t pos;
	uint32_t cp, width; /* of the character at `pos` */
	unsigned holds;	    /* set of enum regex_assert at `pos` */
};

void regex_linear_done(struct regex_linear *linear)
{
	free(linear->mark);
	free(linear->stack);
	free(linear->thread);
	free(linear->slots);
	*linear = (struct regex_linear){ 0 };
}

static size_t count_slots(const struct regex_program *program, unsigned n_groups)
{
	return (2 * (size_t)program->n_threads + 1) * 2 * n_groups;
}

size_t regex_linear_bytes(const struct regex_program *program)
{
	return program->n_inst * (sizeof(uint32_t) + sizeof(struct regex_job)) +
	       program->n_threads * 2 * sizeof(uint32_t) +
	       count_slots(program, program->n_groups + 1) * sizeof(int32_t);
}

/* Old contents are of no use. */
static MUST_CHECK void *grow_array(void *array, size_t *count, size_t want, size_t elem_bytes)
{
	if (want <= *count)
		return array;
	free(array);
	*count = want;
	return xcalloc(want, elem_bytes);
}

static void reserve_state(struct regex_linear *linear, const struct regex_program *program,
			  unsigned n_groups)
{
	linear->mark =
		grow_array(linear->mark, &linear->n_mark, program->n_inst, sizeof(*linear->mark));
	if (linear->list_number > UINT32_MAX / 2) {
		memset(linear->mark, 0, linear->n_mark * sizeof(*linear->mark));
		linear->list_number = 0;
	}
	/* While forks are followed, each instruction leaves at most one job. */
	linear->stack = grow_array(linear->stack, &linear->n_stack, program->n_inst,
				   sizeof(*linear->stack));
	linear->thread = grow_array(linear->thread, &linear->n_thread,
				    2 * (size_t)program->n_threads, sizeof(*linear->thread));
	linear->slots = grow_array(linear->slots, &linear->n_slots, count_slots(program, n_groups),
				   sizeof(*linear->slots));
}

static bool is_word(uint32_t cp)
{
	return cp < 128 && (ascii_isalpha((char)cp) || ascii_isdigit((char)cp) || cp == '_');
}

/* Reads the character at `pos`, behind `before`. */
static void read_char(struct run *run, size_t pos, uint32_t before)
{
	struct slice rest = slice_from(run->match->subject, pos);
	run->pos = pos;
	run->cp = END_OF_TEXT;
	run->width = 0;
	if (rest.n > 0) {
		run->width = (uint32_t)utf8_decode(rest, &run->cp);
		if (run->width == 0) {
			run->width = 1;
			run->cp = NO_UTF8;
		}
	}
	run->holds = is_word(before) != is_word(run->cp) ? REGEX_AT_WORD : REGEX_AT_NO_WORD;
	if (pos == 0)
		run->holds |= REGEX_AT_BEGIN_TEXT | REGEX_AT_BEGIN_LINE;
	if (rest.n == 0)
		run->holds |= REGEX_AT_END_TEXT | REGEX_AT_END_LINE;
	if (before == '\n')
		run->holds |= REGEX_AT_BEGIN_LINE;
	if (run->cp == '\n')
		run->holds |= REGEX_AT_END_LINE;
}

static void add_thread(const struct run *run, struct list *list, uint32_t inst)
{
	assert(list->n < run->match->program->n_threads);
	memcpy(list->slots + (size_t)list->n * run->n_slots, run->slots,
	       run->n_slots * sizeof(*run->slots));
	list->thread[list->n++] = inst;
}

/* From `inst` to all instructions that read a character, in the order of priority. */
static void follow_one(struct run *run, struct list *list, uint32_t inst, size_t *depth)
{
	struct regex_linear *linear = run->linear;
	const struct regex_inst *code = run->match->program->inst;
	while (linear->mark[inst] != linear->list_number) {
		linear->mark[inst] = linear->list_number;
		uint32_t arg = code[inst].arg;
		switch (code[inst].op) {
		case REGEX_OP_FORK:
			linear->stack[(*depth)++] = (struct regex_job){ .inst = arg };
			break;
		case REGEX_OP_SAVE:
			if (arg >= run->n_slots)
				break;
			linear->stack[(*depth)++] =
				(struct regex_job){ arg, true, run->slots[arg] };
			run->slots[arg] = (int32_t)run->pos;
			break;
		case REGEX_OP_ASSERT:
			if ((run->holds & arg) == 0)
				return;
			break;
		case REGEX_OP_MATCH:
		case REGEX_OP_CHAR:
		case REGEX_OP_CLASS:
			add_thread(run, list, inst);
			return;
		}
		inst = code[inst].next;
	}
}

static void follow_thread(struct run *run, struct list *list, uint32_t inst)
{
	struct regex_job *stack = run->linear->stack;
	size_t depth = 0;
	follow_one(run, list, inst, &depth);
	while (depth > 0) {
		struct regex_job job = stack[--depth];
		if (job.restores)
			run->slots[job.inst] = job.old;
		else
			follow_one(run, list, job.inst, &depth);
	}
}

static bool reads_char(const struct run *run, const struct regex_inst *inst, uint32_t cp)
{
	if (cp == END_OF_TEXT)
		return false;
	if (inst->op == REGEX_OP_CHAR)
		return inst->arg == cp;
	return regex_charset_has(&run->match->program->classes[inst->arg], cp,
				 run->match->match_data);
}

static void report_match(const struct run *run, const int32_t *slots, size_t end)
{
	size_t *offsets = run->match->offsets;
	for (unsigned i = 0; i < run->n_slots; i++)
		offsets[i] = slots[i] == REGEX_SLOT_UNSET ? SIZE_MAX : (size_t)slots[i];
	offsets[1] = end;
}

/* Moves the threads of `from` over the character `cp`, which ends at run->pos. True: one of them
 * had matched before it; those of less priority are given up. */
static bool step_threads(struct run *run, const struct list *from, struct list *to, uint32_t cp,
			 size_t pos)
{
	to->n = 0;
	run->linear->list_number++;
	for (uint32_t i = 0; i < from->n; i++) {
		const struct regex_inst *inst = &run->match->program->inst[from->thread[i]];
		const int32_t *slots = from->slots + (size_t)i * run->n_slots;
		if (inst->op == REGEX_OP_MATCH) {
			report_match(run, slots, pos);
			return true;
		}
		if (!reads_char(run, inst, cp))
			continue;
		memcpy(run->slots, slots, run->n_slots * sizeof(*slots));
		follow_thread(run, to, inst->next);
	}
	return false;
}

static bool search_text(struct run *run)
{
	const struct regex_program *program = run->match->program;
	struct list *now = &run->list[0], *then = &run->list[1];
	bool found = false;
	run->linear->list_number++;
	read_char(run, 0, END_OF_TEXT);
	for (;;) {
		if (!found && (run->pos == 0 || !program->anchored)) {
			memset(run->slots, 0xff, run->n_slots * sizeof(*run->slots));
			run->slots[0] = (int32_t)run->pos;
			follow_thread(run, now, program->start);
		} else if (now->n == 0) {
			return found;
		}
		uint32_t cp = run->cp;
		size_t pos = run->pos;
		read_char(run, pos + run->width, cp);
		found = step_threads(run, now, then, cp, pos) || found;
		if (cp == END_OF_TEXT)
			return found;
		struct list *swap = now;
		now = then;
		then = swap;
	}
}

bool regex_linear_match(struct regex_linear *linear, const struct regex_linear_match *match)
{
	const struct regex_program *program = match->program;
	unsigned n_groups = match->n_groups;
	_Static_assert(REGEX_SLOT_UNSET == -1, "slots are unset by bytes of 0xff");
	assert(n_groups > 0 && match->subject.n <= INT32_MAX);
	reserve_state(linear, program, n_groups);
	size_t list_slots = (size_t)program->n_threads * 2 * n_groups;
	struct run run = {
		.linear = linear,
		.match = match,
		.n_slots = 2 * n_groups,
		.slots = linear->slots + 2 * list_slots,
		.list = { { .thread = linear->thread, .slots = linear->slots },
			  { .thread = linear->thread + program->n_threads,
			    .slots = linear->slots + list_slots } },
	};
	return search_text(&run);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead advise`: reads logs line by line, prints advice. What it means is in src/advise/. */
#include "cmd/advise/advise.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise/advice.h"
#include "advise/report.h"
#include "base/compiler.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/flags.h"

enum { SEARCHES_MAX = ADVISE_LIST_MAX - 3, NAMES_LIMIT_MAX = 1 << 26 };

static struct {
	const char *cluster_domain, *search, *libc, *output, *ndots, *max_names;
	bool final_dots, replay;
} args;

static const struct flag flags[] = {
	FLAG_VALUE("cluster-domain", &args.cluster_domain, "DOMAIN",
		   "the cluster's DNS domain (default: cluster.local)"),
	FLAG_VALUE("ndots", &args.ndots, "N", "ndots that the pods have now (default: 5)"),
	FLAG_VALUE("search", &args.search, "LIST",
		   "search domains of the nodes, between commas; \"\": none (default: inferred)"),
	FLAG_VALUE("libc", &args.libc, "glibc|musl|any",
		   "libc of the pods (default: any, advice holds for both)"),
	FLAG_SWITCH("final-dots", &args.final_dots,
		    "names that were asked for without a search ended in a dot"),
	FLAG_SWITCH("replay", &args.replay,
		    "also replay the look-ups of the log with the advised ndots"),
	FLAG_VALUE("max-names", &args.max_names, "N",
		   "names to keep, counted for each client (default: 1048576)"),
	FLAG_VALUE("o", &args.output, "table|json", "form of the output (default: table)"),
};

/* ---- flags ---- */

static int parse_number(const char *text, const char *flag, uint64_t max, uint64_t *ret,
			struct err_text why)
{
	uint64_t value;
	if (text == NULL)
		return 0;
	if (slice_u64(slice_of(text), &value) < 0 || value < 1 || value > max) {
		err_text_set(why, "--%s is a number from 1 to %llu, not '%s'", flag,
			     (unsigned long long)max, text);
		return -EINVAL;
	}
	*ret = value;
	return 0;
}

static int parse_libc(const char *text, unsigned *ret, struct err_text why)
{
	static const struct {
		const char *name;
		unsigned libcs;
	} names[] = {
		{ "any", 1U << ADVISE_GLIBC | 1U << ADVISE_MUSL },
		{ "glibc", 1U << ADVISE_GLIBC },
		{ "musl", 1U << ADVISE_MUSL },
	};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (text == NULL || strcmp(text, names[i].name) == 0) {
			*ret = names[i].libcs;
			return 0;
		}
	}
	err_text_set(why, "--libc is glibc, musl or any, not '%s'", text);
	return -EINVAL;
}

/* Lower case, without final dot. */
static int read_domain(struct slice text, struct arena *arena, struct slice *ret,
		       struct err_text why)
{
	char *name = arena_strndup(arena, text.p, text.n);
	size_t len = text.n > 1 && name[text.n - 1] == '.' ? text.n - 1 : text.n;
	bool is_valid = len > 0 && len <= ADVISE_NAME_MAX && name[0] != '.';
	for (size_t i = 0; i < len; i++) {
		name[i] = ascii_lower(name[i]);
		bool is_label = ascii_isalpha(name[i]) || ascii_isdigit(name[i]) ||
				name[i] == '-' || name[i] == '_';
		is_valid &= is_label || (name[i] == '.' && i > 0 && name[i - 1] != '.');
	}
	if (!is_valid) {
		err_text_set(why, "'%.*s' is not a domain name", (int)text.n, text.p);
		return -EINVAL;
	}
	*ret = (struct slice){ name, len };
	return 0;
}

static int parse_searches(const char *text, struct arena *arena, struct advise_options *options,
			  struct err_text why)
{
	if (text == NULL)
		return 0;
	options->has_searches = true;
	struct slice rest = slice_of(text);
	while (rest.n > 0) {
		struct slice domain = slice_trim(slice_cut(&rest, ','));
		if (options->searches.n == SEARCHES_MAX) {
			err_text_set(why, "--search has more than %d domains", SEARCHES_MAX);
			return -EINVAL;
		}
		int r = read_domain(domain, arena, &options->searches.domain[options->searches.n++],
				    why);
		if (r < 0)
			return r;
	}
	return 0;
}

static int parse_options(struct arena *arena, struct advise_options *options, size_t *names_max,
			 struct err_text why)
{
	uint64_t ndots = ADVISE_NDOTS_DEFAULT, names = ADVISE_NAMES_MAX;
	const char *zone = args.cluster_domain != NULL ? args.cluster_domain : "cluster.local";
	*options = (struct advise_options){ .has_final_dots = args.final_dots };
	if (args.output != NULL && strcmp(args.output, "table") != 0 &&
	    strcmp(args.output, "json") != 0) {
		err_text_set(why, "-o is table or json, not '%s'", args.output);
		return -EINVAL;
	}
	int r = parse_number(args.ndots, "ndots", ADVISE_NDOTS_MAX, &ndots, why);
	if (r == 0)
		r = parse_number(args.max_names, "max-names", NAMES_LIMIT_MAX, &names, why);
	if (r == 0)
		r = parse_libc(args.libc, &options->libcs, why);
	if (r == 0)
		r = read_domain(slice_of(zone), arena, &options->zone, why);
	if (r == 0)
		r = parse_searches(args.search, arena, options, why);
	options->ndots = (unsigned)ndots;
	*names_max = names;
	return r;
}

/* ---- reading ---- */

/* What is read, and where reading is. */
struct reader {
	struct advise_trace *trace;
	struct advise_input *input;
	struct strbuf *first_other_line;
	struct strbuf scratch;
	const char *path;
	uint64_t line_number;
};

static void read_line(struct reader *reader, struct slice text)
{
	struct advise_line line;
	struct slice client;
	reader->line_number++;
	if (slice_trim(text).n == 0)
		return;
	if (advise_line_parse(text, &reader->scratch, &line) == 0) {
		reader->input->queries++;
		advise_trace_add(reader->trace, &line);
		return;
	}
	if (advise_line_is_cut(text, &reader->scratch, &client))
		advise_trace_add_cut(reader->trace, client);
	if (reader->input->other_lines++ == 0)
		strbuf_addf(reader->first_other_line, "%s:%llu", reader->path,
			    (unsigned long long)reader->line_number);
}

/* A line may have any length: what exceeds the limit by more than a byte is not kept, and the parser
 * refuses the rest. */
static int read_lines(struct reader *reader, FILE *file)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	int ch;
	while ((ch = getc_unlocked(file)) != EOF) {
		if (ch == '\n') {
			read_line(reader, strbuf_slice(&text));
			strbuf_reset(&text);
		} else if (text.n <= ADVISE_LINE_MAX) {
			strbuf_addc(&text, (char)ch);
		}
	}
	if (text.n > 0)
		read_line(reader, strbuf_slice(&text));
	return ferror(file) != 0 ? -EIO : 0;
}

static int read_path(struct reader *reader, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;
	reader->path = is_stdin ? "standard input" : path;
	reader->line_number = 0;
	errno = 0;
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	int r = file == NULL ? -errno : read_lines(reader, file);
	if (r < 0)
		fprintf(stderr, "fairlead advise: cannot read '%s': %s\n", reader->path,
			strerror(errno != 0 ? errno : -r));
	if (file != NULL && !is_stdin)
		fclose(file);
	return r;
}

/* ---- the command ---- */

static int print_advice(struct advise_trace *trace, const struct advise_options *options,
			const struct advise_input *input)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct advise_advice advice;
	advise_advice_init(&advice, trace, options);
	struct advise_report report = { .advice = &advice,
					.input = input,
					.has_replay = args.replay };
	if (args.output != NULL && strcmp(args.output, "json") == 0)
		advise_report_json(&report, &out);
	else
		advise_report_table(&report, &out);
	bool is_proven = !args.replay || advise_report_is_proven(&advice);
	advise_advice_done(&advice);
	if (fputs(out.s, stdout) == EOF || fflush(stdout) == EOF) {
		fprintf(stderr, "fairlead advise: cannot write: %s\n", strerror(errno));
		return EXIT_FAILED;
	}
	return is_proven ? EXIT_DONE : EXIT_FAILED;
}

static int advise_on(const struct flag_values *paths, const struct advise_options *options,
		     size_t names_max)
{
	CLEANUP(strbuf_done) struct strbuf first_other_line = STRBUF_INIT;
	struct advise_trace trace;
	struct advise_input input = { 0 };
	struct reader reader = { .trace = &trace,
				 .input = &input,
				 .first_other_line = &first_other_line,
				 .scratch = STRBUF_INIT };
	static const char *const standard_input[] = { "-" };
	const char *const *path = paths->n > 0 ? paths->v : standard_input;
	int status = EXIT_DONE;
	advise_trace_init(&trace);
	trace.names_max = names_max;
	for (size_t i = 0; status == EXIT_DONE && i < MAX(paths->n, 1U); i++)
		status = read_path(&reader, path[i]) < 0 ? EXIT_FAILED : EXIT_DONE;
	input.first_other_line = strbuf_slice(&first_other_line);
	if (status == EXIT_DONE && input.queries == 0) {
		fprintf(stderr,
			"fairlead advise: no line of the log plugin in the input%s%s; see "
			"fairlead-advise(1) for its format\n",
			input.other_lines > 0 ? ", the first line that is none is " : "",
			first_other_line.s);
		status = EXIT_FAILED;
	}
	if (status == EXIT_DONE)
		status = print_advice(&trace, options, &input);
	strbuf_done(&reader.scratch);
	advise_trace_done(&trace);
	return status;
}

int cmd_advise(int argc, char **argv)
{
	char why[256];
	struct flag_values paths = { 0 };
	struct advise_options options;
	struct arena arena;
	size_t names_max = ADVISE_NAMES_MAX;
	int r = flags_parse_mixed(flags, ARRAY_LEN(flags), argc, argv, &paths, ERR_TEXT(why));
	if (r == -2) {
		printf("usage: fairlead advise [FLAGS] [FILE...]\n\n"
		       "Reads lines of the log plugin (files, or standard input) and reports which "
		       "ndots each\nnamespace could use without changing an answer.\n\n");
		flags_help(flags, ARRAY_LEN(flags), stdout);
		return EXIT_DONE;
	}
	arena_init(&arena);
	if (r == 0)
		r = parse_options(&arena, &options, &names_max, ERR_TEXT(why));
	int status = EXIT_USAGE;
	if (r < 0)
		fprintf(stderr, "%s\nusage: fairlead advise [FLAGS] [FILE...]\n", why);
	else
		status = advise_on(&paths, &options, names_max);
	free(paths.v);
	arena_done(&arena);
	return status;
}

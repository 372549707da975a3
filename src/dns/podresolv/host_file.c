/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a node's resolver file as kubelet reads it, which is not as libc does: PD-34 to PD-39.
 *
 *	nameserver ADDRESS	each adds its first word, whatever that is
 *	search DOMAIN...	the last line counts; "." is left out, one final dot is removed
 *	options NAME[:VALUE]...	add up; the last value of a name counts, at the name's first place
 *	domain DOMAIN		ignored, or a search list of one if asked for
 */
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "dns/podresolv/podresolv.h"
#include "dns/podresolv/words_priv.h"

struct host_file {
	VEC(struct slice) nameservers;
	VEC(struct slice) searches;
	VEC(struct podresolv_option) options;
	struct map option_places; /* name -> index in options, plus one */
	struct slice domain;
	bool has_search;
	size_t line;
	const char *problem;
};

static void read_nameserver(struct host_file *file, struct slice rest)
{
	struct slice word = podresolv_next_word(&rest);
	if (word.n == 0)
		file->problem = "nameserver has no address";
	else
		vec_push(&file->nameservers, word);
}

static void read_search(struct host_file *file, struct slice rest)
{
	struct slice word;
	file->has_search = true;
	file->searches.n = 0;
	while ((word = podresolv_next_word(&rest)).n > 0) {
		if (slice_is(word, "."))
			continue;
		if (word.p[word.n - 1] == '.')
			word.n--;
		vec_push(&file->searches, word);
	}
}

static void read_options(struct host_file *file, struct slice rest)
{
	struct slice word;
	while ((word = podresolv_next_word(&rest)).n > 0) {
		struct podresolv_option option = { .value = word };
		option.name = slice_cut(&option.value, ':');
		uintptr_t place = (uintptr_t)map_get(&file->option_places, option.name);
		if (place > 0) {
			file->options.v[place - 1] = option;
			continue;
		}
		vec_push(&file->options, option);
		map_set(&file->option_places, option.name, (void *)(uintptr_t)file->options.n);
	}
}

static void read_domain(struct host_file *file, struct slice rest)
{
	file->domain = podresolv_next_word(&rest);
}

static void read_line(struct host_file *file, struct slice line)
{
	static const struct {
		const char *keyword;
		void (*read)(struct host_file *file, struct slice rest);
	} keywords[] = {
		{ "nameserver", read_nameserver },
		{ "search", read_search },
		{ "options", read_options },
		{ "domain", read_domain },
	};
	struct slice keyword = podresolv_next_word(&line);
	/* A comment needs no case: "#search" is no keyword. */
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
		if (slice_is(keyword, keywords[i].keyword))
			keywords[i].read(file, line);
	}
}

static struct slice copy_text(struct arena *arena, struct slice text)
{
	return (struct slice){ arena_strndup(arena, text.n > 0 ? text.p : "", text.n), text.n };
}

static struct slice *copy_texts(struct arena *arena, const struct slice *texts, size_t n)
{
	struct slice *copy = arena_alloc(arena, n * sizeof(*copy));
	for (size_t i = 0; i < n; i++)
		copy[i] = copy_text(arena, texts[i]);
	return copy;
}

static void copy_file(const struct host_file *file, struct arena *arena,
		      struct podresolv_config *ret)
{
	*ret = (struct podresolv_config){
		.nameservers = copy_texts(arena, file->nameservers.v, file->nameservers.n),
		.n_nameservers = file->nameservers.n,
		.searches = copy_texts(arena, file->searches.v, file->searches.n),
		.n_searches = file->searches.n,
		.options = arena_alloc(arena, file->options.n * sizeof(*ret->options)),
		.n_options = file->options.n,
	};
	for (size_t i = 0; i < file->options.n; i++) {
		ret->options[i].name = copy_text(arena, file->options.v[i].name);
		ret->options[i].value = copy_text(arena, file->options.v[i].value);
	}
	if (file->domain.n > 0)
		ret->unused_domain = copy_text(arena, file->domain);
}

int podresolv_parse_host(struct slice text, bool use_domain, struct arena *arena,
			 struct podresolv_config *ret, struct err_text err)
{
	struct host_file file = { 0 };
	if (text.n > PODRESOLV_HOST_BYTES_MAX) {
		err_text_set(err, "the file has 10 MiB or more");
		return ERR_LIMIT;
	}
	map_init(&file.option_places);
	while (text.n > 0 && file.problem == NULL) {
		file.line++;
		read_line(&file, slice_cut(&text, '\n'));
	}
	struct slice domain = file.domain;
	file.domain = file.has_search ? (struct slice){ NULL, 0 } : domain;
	if (use_domain && file.domain.n > 0) {
		read_search(&file, domain);
		file.domain.n = 0;
	}
	if (file.problem == NULL)
		copy_file(&file, arena, ret);
	else
		err_text_set(err, "line %zu: %s", file.line, file.problem);
	vec_done(&file.nameservers);
	vec_done(&file.searches);
	vec_done(&file.options);
	map_done(&file.option_places);
	return file.problem == NULL ? 0 : ERR_PARSE;
}

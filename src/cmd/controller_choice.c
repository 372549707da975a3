/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the flag --controllers, in two steps: what runs, then what is left out of it. */
#include "cmd/controller_choice.h"

#include <stdio.h>
#include <string.h>

#include "base/slice.h"
#include "base/vec.h"

enum { NAME_MAX_BYTES = 64 };

static size_t index_of(const struct controller_choice *choice, const struct controller *controller)
{
	size_t i = 0;
	while (i < choice->n && choice->v[i] != controller)
		i++;
	return i;
}

bool controller_choice_has(const struct controller_choice *choice,
			   const struct controller *controller)
{
	return index_of(choice, controller) < choice->n;
}

void controller_choice_remove(struct controller_choice *choice, const struct controller *controller)
{
	size_t i = index_of(choice, controller);
	if (i == choice->n)
		return;
	choice->n--;
	memmove(choice->v + i, choice->v + i + 1, (choice->n - i) * sizeof(choice->v[0]));
}

static int find_controller(struct slice name, const struct controller **ret, struct err_text why)
{
	char word[NAME_MAX_BYTES];
	snprintf(word, sizeof(word), "%.*s", (int)MIN(name.n, sizeof(word) - 1), name.p);
	*ret = controller_find(word);
	if (*ret != NULL)
		return 0;
	err_text_set(why, "unknown controller '%s'", word);
	return -1;
}

static void add_usual(struct controller_choice *choice)
{
	for (size_t i = 0; controller_list[i] != NULL; i++) {
		if (!controller_list[i]->by_name_only &&
		    !controller_choice_has(choice, controller_list[i]))
			vec_push(choice, controller_list[i]);
	}
}

static int add_named(struct slice name, struct controller_choice *choice, struct err_text why)
{
	const struct controller *controller;
	if (find_controller(name, &controller, why) < 0)
		return -1;
	if (controller_choice_has(choice, controller)) {
		err_text_set(why, "controller '%s' is named twice", controller->name);
		return -1;
	}
	vec_push(choice, controller);
	return 0;
}

static bool leaves_out(struct slice word)
{
	return word.n > 1 && word.p[0] == '-';
}

/* All but `*`, which stands for those that no other word names. */
static int read_words(const char *text, struct controller_choice *ret, struct err_text why)
{
	struct slice rest = slice_of(text);
	while (rest.n != 0) {
		struct slice word = slice_trim(slice_cut(&rest, ','));
		if (slice_is(word, "*"))
			ret->usual = true;
		else if (!leaves_out(word) && add_named(word, ret, why) < 0)
			return -1;
	}
	return 0;
}

static int leave_out(struct slice name, struct controller_choice *choice,
		     const struct controller_choice *named, struct err_text why)
{
	const struct controller *controller;
	if (find_controller(name, &controller, why) < 0)
		return -1;
	if (controller_choice_has(named, controller)) {
		err_text_set(why, "controller '%s' is both named and left out", controller->name);
		return -1;
	}
	controller_choice_remove(choice, controller);
	return 0;
}

static int remove_words(const char *text, struct controller_choice *choice,
			const struct controller_choice *named, struct err_text why)
{
	struct slice rest = slice_of(text);
	while (rest.n != 0) {
		struct slice word = slice_trim(slice_cut(&rest, ','));
		if (!leaves_out(word))
			continue;
		if (!choice->usual) {
			err_text_set(why, "'%.*s' leaves out of nothing: write '*,%.*s'",
				     (int)MIN(word.n, (size_t)NAME_MAX_BYTES), word.p,
				     (int)MIN(word.n, (size_t)NAME_MAX_BYTES), word.p);
			return -1;
		}
		struct slice name = { word.p + 1, word.n - 1 };
		if (leave_out(name, choice, named, why) < 0)
			return -1;
	}
	return 0;
}

int controller_choice_parse(const char *text, struct controller_choice *ret, struct err_text why)
{
	struct controller_choice named = { 0 };
	int r = text != NULL ? read_words(text, ret, why) : 0;
	for (size_t i = 0; i < ret->n; i++)
		vec_push(&named, ret->v[i]);
	if (ret->usual)
		add_usual(ret);
	if (r == 0 && text != NULL)
		r = remove_words(text, ret, &named, why);
	vec_done(&named);
	return r;
}

void controller_choice_done(struct controller_choice *choice)
{
	vec_done(choice);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table of extensions, and the flags that all of them have from Gardener's library: --controllers,
 * --disable-controllers and --extension-classes. */
#include "controller/dnsrecord/plan/extension.h"

#include <string.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/slice.h"
#include "base/strbuf.h"
#include "controller/shared/rival.h"

#define OWN_NAME    "dnsrecord" /* of the controller, in those flags */
#define ALL_CLASSES "garden,seed,shoot"

enum {
	DURATION_S = 30,     /* of a heartbeat that has none: Gardener's */
	DURATION_MAX_S = 60, /* Gardener renews long before it is over */
};

static const struct dnsrecord_extension extensions[] = {
	{ "provider-local", "local" },
	{ "dns-powerdns", "powerdns" },
	{ "dns-rfc2136", "rfc2136" },
};

const struct dnsrecord_extension *dnsrecord_extension_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(extensions); i++) {
		if (strcmp(extensions[i].name, name) == 0)
			return &extensions[i];
	}
	return NULL;
}

uint64_t dnsrecord_extension_duration_ns(const json_t *heartbeat)
{
	json_int_t duration_s = json_integer_value(api_get(heartbeat, "spec.leaseDurationSeconds"));
	if (duration_s <= 0)
		duration_s = DURATION_S;
	return (uint64_t)MIN(duration_s, DURATION_MAX_S) * NS_PER_S;
}

/* Adds the values of a flag, "--name=value" or "--name", "value", with commas between. True: it is there. */
static bool add_values(const json_t *words, const char *flag, struct strbuf *out)
{
	size_t i, n = strlen(flag);
	json_t *word;
	bool is_given = false;
	json_array_foreach (api_tree(words), i, word) {
		const char *text = api_text(word);
		if (strncmp(text, flag, n) != 0 || (text[n] != '=' && text[n] != '\0'))
			continue;
		is_given = true;
		strbuf_adds(out, out->n != 0 ? "," : "");
		strbuf_adds(out,
			    text[n] == '=' ? text + n + 1 : api_text(json_array_get(words, i + 1)));
	}
	return is_given;
}

/* Of all containers: one of them is the extension's. */
static bool find_flag(const json_t *deployment, const char *flag, struct strbuf *out)
{
	size_t i;
	json_t *container;
	bool is_given = false;
	json_array_foreach (api_tree(api_get(deployment, "spec.template.spec.containers")), i,
			    container) {
		is_given |= add_values(json_object_get(container, "command"), flag, out);
		is_given |= add_values(json_object_get(container, "args"), flag, out);
	}
	return is_given;
}

static bool has_word(const struct strbuf *list, const char *word)
{
	struct slice rest = strbuf_slice(list);
	while (rest.n != 0) {
		if (slice_is(slice_trim(slice_cut(&rest, ',')), word))
			return true;
	}
	return false;
}

static bool has_controller(const json_t *deployment)
{
	CLEANUP(strbuf_done) struct strbuf enabled = STRBUF_INIT, disabled = STRBUF_INIT;
	bool is_chosen = find_flag(deployment, "--controllers", &enabled);
	find_flag(deployment, "--disable-controllers", &disabled);
	return (!is_chosen || has_word(&enabled, OWN_NAME)) && !has_word(&disabled, OWN_NAME);
}

char *dnsrecord_extension_classes(const json_t *deployment)
{
	CLEANUP(strbuf_done) struct strbuf classes = STRBUF_INIT;
	if (deployment == NULL)
		return xstrdup(ALL_CLASSES);
	if (rival_state_of(deployment) == RIVAL_NONE || !has_controller(deployment))
		return xstrdup("");
	find_flag(deployment, "--extension-classes", &classes);
	return xstrdup(classes.n != 0 ? classes.s : "shoot");
}

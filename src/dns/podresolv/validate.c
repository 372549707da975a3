/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is refused in a pod's dnsPolicy and dnsConfig: kube-apiserver's rules, in its order and
 * words, the refusal of options that would add lines, and the stricter rules of profiles. */
#include "base/vec.h"
#include "dns/podresolv/address_priv.h"
#include "dns/podresolv/limits_priv.h"
#include "dns/podresolv/option_table_priv.h"
#include "dns/podresolv/podresolv.h"
#include "dns/podresolv/words_priv.h"

/* An object may hold many entries, each with an error; nobody reads more than these. */
enum { ERRORS_MAX = 1000 };

#define LABEL	  "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
#define SUBDOMAIN LABEL "(\\." LABEL ")*"

static const char domain_words[] =
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', "
	"'-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "
	"regex used for validation is '" SUBDOMAIN "')";

struct validation {
	struct arena *arena;
	enum podresolv_profile profile;
	VEC(struct podresolv_error) errors;
};

static void add_error(struct validation *validation, enum podresolv_error_type type,
		      const char *field, const char *value, const char *detail)
{
	if (validation->errors.n < ERRORS_MAX)
		vec_push(&validation->errors,
			 (struct podresolv_error){ type, field, value, detail });
}

static const char *quote_text(struct arena *arena, struct slice text)
{
	CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;
	strbuf_add_quoted(&quoted, text);
	return arena_strndup(arena, quoted.s, quoted.n);
}

static const char *quote_list(struct arena *arena, const struct slice *texts, size_t n)
{
	CLEANUP(strbuf_done) struct strbuf list = STRBUF_INIT;
	for (size_t i = 0; i < n; i++) {
		strbuf_addc(&list, i > 0 ? ',' : '[');
		strbuf_add_json(&list, texts[i]);
	}
	strbuf_addc(&list, ']');
	return arena_strndup(arena, list.s, list.n);
}

static void refuse_text(struct validation *validation, const char *field, struct slice text,
			const char *detail)
{
	add_error(validation, PODRESOLV_INVALID, field, quote_text(validation->arena, text),
		  detail);
}

/* ---- policy ---- */

/* False: dnsConfig is not checked. */
static bool check_policy(struct validation *validation, struct slice word,
			 const struct podresolv_config *config)
{
	enum podresolv_policy policy = PODRESOLV_CLUSTER_FIRST;
	bool is_known = podresolv_policy_from(word, &policy) &&
			(validation->profile == PODRESOLV_SEED || !slice_is(word, "Custom"));
	if (word.n == 0)
		add_error(validation, PODRESOLV_REQUIRED, "dnsPolicy", NULL, "");
	else if (!is_known)
		add_error(validation, PODRESOLV_UNSUPPORTED, "dnsPolicy",
			  quote_text(validation->arena, word),
			  "supported values: \"ClusterFirstWithHostNet\", \"ClusterFirst\", "
			  "\"Default\", \"None\"");
	if (!is_known || policy != PODRESOLV_NONE)
		return config != NULL;
	const char *name = podresolv_policy_name(policy);
	if (config == NULL)
		add_error(validation, PODRESOLV_REQUIRED, "dnsConfig", NULL,
			  arena_printf(validation->arena,
				       "must provide `dnsConfig` when `dnsPolicy` is %s", name));
	else if (config->n_nameservers == 0)
		add_error(validation, PODRESOLV_REQUIRED, "dnsConfig.nameservers", NULL,
			  arena_printf(validation->arena,
				       "must provide at least one DNS nameserver when "
				       "`dnsPolicy` is %s",
				       name));
	return config != NULL && config->n_nameservers > 0;
}

/* ---- name servers ---- */

static void check_nameserver(struct validation *validation, struct slice text, size_t index)
{
	struct podresolv_address address;
	const char *detail = NULL;
	if (!podresolv_read_address(text, &address))
		detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
	else if (address.has_zeros)
		detail = "must not have leading 0s";
	else if (address.is_mapped)
		detail = "must not be an IPv4-mapped IPv6 address";
	if (detail != NULL)
		refuse_text(validation,
			    arena_printf(validation->arena, "dnsConfig.nameservers[%zu]", index),
			    text, detail);
}

static void check_nameservers(struct validation *validation, const struct podresolv_config *config)
{
	if (config->n_nameservers > PODRESOLV_NAMESERVERS_MAX)
		add_error(validation, PODRESOLV_INVALID, "dnsConfig.nameservers",
			  quote_list(validation->arena, config->nameservers, config->n_nameservers),
			  arena_printf(validation->arena, "must not have more than %d nameservers",
				       PODRESOLV_NAMESERVERS_MAX));
	for (size_t i = 0; i < config->n_nameservers; i++)
		check_nameserver(validation, config->nameservers[i], i);
}

/* ---- search domains ---- */

static bool is_label_character(char ch)
{
	return ascii_isdigit(ch) || (ch >= 'a' && ch <= 'z');
}

/* Whether the label matches LABEL. Its length is not checked: kube-apiserver does not, either. */
static bool is_label(struct slice label)
{
	if (label.n > 0 && label.p[0] == '_')
		label = slice_from(label, 1);
	if (label.n == 0 || !is_label_character(label.p[0]) ||
	    !is_label_character(label.p[label.n - 1]))
		return false;
	for (size_t i = 0; i < label.n; i++) {
		if (!is_label_character(label.p[i]) && label.p[i] != '-' && label.p[i] != '_')
			return false;
	}
	return true;
}

static bool is_subdomain(struct slice domain)
{
	if (domain.n == 0)
		return false;
	while (domain.p != NULL) {
		if (!is_label(slice_cut(&domain, '.')))
			return false;
	}
	return true;
}

static void check_search(struct validation *validation, struct slice domain, size_t index)
{
	if (slice_is(domain, "."))
		return;
	if (domain.n > 0 && domain.p[domain.n - 1] == '.')
		domain.n--;
	bool is_valid = is_subdomain(domain);
	if (is_valid && domain.n <= PODRESOLV_DOMAIN_MAX)
		return;
	const char *field = arena_printf(validation->arena, "dnsConfig.searches[%zu]", index);
	if (domain.n > PODRESOLV_DOMAIN_MAX)
		refuse_text(validation, field, domain,
			    arena_printf(validation->arena, "must be no more than %d characters",
					 PODRESOLV_DOMAIN_MAX));
	if (!is_valid)
		refuse_text(validation, field, domain, domain_words);
}

static void check_searches(struct validation *validation, const struct podresolv_config *config)
{
	const struct podresolv_limits *most = podresolv_limits_of(validation->profile);
	struct arena *arena = validation->arena;
	size_t length = 0;
	for (size_t i = 0; i < config->n_searches; i++)
		length += config->searches[i].n + (i > 0);
	if (config->n_searches > most->searches)
		add_error(validation, PODRESOLV_INVALID, "dnsConfig.searches",
			  quote_list(arena, config->searches, config->n_searches),
			  arena_printf(arena, "must not have more than %zu search paths",
				       most->searches));
	if (length > most->characters)
		add_error(validation, PODRESOLV_INVALID, "dnsConfig.searches",
			  quote_list(arena, config->searches, config->n_searches),
			  arena_printf(arena,
				       "must not have more than %zu characters (including spaces) "
				       "in the search list",
				       most->characters));
	for (size_t i = 0; i < config->n_searches; i++)
		check_search(validation, config->searches[i], i);
}

/* ---- options ---- */

/* What profile seed calls invalid: an option that the platform does not know. */
static void check_platform(struct validation *validation, const struct podresolv_option *option,
			   size_t index)
{
	const struct podresolv_known_option *known = podresolv_find_option(option->name);
	struct arena *arena = validation->arena;
	uint64_t number;
	if (known == NULL) {
		CLEANUP(strbuf_done) struct strbuf names = STRBUF_INIT;
		strbuf_adds(&names, "supported values: ");
		podresolv_list_options(&names);
		add_error(validation, PODRESOLV_UNSUPPORTED,
			  arena_printf(arena, "dnsConfig.options[%zu].name", index),
			  quote_text(arena, option->name), arena_strndup(arena, names.s, names.n));
		return;
	}
	const char *field = arena_printf(arena, "dnsConfig.options[%zu].value", index);
	if (known->takes_number && slice_u64(option->value, &number) < 0)
		refuse_text(validation, field, option->value, "must be a number");
	else if (!known->takes_number && option->value.n > 0)
		refuse_text(validation, field, option->value,
			    arena_printf(arena, "option %s has no value", known->name));
}

/* Runtimes write options as they are: white space would begin another option, a line break
 * another line, and with a colon in its name an option would not replace the one it names. */
static void check_option(struct validation *validation, const struct podresolv_option *option,
			 size_t index)
{
	struct arena *arena = validation->arena;
	if (option->name.n == 0) {
		add_error(validation, PODRESOLV_REQUIRED,
			  arena_printf(arena, "dnsConfig.options[%zu]", index), NULL,
			  "must not be empty");
		return;
	}
	bool is_name = podresolv_is_visible_word(option->name) && slice_find(option->name, ':') < 0;
	bool is_value = option->value.n == 0 || podresolv_is_visible_word(option->value);
	if (!is_name)
		refuse_text(validation, arena_printf(arena, "dnsConfig.options[%zu].name", index),
			    option->name,
			    "must not contain white space, control or invisible characters or ':'");
	if (!is_value)
		refuse_text(validation, arena_printf(arena, "dnsConfig.options[%zu].value", index),
			    option->value,
			    "must not contain white space, control or invisible characters");
	if (is_name && is_value && validation->profile == PODRESOLV_SEED)
		check_platform(validation, option, index);
}

void podresolv_validate(struct slice policy, const struct podresolv_config *config,
			enum podresolv_profile profile, struct arena *arena,
			struct podresolv_errors *ret)
{
	struct validation validation = { .arena = arena, .profile = profile };
	if (check_policy(&validation, policy, config)) {
		check_nameservers(&validation, config);
		check_searches(&validation, config);
		for (size_t i = 0; i < config->n_options; i++)
			check_option(&validation, &config->options[i], i);
	}
	ret->n = validation.errors.n;
	ret->v = NULL;
	if (ret->n > 0)
		ret->v = arena_memdup(arena, validation.errors.v, ret->n * sizeof(*ret->v));
	vec_done(&validation.errors);
}

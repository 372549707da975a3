/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the `cache` stanza: capacities, TTL limits, prefetch, serve_stale and the rest. */
#include "plugin/cache/conf.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/text/duration.h"

enum {
	CAPACITY = 10000,
	MAX_TTL_S = 3600,
	MIN_TTL_S = 5,
	STALE_S = 3600,
	PERCENT = 10,
};
#define SERVFAIL_NS	(5 * (int64_t)NS_PER_S)
#define SERVFAIL_MAX_NS (300 * (int64_t)NS_PER_S)
#define RECHECK_MAX_NS	(300 * (int64_t)NS_PER_S)
#define MEMORY_MIN	((int64_t)1 << 20)
#define MEMORY_MAX	((int64_t)1 << 40)

static int reject_word(struct opt_ctx *ctx, const struct word *word, const char *text)
{
	return srcerr_set(ctx->err, word->pos, "'%s' %s", word->s, text);
}

/* As Go's Atoi: a sign, digits, 64 bits. */
static bool parse_number(const char *text, int64_t *ret)
{
	size_t sign = text[0] == '-' || text[0] == '+';
	size_t n = strspn(text + sign, "0123456789");
	uint64_t v = 0;
	if (n == 0 || text[sign + n] != '\0')
		return false;
	for (size_t i = 0; i < n; i++) {
		if (__builtin_mul_overflow(v, 10U, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(text[sign + i] - '0'), &v) ||
		    v > INT64_MAX)
			return false;
	}
	*ret = text[0] == '-' ? -(int64_t)v : (int64_t)v;
	return true;
}

static int get_number(struct opt_ctx *ctx, const struct word *word, int64_t *ret)
{
	return parse_number(word->s, ret) ? 0 : reject_word(ctx, word, "is not a number");
}

/* Seconds within the range of a TTL. */
static int get_ttl(struct opt_ctx *ctx, const struct word *word, int64_t min, uint32_t *ret)
{
	int64_t v;
	int r = get_number(ctx, word, &v);
	if (r < 0)
		return r;
	if (v < min)
		return reject_word(ctx, word,
				   min == 0 ? "must not be negative" : "must be positive");
	*ret = (uint32_t)MIN(v, (int64_t)INT32_MAX);
	return 0;
}

static int get_duration(struct opt_ctx *ctx, const struct word *word, int64_t max, int64_t *ret)
{
	int64_t v;
	if (duration_parse(slice_of(word->s), &v) < 0)
		return reject_word(ctx, word, "is not a duration");
	if (v < 0)
		return reject_word(ctx, word, "must not be negative");
	if (max != 0 && v > max)
		return reject_word(ctx, word, "is more than 5 minutes");
	*ret = v;
	return 0;
}

/* success|denial CAPACITY [TTL [MINTTL]] */
static int opt_limits(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct cache_limits *h = ctx->field;
	int r = get_number(ctx, &line->arg[0], &h->capacity);
	if (r == 0 && line->n_arg > 1)
		r = get_ttl(ctx, &line->arg[1], 1, &h->max_ttl_s);
	if (r == 0 && line->n_arg > 2)
		r = get_ttl(ctx, &line->arg[2], 0, &h->min_ttl_s);
	return r;
}

static int get_percent(struct opt_ctx *ctx, const struct word *word, unsigned *ret)
{
	int64_t v;
	size_t n = strlen(word->s);
	if (n == 0 || word->s[n - 1] != '%')
		return reject_word(ctx, word, "does not end in '%'");
	char digits[32];
	if (n > sizeof(digits))
		return reject_word(ctx, word, "is not a number");
	memcpy(digits, word->s, n - 1);
	digits[n - 1] = '\0';
	if (!parse_number(digits, &v))
		return reject_word(ctx, word, "is not a number");
	if (v < 10 || v > 90)
		return reject_word(ctx, word, "is not between 10% and 90%");
	*ret = (unsigned)v;
	return 0;
}

/* prefetch AMOUNT [GAP [PERCENTAGE%]] */
static int opt_prefetch(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct cache_conf *conf = ctx->conf;
	int r = get_number(ctx, &line->arg[0], &conf->prefetch);
	if (r == 0 && conf->prefetch < 0)
		return reject_word(ctx, &line->arg[0], "must not be negative");
	if (r == 0 && line->n_arg > 1 &&
	    duration_parse(slice_of(line->arg[1].s), &conf->prefetch_gap_ns) < 0)
		return reject_word(ctx, &line->arg[1], "is not a duration");
	if (r == 0 && line->n_arg > 2)
		r = get_percent(ctx, &line->arg[2], &conf->prefetch_percent);
	return r;
}

static int get_stale_ttl(struct opt_ctx *ctx, const struct word *word, uint32_t *ret)
{
	int64_t v = 0;
	int r = get_duration(ctx, word, 0, &v);
	if (r < 0)
		return r;
	if (v % (int64_t)NS_PER_S != 0)
		return reject_word(ctx, word, "is not a whole number of seconds");
	if (v / (int64_t)NS_PER_S > (int64_t)UINT32_MAX)
		return reject_word(ctx, word, "is more than a TTL can be");
	*ret = (uint32_t)(v / (int64_t)NS_PER_S);
	return 0;
}

/* The words after the mode: verify has its time-out first. */
static int get_stale_times(struct opt_ctx *ctx, const struct word *word, size_t count)
{
	struct cache_conf *conf = ctx->conf;
	int r = 0;
	if (conf->verify && count > 0) {
		r = get_duration(ctx, word, 0, &conf->verify_ns);
		word++;
		count--;
	}
	if (r == 0 && count > 0)
		r = get_stale_ttl(ctx, &word[0], &conf->stale_ttl_s);
	if (r == 0 && count > 1)
		r = get_duration(ctx, &word[1], RECHECK_MAX_NS, &conf->recheck_ns);
	if (r == 0 && count > 2)
		return reject_word(ctx, &word[2], "is one word too many");
	return r;
}

/* serve_stale [DURATION [immediate [TTL [RECHECK]] | verify [TIMEOUT [TTL [RECHECK]]]]] */
static int opt_serve_stale(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct cache_conf *conf = ctx->conf;
	int64_t up_to = STALE_S * (int64_t)NS_PER_S;
	conf->stale_given = true;
	conf->verify = false;
	conf->verify_ns = conf->recheck_ns = 0;
	conf->stale_ttl_s = 0;
	int r = line->n_arg > 0 ? get_duration(ctx, &line->arg[0], 0, &up_to) : 0;
	if (r < 0)
		return r;
	conf->stale_s = (uint32_t)MIN(up_to / (int64_t)NS_PER_S, (int64_t)INT32_MAX);
	if (line->n_arg < 2)
		return 0;
	conf->verify = strcasecmp(line->arg[1].s, "verify") == 0;
	if (!conf->verify && strcasecmp(line->arg[1].s, "immediate") != 0)
		return reject_word(ctx, &line->arg[1], "is neither 'immediate' nor 'verify'");
	return get_stale_times(ctx, line->arg + 2, line->n_arg - 2);
}

static int opt_policy(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct cache_conf *conf = ctx->conf;
	if (strcasecmp(line->arg[0].s, "prefer_positive") != 0)
		return reject_word(ctx, &line->arg[0], "is not 'prefer_positive'");
	conf->prefer_positive = conf->policy_given = true;
	return 0;
}

/* RFC 2308 §7: no failure is kept longer than five minutes. */
static int opt_servfail(struct opt_ctx *ctx, const struct opt_line *line)
{
	struct cache_conf *conf = ctx->conf;
	return get_duration(ctx, &line->arg[0], SERVFAIL_MAX_NS, &conf->servfail_ns);
}

/* disable success|denial [ZONE...] */
static int opt_disable(struct opt_ctx *ctx, const struct opt_line *line)
{
	static const struct word root = { .s = "." };
	struct cache_conf *conf = ctx->conf;
	enum store_half half;
	if (strcmp(line->arg[0].s, "success") == 0)
		half = STORE_HALF_SUCCESS;
	else if (strcmp(line->arg[0].s, "denial") == 0)
		half = STORE_HALF_DENIAL;
	else
		return reject_word(ctx, &line->arg[0], "is neither 'success' nor 'denial'");
	bool all = line->n_arg == 1;
	return setup_zones(ctx->user, all ? &root : line->arg + 1, all ? 1 : line->n_arg - 1,
			   &conf->except[half]);
}

/* A number with K, M or G behind it. */
static int opt_memory(struct opt_ctx *ctx, const struct opt_line *line)
{
	static const char units[] = "KMG";
	struct cache_conf *conf = ctx->conf;
	const struct word *word = &line->arg[0];
	size_t n = strlen(word->s);
	char digits[32];
	const char *unit = n > 0 ? strchr(units, word->s[n - 1]) : NULL;
	int64_t v;
	if (n == 0 || n >= sizeof(digits))
		return reject_word(ctx, word, "is not a size");
	memcpy(digits, word->s, n + 1);
	if (unit != NULL)
		digits[n - 1] = '\0';
	if (!parse_number(digits, &v) || v < 0 || v > MEMORY_MAX)
		return reject_word(ctx, word, "is not a size");
	if (unit != NULL)
		v <<= 10 * (unit - units + 1);
	if (v < MEMORY_MIN || v > MEMORY_MAX)
		return reject_word(ctx, word, "is not between 1M and 1024G");
	conf->memory = v;
	return 0;
}

const struct opt cache_opts[CACHE_OPTS] = {
	{ "<ttl>", OPT_STRING, 0, .args = "SECONDS", .help = "longest time a reply is kept" },
	{ "<zones...>", OPT_LIST, 0, .args = "ZONE...",
	  .help = "zones whose names are kept (default: those of the block)" },
	{ "success", OPT_FN, offsetof(struct cache_conf, half[STORE_HALF_SUCCESS]), 1, 3,
	  .fn = opt_limits, .repeatable = true, .args = "CAPACITY [TTL [MINTTL]]",
	  .help = "answers: how many, how long at most and at least" },
	{ "denial", OPT_FN, offsetof(struct cache_conf, half[STORE_HALF_DENIAL]), 1, 3,
	  .fn = opt_limits, .repeatable = true, .args = "CAPACITY [TTL [MINTTL]]",
	  .help = "denials: how many, how long at most and at least" },
	{ "prefetch", OPT_FN, 0, 1, 3, .fn = opt_prefetch, .repeatable = true,
	  .args = "AMOUNT [GAP [PERCENTAGE%]]",
	  .help = "refresh replies that were asked for AMOUNT times before they expire" },
	{ "serve_stale", OPT_FN, 0, 0, 5, .fn = opt_serve_stale, .repeatable = true,
	  .args = "[DURATION [immediate [TTL [RECHECK]] | verify [TIMEOUT [TTL [RECHECK]]]]]",
	  .help = "answer with expired replies" },
	{ "serve_stale_policy", OPT_FN, 0, 1, 1, .fn = opt_policy, .args = "prefer_positive",
	  .help = "prefer an expired answer to a denial" },
	{ "servfail", OPT_FN, 0, 1, 1, .fn = opt_servfail, .repeatable = true, .args = "DURATION",
	  .help = "how long failures are kept; 0: not at all" },
	{ "disable", OPT_FN, 0, 1, INT32_MAX, .fn = opt_disable, .repeatable = true,
	  .args = "success|denial [ZONE...]",
	  .help = "do not cache answers or denials (of these zones)" },
	{ "keepttl", OPT_FLAG, offsetof(struct cache_conf, keepttl), .repeatable = true,
	  .help = "answers keep the TTL they had when they were stored" },
	{ "nxdomain_cut", OPT_FLAG, offsetof(struct cache_conf, nxdomain_cut),
	  .help = "a name that does not exist has no names below it (RFC 8020)" },
	{ "memory", OPT_FN, 0, 1, 1, .fn = opt_memory, .args = "BYTES[K|M|G]",
	  .help = "most memory for replies (default: 1 KB for each of CAPACITY, at least 16M)" },
};

static void set_defaults(struct cache_conf *conf)
{
	conf->half[STORE_HALF_SUCCESS] = (struct cache_limits){ CAPACITY, MAX_TTL_S, MIN_TTL_S };
	conf->half[STORE_HALF_DENIAL] = (struct cache_limits){ CAPACITY, MAX_TTL_S / 2, MIN_TTL_S };
	conf->servfail_ns = SERVFAIL_NS;
	conf->prefetch_gap_ns = 60 * (int64_t)NS_PER_S;
	conf->prefetch_percent = PERCENT;
}

/* cache [TTL] [ZONE...]: a first word that is a number is the TTL. */
static int parse_args(struct cache_conf *conf, struct setup *setup, const struct corefile_dir *dir)
{
	size_t at = 0;
	int64_t ttl;
	if (dir->n_arg > 0 && parse_number(dir->arg[0].s, &ttl)) {
		if (ttl <= 0)
			return setup_error(setup, dir->arg[0].pos, "'%s' must be positive",
					   dir->arg[0].s);
		uint32_t v = (uint32_t)MIN(ttl, (int64_t)INT32_MAX);
		conf->half[0].max_ttl_s = conf->half[1].max_ttl_s = v;
		at = 1;
	}
	return setup_zones(setup, dir->arg + at, dir->n_arg - at, &conf->zones);
}

static void label_zones(struct cache_conf *conf, struct arena *arena)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < conf->zones.n; i++) {
		strbuf_addf(&text, "%s%s", i != 0 ? "," : "", conf->zones.text[i]);
		conf->all_names |= conf->zones.wire[i][0] == 0;
	}
	conf->zones_label = arena_strndup(arena, text.s, text.n);
}

int cache_parse(struct plugin_inst *self, struct setup *setup)
{
	struct cache_conf *conf = self->conf;
	int r = setup_once(setup);
	if (r < 0)
		return r;
	set_defaults(conf);
	r = parse_args(conf, setup, setup->dir[0]);
	if (r == 0)
		r = setup_body(setup, setup->dir[0], cache_opts, CACHE_OPTS, conf, setup);
	if (r < 0)
		return r;
	if (conf->policy_given && !conf->stale_given)
		return setup_error(setup, setup->dir[0]->name.pos,
				   "serve_stale_policy needs 'serve_stale' beside it");
	label_zones(conf, setup->arena);
	return 0;
}

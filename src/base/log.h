/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Log lines, in CoreDNS's form. Text: `[LEVEL] plugin/name: text` on stdout, no time stamp. JSON:
 * one object per line with time, level, msg and, for plugin areas, plugin.
 *
 * Control code calls log_info() and friends: formatted and written at once, under a mutex.
 * Workers must not block: they write whole lines into their own ring (log_queue.h), which one writer
 * thread empties.
 *
 * Glossary: area = who speaks: NULL for the program itself, "plugin/x" for a plugin, or a folder's
 * name ("server", "kube"), which is printed as a prefix too. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/strbuf.h"

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR, LOG_FATAL };
enum log_format { LOG_TEXT, LOG_JSON };

void log_set_format(enum log_format wanted);
enum log_format log_get_format(void);
/* Debug lines are dropped unless switched on (the `debug` plugin). Callable at any time. */
void log_set_debug(bool on);
bool log_debug_enabled(void);
/* Where lines go, default fd 1 (the program's own FATAL lines always go to fd 2). */
void log_set_fd(int fd);

void log_msg(enum log_level level, const char *area, const char *fmt, ...) PRINTF_LIKE(3, 4);

#define log_debug(area, ...)                                   \
	do {                                                   \
		if (log_debug_enabled())                       \
			log_msg(LOG_DEBUG, area, __VA_ARGS__); \
	} while (0)
#define log_info(area, ...)  log_msg(LOG_INFO, area, __VA_ARGS__)
#define log_warn(area, ...)  log_msg(LOG_WARNING, area, __VA_ARGS__)
#define log_error(area, ...) log_msg(LOG_ERROR, area, __VA_ARGS__)

/* For messages that could repeat: at most one per interval; the next one let through says how many
 * were held back ("... (12 more like this)"). Thread-safe; zero-initialise, static.
 *	static struct log_limit limit = { .interval_ns = 10 * NS_PER_S };
 *	log_limited(&limit, LOG_WARNING, "plugin/template", "match limit reached"); */
struct log_limit {
	uint64_t interval_ns;
	_Atomic uint64_t next_ns;
	_Atomic uint32_t held_back;
};
void log_limited(struct log_limit *limit, enum log_level level, const char *area, const char *fmt,
		 ...) PRINTF_LIKE(4, 5);

/* One complete line (with its newline) as the current format wants it, appended to `out`. `extra`
 * is empty or further JSON members starting with a comma, used only by the JSON format. */
void log_format_line(struct strbuf *out, enum log_level level, const char *area, struct slice msg,
		     struct slice extra);

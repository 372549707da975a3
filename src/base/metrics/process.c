/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The process_* metrics every Prometheus client has, read from /proc at each scrape. */
#include "base/metrics/process.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/metrics/metrics.h"

enum row { CPU, OPEN_FDS, MAX_FDS, RESIDENT, VIRTUAL, VIRTUAL_MAX, START };

static const struct metrics_family rows[] = {
	[CPU] = { .name = "process_cpu_seconds_total",
		  .help = "Total user and system CPU time spent in seconds.",
		  .kind = METRICS_COUNTER },
	[OPEN_FDS] = { .name = "process_open_fds",
		       .help = "Number of open file descriptors.",
		       .kind = METRICS_GAUGE },
	[MAX_FDS] = { .name = "process_max_fds",
		      .help = "Maximum number of open file descriptors.",
		      .kind = METRICS_GAUGE },
	[RESIDENT] = { .name = "process_resident_memory_bytes",
		       .help = "Resident memory size in bytes.",
		       .kind = METRICS_GAUGE },
	[VIRTUAL] = { .name = "process_virtual_memory_bytes",
		      .help = "Virtual memory size in bytes.",
		      .kind = METRICS_GAUGE },
	[VIRTUAL_MAX] = { .name = "process_virtual_memory_max_bytes",
			  .help = "Maximum amount of virtual memory available in bytes.",
			  .kind = METRICS_GAUGE },
	[START] = { .name = "process_start_time_seconds",
		    .help = "Start time of the process since unix epoch in seconds.",
		    .kind = METRICS_GAUGE },
};

static void set_gauge(enum row row, double number)
{
	metrics_set(metrics_get(&rows[row], NULL), number);
}

static bool read_text(const char *path, char *buf, size_t len)
{
	FILE *f = fopen(path, "re");
	if (f == NULL)
		return false;
	size_t got = fread(buf, 1, len - 1, f);
	fclose(f);
	buf[got] = '\0';
	return got > 0;
}

static double boot_time_s(void)
{
	static double value; /* collectors run one at a time */
	FILE *f = value > 0 ? NULL : fopen("/proc/stat", "re");
	if (f == NULL)
		return value;
	char *line = NULL;
	size_t cap = 0;
	while (getline(&line, &cap, f) > 0) {
		if (strncmp(line, "btime ", 6) == 0)
			value = strtod(line + 6, NULL);
	}
	free(line);
	fclose(f);
	return value;
}

/* Field numbers are those of proc(5); the fields before the third may hold blanks. */
static void set_from_stat(void)
{
	char buf[1024];
	double field[25] = { 0 };
	if (!read_text("/proc/self/stat", buf, sizeof(buf)))
		return;
	const char *p = strrchr(buf, ')');
	if (p == NULL || strlen(p) < 4)
		return;
	p += 3; /* the state letter */
	for (size_t i = 4; i < 25; i++) {
		char *end;
		field[i] = strtod(p + 1, &end);
		p = end;
	}
	double ticks = (double)sysconf(_SC_CLK_TCK);
	set_gauge(CPU, (field[14] + field[15]) / ticks);
	set_gauge(START, boot_time_s() + field[22] / ticks);
	set_gauge(VIRTUAL, field[23]);
	set_gauge(RESIDENT, field[24] * (double)sysconf(_SC_PAGESIZE));
}

static void set_open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	if (d == NULL)
		return;
	double n = -1; /* not the one this costs */
	const struct dirent *e;
	while ((e = readdir(d)) != NULL)
		n += e->d_name[0] != '.';
	closedir(d);
	set_gauge(OPEN_FDS, n);
}

static void set_limit(enum row row, int resource)
{
	struct rlimit l;
	if (getrlimit((__rlimit_resource_t)resource, &l) == 0)
		set_gauge(row, (double)l.rlim_cur);
}

static void collect_process(void *ctx)
{
	(void)ctx;
	set_from_stat();
	set_open_fds();
	set_limit(MAX_FDS, RLIMIT_NOFILE);
	set_limit(VIRTUAL_MAX, RLIMIT_AS);
}

void metrics_add_process_collector(void)
{
	metrics_off_collect(collect_process, NULL);
	metrics_on_collect(collect_process, NULL);
}

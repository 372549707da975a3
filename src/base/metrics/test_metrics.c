/* SPDX-License-Identifier: GPL-3.0-or-later */
/* metrics: the text form, cells per slot, and the life of a series. */
#include "base/metrics/metrics.h"
#include "base/metrics/process.h"
#include "base/metrics/text_test.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct metrics_family requests = {
	.name = "z_requests_total",
	.help = "Requests\nwith a \\ and a \"quote\".",
	.kind = METRICS_COUNTER,
	.labels = { "server", "family", "zone" },
};
static const struct metrics_family size = {
	.name = "m_size",
	.help = "Size.",
	.kind = METRICS_HISTOGRAM,
	.labels = { "proto" },
	.buckets = (const double[]){ 0.00025, 8.192, 16000, 1e6 },
	.n_buckets = 4,
};
static const struct metrics_family up = { .name = "a_up", .help = "Up.", .kind = METRICS_GAUGE };

static int setup(void **state)
{
	(void)state;
	metrics_init(2);
	return 0;
}

/* Drops what a test made, so that the next starts empty. */
static int teardown(void **state)
{
	(void)state;
	metrics_drop_family(&requests);
	metrics_drop_family(&size);
	metrics_drop_family(&up);
	return 0;
}

static void assert_text(const char *want)
{
	struct strbuf b = STRBUF_INIT;
	metrics_render(&b);
	assert_string_equal(b.s, want);
	strbuf_done(&b);
}

static void families_and_series_are_sorted(void **state)
{
	(void)state;
	assert_text("");
	struct metrics_series *b =
		metrics_get(&requests, (const char *const[]){ "dns://:53", "1", "b\\\"\n." });
	struct metrics_series *a =
		metrics_get(&requests, (const char *const[]){ "dns://:54", "1", NULL });
	metrics_add(b, 0, 1);
	metrics_add(b, 1, 2);
	metrics_add(b, 2, 1234567);
	metrics_add(a, 1, 999999);
	metrics_set(metrics_get(&up, NULL), 0.5);
	assert_true(metrics_value(b) == 1234570);
	assert_text("# HELP a_up Up.\n# TYPE a_up gauge\na_up 0.5\n"
		    "# HELP z_requests_total Requests\\nwith a \\\\ and a \"quote\".\n"
		    "# TYPE z_requests_total counter\n"
		    "z_requests_total{family=\"1\",server=\"dns://:53\",zone=\"b\\\\\\\"\\n.\"} "
		    "1.23457e+06\n"
		    "z_requests_total{family=\"1\",server=\"dns://:54\",zone=\"\"} 999999\n");
}

static void histogram(void **state)
{
	(void)state;
	struct metrics_series *s = metrics_get(&size, (const char *const[]){ "udp" });
	metrics_observe(s, 0, 0.00025); /* a bound belongs to its bucket */
	metrics_observe(s, 1, 8);
	metrics_observe(s, 2, 9);
	metrics_observe(s, 2, 2e6);
	assert_text("# HELP m_size Size.\n# TYPE m_size histogram\n"
		    "m_size_bucket{proto=\"udp\",le=\"0.00025\"} 1\n"
		    "m_size_bucket{proto=\"udp\",le=\"8.192\"} 2\n"
		    "m_size_bucket{proto=\"udp\",le=\"16000\"} 3\n"
		    "m_size_bucket{proto=\"udp\",le=\"1e+06\"} 3\n"
		    "m_size_bucket{proto=\"udp\",le=\"+Inf\"} 4\n"
		    "m_size_sum{proto=\"udp\"} 2.00001700025e+06\n"
		    "m_size_count{proto=\"udp\"} 4\n");
}

static const struct metrics_family wait = {
	.name = "n_wait",
	.help = "Wait.",
	.kind = METRICS_HISTOGRAM,
	.buckets = (const double[]){ 1, 2 },
	.n_buckets = 2,
	.sum_scale = 1e-3,
};

static void histogram_with_an_integer_sum(void **state)
{
	(void)state;
	struct metrics_series *s = metrics_get(&wait, NULL);
	_Atomic uint64_t *row = metrics_row(s, 1);
	metrics_cell_add(row + 1, 1, 1);
	metrics_cell_add(row + wait.n_buckets + 1, 1, 2500);
	metrics_observe(s, 0, 1.5);
	assert_true(fabs(metrics_value(s) - 4) < 1e-9);
	metrics_drop(s);
}

static void a_gauge_goes_down(void **state)
{
	(void)state;
	static const struct metrics_family depth = { .name = "b_depth",
						     .help = "Depth.",
						     .kind = METRICS_GAUGE };
	struct metrics_series *s = metrics_get(&depth, NULL);
	metrics_add(s, 1, 2);
	metrics_add(s, 2, (uint64_t)-5);
	assert_text("# HELP b_depth Depth.\n# TYPE b_depth gauge\nb_depth -3\n");
	metrics_drop(s);
}

static void a_dropped_series_restarts(void **state)
{
	(void)state;
	const char *const values[] = { "a", "b", "c" };
	struct metrics_series *s = metrics_get(&requests, values);
	metrics_add(s, 1, 5);
	metrics_drop(s);
	metrics_add(s, 1, 5);
	assert_text("");
	assert_ptr_equal(metrics_get(&requests, values), s);
	assert_true(metrics_value(s) < 0.5);
}

/* Slots never share a cache line, and many series stay small. */
static void layout(void **state)
{
	(void)state;
	struct metrics_series *s = metrics_get(&requests, (const char *const[]){ "a", "b", "d" });
	uintptr_t line[3];
	for (unsigned i = 0; i < 3; i++)
		line[i] = (uintptr_t)metrics_row(s, i) / 64;
	assert_true(line[0] != line[1] && line[1] != line[2] && line[0] != line[2]);
	assert_int_equal((uintptr_t)metrics_row(s, 0) % 8, 0);
	assert_true(sizeof(*s) + 3 * sizeof(uint64_t) < 128);
	/* Past the end of a page. */
	struct metrics_series *last = NULL;
	for (int i = 0; i < 100; i++) {
		char name[16];
		snprintf(name, sizeof(name), "p%d", i);
		last = metrics_get(&size, (const char *const[]){ name });
		metrics_observe(last, 2, 5e6);
	}
	assert_int_equal(atomic_load(metrics_row(last, 2) + size.n_buckets), 1);
	assert_true(metrics_value(last) > 4.9e6);
}

static void *add_many(void *arg)
{
	for (int i = 0; i < 10000; i++) {
		metrics_add(arg, 0, 1);
		metrics_observe(metrics_get(&size, (const char *const[]){ "t" }), 0, 0.5);
	}
	return NULL;
}

static void control_threads_share_slot_0(void **state)
{
	(void)state;
	struct metrics_series *s = metrics_get(&requests, (const char *const[]){ "t", "", "" });
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i], NULL, add_many, s), 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	assert_true(fabs(metrics_value(s) - 20000) < 0.5);
	assert_true(fabs(metrics_value(metrics_get(&size, (const char *const[]){ "t" })) - 10000) <
		    0.5);
}

static void set_seven(void *ctx)
{
	metrics_set(metrics_get(&up, NULL), *(int *)ctx);
}

static void collectors(void **state)
{
	(void)state;
	int seven = 7;
	metrics_on_collect(set_seven, &seven);
	assert_text("# HELP a_up Up.\n# TYPE a_up gauge\na_up 7\n");
	metrics_off_collect(set_seven, &seven);
	metrics_drop_family(&up);
	assert_text("");
}

/* From Go's strconv.FormatFloat(v, 'g', -1, 64). */
static void numbers(void **state)
{
	(void)state;
	static const struct {
		double v;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ 1, "1" },
		{ -1, "-1" },
		{ 0.00025, "0.00025" },
		{ 8.192, "8.192" },
		{ 16000, "16000" },
		{ 123456, "123456" },
		{ 123456.7, "123456.7" },
		{ 999999, "999999" },
		{ 1e6, "1e+06" },
		{ 1234567, "1.234567e+06" },
		{ -1234567, "-1.234567e+06" },
		{ 1234567.5, "1.2345675e+06" },
		{ 1e20, "1e+20" },
		{ 1e21, "1e+21" },
		{ 123456789012345678., "1.2345678901234568e+17" },
		{ 0.0001, "0.0001" },
		{ 0.00001, "1e-05" },
		{ 1.5e-7, "1.5e-07" },
		{ 1.7976931348623157e308, "1.7976931348623157e+308" },
		{ 5e-324, "5e-324" },
		{ 0.1, "0.1" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 18446744073709551615., "1.8446744073709552e+19" },
		{ 1758000000.25, "1.75800000025e+09" },
		{ (double)INFINITY, "+Inf" },
		{ (double)-INFINITY, "-Inf" },
		{ (double)NAN, "NaN" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf b = STRBUF_INIT;
		metrics_add_number(&b, rows[i].v);
		assert_string_equal(b.s, rows[i].text);
		strbuf_done(&b);
	}
}

static double sample(const char *text, const char *name)
{
	const char *p = strstr(text, name);
	assert_non_null(p);
	return strtod(p + strlen(name), NULL);
}

static void process(void **state)
{
	(void)state;
	struct strbuf b = STRBUF_INIT;
	metrics_add_process_collector();
	metrics_render(&b);
	assert_true(sample(b.s, "\nprocess_cpu_seconds_total ") >= 0);
	assert_true(sample(b.s, "\nprocess_open_fds ") >= 3);
	assert_true(sample(b.s, "\nprocess_max_fds ") >= 3);
	assert_true(sample(b.s, "\nprocess_resident_memory_bytes ") > 100e3);
	assert_true(sample(b.s, "\nprocess_virtual_memory_bytes ") >
		    sample(b.s, "\nprocess_resident_memory_bytes "));
	assert_true(sample(b.s, "\nprocess_virtual_memory_max_bytes ") > 1e6);
	assert_true(sample(b.s, "\nprocess_start_time_seconds ") > 1.5e9);
	strbuf_done(&b);
}

/* As many as there are; then none, for ever. */
static void numbers_for_series(void **state)
{
	(void)state;
	static const struct metrics_family family = {
		.name = "test_numbers", .help = "x", .kind = METRICS_COUNTER, .labels = { "n" }
	};
	uint16_t first = 0;
	for (unsigned i = 0; i < METRICS_NUMBERS + 10; i++) {
		char text[16];
		snprintf(text, sizeof(text), "%u", i);
		struct metrics_series *s = metrics_get(&family, (const char *[]){ text });
		uint16_t n = metrics_number(s);
		assert_int_equal(metrics_number(s), n);
		if (i == 0)
			first = n;
		if (i + first < METRICS_NUMBERS) {
			assert_int_equal(n, first + i);
			assert_ptr_equal(metrics_by_number[n], s);
		} else {
			assert_int_equal(n, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(families_and_series_are_sorted, teardown),
		cmocka_unit_test_teardown(histogram, teardown),
		cmocka_unit_test_teardown(histogram_with_an_integer_sum, teardown),
		cmocka_unit_test_teardown(a_gauge_goes_down, teardown),
		cmocka_unit_test_teardown(a_dropped_series_restarts, teardown),
		cmocka_unit_test_teardown(layout, teardown),
		cmocka_unit_test_teardown(control_threads_share_slot_0, teardown),
		cmocka_unit_test_teardown(collectors, teardown),
		cmocka_unit_test(numbers),
		cmocka_unit_test(process), /* last: its families stay */
		cmocka_unit_test_teardown(numbers_for_series, teardown),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
